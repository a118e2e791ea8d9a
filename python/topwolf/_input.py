"""What a fit is told: rows, class numbers and weights that have been checked, and the parameters as the extension wants them."""

from __future__ import annotations

import numbers

import numpy as np
from joblib import effective_n_jobs
from sklearn.utils import check_random_state
from sklearn.utils.class_weight import compute_class_weight
from sklearn.utils.multiclass import check_classification_targets
from sklearn.utils.validation import _check_sample_weight, check_array

from . import _core
from ._features import checked
from ._labels import Numbered, check_classes, check_text, numbered
from ._on_disk import PROGRAM_BYTES, bytes_of
from ._oracle import asked
from ._structure import check_class_features, check_margins, features_or_none


# What a loss by its name makes no use of, so that a grid may go over losses and their parameters at once.
_UNUSED = {
    "max_hinge": ("k", "rho", "temperature"),
    "top_k": ("rho", "temperature"),
    "usunier": ("rho", "temperature"),
    "weighted_top_k": ("k", "temperature"),
    "weighted_usunier": ("k", "temperature"),
    "softmax": ("k", "rho"),
}


class TrainingInput:
    """The half of :class:`TopwolfClassifier` that comes before the extension is called; its parameters are scikit-learn's to set."""

    def _rows(self, X, y, sample_weight):
        """The rows, class numbers and weights to train on; sets the classes."""
        X, y = checked(self, X, y, order=None)
        if isinstance(y, Numbered):
            check_classes(y.classes)
            check_text(y.classes)
        else:
            check_classification_targets(y)
            y = numbered(y)
        self.classes_, y = y
        if len(self.classes_) < 2:
            raise ValueError(
                "This solver needs samples of at least 2 classes in the data, but the data contains only one class: "
                f"{self.classes_[0]!r}"
            )
        return X, y, self._row_weights(X, y, sample_weight)

    def _row_weights(self, X, y, sample_weight):
        if sample_weight is None and self.class_weight is None:
            return None
        weights = _check_sample_weight(sample_weight, y, dtype=np.float64, ensure_non_negative=True)
        if np.sum(weights) == 0:
            raise ValueError("Sample weights must contain at least one non-zero number.")
        if self.class_weight is None:
            return weights
        factors = None
        if self.class_weight != "balanced":
            factors = compute_class_weight(dict(self.class_weight), classes=self.classes_, y=self.classes_[y])
            if not (np.isfinite(factors).all() and (factors >= 0).all()):
                raise ValueError("class_weight must hold finite weights that are at least 0.")
        return _core.class_weighted(y, len(self.classes_), weights, factors)

    def _options(self, n, margins, margin_default):
        """What the extension is told about a fit to n rows; their margins go with it."""
        k, rho, temperature = (self._used(name) for name in ("k", "rho", "temperature"))
        if rho is not None:
            rho = check_array(rho, ensure_2d=False, dtype=np.float64, order="C", input_name="rho")
            if rho.ndim != 1:
                raise ValueError(f"rho has shape {rho.shape}, but it must have one dimension.")
        cost = self.cost_matrix
        if cost is not None:
            cost = check_array(cost, dtype=np.float64, order="C", input_name="cost_matrix")
            m = len(self.classes_)
            if cost.shape != (m, m):
                raise ValueError(f"cost_matrix has shape {cost.shape}, but {m} classes need ({m}, {m}).")
        return {
            "loss": asked(self.loss),
            "k": None if k is None else int(k),
            "rho": rho,
            "cost_matrix": cost,
            "class_features": features_or_none(check_class_features(self.class_features, len(self.classes_))),
            "margins": features_or_none(check_margins(margins, n, len(self.classes_), copy=True)),
            "margin_default": float(margin_default),
            "smoothing": float(self.smoothing),
            "temperature": None if temperature is None else float(temperature),
            "C": float(self.C),
            "tolerance": float(self.tol),
            "solver": self.solver,
            "max_iterations": int(self.max_iter),
            "time_limit": None if self.time_limit is None else float(self.time_limit),
            "bias": float(self.intercept_scaling) if self.fit_intercept else 0.0,
            "center": self._centred(),
            "memory": self._memory(),
            "program_bytes": PROGRAM_BYTES,
            "device": self.device,
            "threads": self._threads(),
            "seed": self._seed(),
        }

    def _used(self, name):
        """The parameter, or None where the loss makes no use of it."""
        unused = _UNUSED.get(self.loss, ()) if isinstance(self.loss, str) else ()
        return None if name in unused else getattr(self, name)

    def _centred(self):
        if self.center and not self.fit_intercept:
            raise ValueError("center=True needs fit_intercept=True: the intercept is what makes up for the mean that is taken off the rows.")
        return bool(self.center)

    def _start(self, y, last):
        """The last fit's dual, where its rows and labels were these; `last` is None or both."""
        if not self.warm_start or self.solver not in _core.SOLVERS_THAT_START or last is None:
            return None
        dual, labels = last
        return dual if np.array_equal(labels, y) else None

    def _memory(self):
        memory = bytes_of(self.memory)
        if memory is not None and memory <= PROGRAM_BYTES:
            raise MemoryError(f"memory is {self.memory!r}, but Python and its packages alone are counted as {PROGRAM_BYTES / 1e6:.0f} MB.")
        return memory

    def _seed(self):
        if self.random_state is None:
            return 0
        if isinstance(self.random_state, numbers.Integral):
            return int(self.random_state)
        return int(check_random_state(self.random_state).randint(np.iinfo(np.int32).max))

    def _threads(self):
        if self.n_jobs is None:
            return 0
        return effective_n_jobs(self.n_jobs)
