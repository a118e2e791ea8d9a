"""Multi-class linear SVMs with a certificate: top-k losses, unequal costs, smoothing."""

import os

import numpy  # first: its OpenBLAS is another one, and keeps its threads

# The OpenBLAS that comes with topwolf is called from threads of topwolf's own: it need not start any when it is loaded.
_asked_for = os.environ.get("OPENBLAS_NUM_THREADS")
os.environ["OPENBLAS_NUM_THREADS"] = "1"
try:
    from ._core import IterationRecord, __version__
finally:
    del os.environ["OPENBLAS_NUM_THREADS"]
    if _asked_for is not None:
        os.environ["OPENBLAS_NUM_THREADS"] = _asked_for

from ._estimator import TopwolfClassifier, load
from ._joint import TopwolfJointClassifier
from ._search import TopwolfClassifierCV
from ._structure import taxonomy

from . import plot  # isort: skip

__all__ = [
    "IterationRecord",
    "TopwolfClassifier",
    "TopwolfClassifierCV",
    "TopwolfJointClassifier",
    "__version__",
    "load",
    "plot",
    "taxonomy",
]
