"""Multi-class linear SVMs with a certificate: top-k losses, unequal costs, smoothing."""

from ._core import IterationRecord, __version__
from ._estimator import TopwolfClassifier, load
from ._search import TopwolfClassifierCV

from . import plot  # isort: skip

__all__ = ["IterationRecord", "TopwolfClassifier", "TopwolfClassifierCV", "__version__", "load", "plot"]
