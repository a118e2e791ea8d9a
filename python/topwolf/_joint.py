"""A classifier on any joint feature map psi(x, j), given as numbers."""

from __future__ import annotations

import numbers
from collections.abc import Callable
from typing import Any

import numpy as np
from numpy.typing import ArrayLike
from scipy import sparse
from sklearn.base import BaseEstimator, _fit_context
from sklearn.utils.validation import check_array, check_is_fitted

from . import _core
from ._estimator import TopwolfClassifier
from ._features import sound, to_features
from ._oracle import Loss
from ._weights import Certified, seal


class TopwolfJointClassifier(Certified, BaseEstimator):
    """Linear classifier whose features depend on the row and on the class: the score of class j is ``psi(x, j) @ w``.

    Parameters
    ----------
    loss, k, rho, cost_matrix, smoothing, temperature, C, tol, solver, max_iter, time_limit, n_jobs, random_state, verbose
        As for :class:`TopwolfClassifier`.

    Attributes
    ----------
    coef_ : ndarray of shape (n_features,)
        w, one for all classes. The certificate is gone when another is assigned.
    n_classes_ : int
        In fitting; other tensors may have more or fewer.
    n_features_in_ : int
    n_iter_, k_, primal_, dual_, dual_gap_, relative_gap_, status_, trace_, solver_choice_
        As for :class:`TopwolfClassifier`.

    Examples
    --------
    >>> import numpy as np
    >>> from topwolf import TopwolfJointClassifier
    >>> psi = np.zeros((2, 3, 4))  # two rows, three classes, four features
    >>> psi[0, 0] = psi[1, 1] = [1, 0, 0, 0]
    >>> clf = TopwolfJointClassifier(C=10).fit(psi, [0, 1])
    >>> clf.predict(psi).tolist()
    [0, 1]
    """

    _parameter_constraints = {
        key: TopwolfClassifier._parameter_constraints[key]
        for key in (
            "loss k rho cost_matrix smoothing temperature C tol solver max_iter time_limit n_jobs random_state verbose".split()
        )
    }

    def __init__(
        self,
        loss: str | Loss = "max_hinge",
        *,
        k: int | None = None,
        rho: ArrayLike | None = None,
        cost_matrix: ArrayLike | None = None,
        smoothing: float = 0.0,
        temperature: float | None = None,
        C: float = 1.0,
        tol: float = 1e-3,
        solver: str = "auto",
        max_iter: int = 100_000,
        time_limit: float | None = None,
        n_jobs: int | None = None,
        random_state: int | np.random.RandomState | None = None,
        verbose: int = 0,
    ) -> None:
        self.loss = loss
        self.k = k
        self.rho = rho
        self.cost_matrix = cost_matrix
        self.smoothing = smoothing
        self.temperature = temperature
        self.C = C
        self.tol = tol
        self.solver = solver
        self.max_iter = max_iter
        self.time_limit = time_limit
        self.n_jobs = n_jobs
        self.random_state = random_state
        self.verbose = verbose

    @_fit_context(prefer_skip_nested_validation=True)
    def fit(
        self,
        psi: Any,
        y: ArrayLike,
        sample_weight: ArrayLike | None = None,
        margins: Any = None,
        margin_default: float = 1.0,
        callback: Callable[[_core.IterationRecord], bool | None] | None = None,
        n_classes: int | None = None,
    ) -> TopwolfJointClassifier:
        """Fit w.

        Parameters
        ----------
        psi : ndarray of shape (n_samples, n_classes, n_features), or {ndarray, sparse matrix} of shape \
(n_samples * n_classes, n_features)
            psi(x_i, j) at [i, j], or in row ``i * n_classes + j``.
        y : array-like of shape (n_samples,)
            Class numbers from 0.
        sample_weight, margins, margin_default, callback
            As for :meth:`TopwolfClassifier.fit`.
        n_classes : int, default=None
            Of a `psi` with rows. None: as many as the rows of `psi` over those of `y`.
        """
        fitted = self._blank()
        with _core.IeeeArithmetic():
            error = fitted._fit(psi, y, sample_weight, margins, margin_default, callback, n_classes)
        self._become(fitted)
        if error is not None:
            raise error
        fitted._warn_unless_converged()
        return self

    def _fit(self, psi, y, sample_weight, margins, margin_default, callback, n_classes):
        """Of a blank estimator; what ended it from outside, such as KeyboardInterrupt, is returned."""
        y = check_array(y, ensure_2d=False, dtype=None, input_name="y").ravel()
        numbers_of = y.astype(np.int32)
        if not np.array_equal(numbers_of, y):
            raise ValueError("y must hold class numbers from 0.")
        rows, m = _rows(psi, len(y), n_classes)
        weights = None
        if sample_weight is not None:
            weights = check_array(sample_weight, ensure_2d=False, dtype=np.float64, input_name="sample_weight").ravel()
        probe = self._probe(m)
        options = {**probe._options(len(y), margins, margin_default), "keep_dual": False, "start": None}
        observer, table = probe._observer(callback, {}, None)
        result = _core.train_tensor(to_features(rows, watched=callback is not None), numbers_of, m, options, weights, observer)
        if table is not None:
            table.finish()
        self._take(result, m)
        return result["error"]

    def __setstate__(self, state):
        super().__setstate__(state)
        if hasattr(self, "coef_"):
            seal(self.coef_)  # NumPy forgets it

    _warn_unless_converged = TopwolfClassifier._warn_unless_converged

    def decision_function(self, psi: Any, n_classes: int | None = None) -> np.ndarray:
        """Scores of the classes, (n_samples, n_classes). `n_classes`: of a `psi` with rows, where it is not fit's."""
        check_is_fitted(self)
        rows, m = _rows(psi, None, self.n_classes_ if n_classes is None else n_classes)
        if rows.shape[1] != self.coef_.size:
            raise ValueError(f"psi has {rows.shape[1]} features, but the classifier was fitted with {self.coef_.size}.")
        return np.asarray(rows @ self.coef_).reshape(-1, m)

    def predict(self, psi: Any, n_classes: int | None = None) -> np.ndarray:
        """The number of the class with the highest score for each row."""
        return self.decision_function(psi, n_classes).argmax(axis=1)

    def score(self, psi: Any, y: ArrayLike, n_classes: int | None = None) -> float:
        """The share of rows for which `predict` finds y."""
        found, y = self.predict(psi, n_classes), np.asarray(y).ravel()
        if len(found) != len(y):
            raise ValueError(f"psi has {len(found)} samples, but y has {len(y)}.")
        return float(np.mean(found == y))

    def _probe(self, m):
        """The classifier whose options these are."""
        shared = {key: getattr(self, key) for key in self._parameter_constraints}
        probe = TopwolfClassifier(**shared, fit_intercept=False)
        probe.classes_ = np.arange(m)
        return probe

    def _take(self, result, m):
        self.coef_ = result["weights"]
        seal(self.coef_)
        self.n_classes_, self.n_features_in_ = m, self.coef_.size
        self.n_iter_, self.k_ = result["iterations"], result["K"]
        self._claim(result["primal"], result["dual_value"], result["status"])
        self.trace_, self.solver_choice_ = result["trace"], result["choice"]


def _rows(psi, n, m=None):
    """psi as a matrix with a row per example and class, and the number of classes."""
    if not sparse.issparse(psi):
        psi = np.asarray(psi)
        if psi.ndim == 3:
            if n is not None and len(psi) != n:
                raise ValueError(f"psi has {len(psi)} samples, but y has {n}.")
            m, psi = psi.shape[1], psi.reshape(-1, psi.shape[2])
    psi = check_array(sound(psi, "psi"), accept_sparse="csr", dtype=[np.float64, np.float32], order="C", input_name="psi")
    if m is None:
        m, rest = divmod(psi.shape[0], n)
        if rest:
            raise ValueError(f"psi has {psi.shape[0]} rows, which is not a multiple of the {n} samples of y.")
    if not isinstance(m, numbers.Integral) or m < 1 or psi.shape[0] % m:
        raise ValueError(f"psi has {psi.shape[0]} rows, which is not a multiple of {m} classes.")
    if n is not None and psi.shape[0] != n * m:
        raise ValueError(f"psi has {psi.shape[0]} rows, but {n} samples and {m} classes need {n * m}.")
    return psi, int(m)
