"""Multi-class linear SVMs with a certificate: top-k losses, unequal costs, smoothing."""

from ._core import IterationRecord, __version__
from ._estimator import TopwolfClassifier, load
from ._features import bfloat16
from ._joint import TopwolfJointClassifier
from ._oracle import Loss
from ._probe import Probe, probe
from ._search import TopwolfClassifierCV
from ._structure import taxonomy

from . import plot  # isort: skip

__all__ = [
    "IterationRecord",
    "Loss",
    "Probe",
    "TopwolfClassifier",
    "TopwolfClassifierCV",
    "TopwolfJointClassifier",
    "__version__",
    "bfloat16",
    "load",
    "plot",
    "probe",
    "taxonomy",
]
