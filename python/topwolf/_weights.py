"""Weights between the attributes of an estimator and the fields of a model. With two classes one vector says it all."""

import math

import numpy as np
from scipy import sparse

from ._notebook import claim
from ._oracle import by_oracle


def antisymmetric(weights, dtype):
    """With two classes the optimum has W_0 = -W_1; rounding is made to agree, so that one vector says it all."""
    half = ((weights[1] - weights[0]) / 2).astype(dtype).astype(np.float64)
    return np.vstack([-half, half])


class SealedCsr(sparse.csr_matrix):
    """A CSR matrix that keeps the arrays it has once `seal` has seen it, as a read-only NumPy array keeps its numbers."""

    def __setattr__(self, name, value):
        if vars(self).get("_stays", False) and not name.startswith(("has_", "_has_")):  # what SciPy notes about the order of indices
            raise ValueError("This matrix is read-only: assign another one to coef_.")
        super().__setattr__(name, value)


def to_attributes(weights, columns, d, bias, dtype):
    """coef_, intercept_ and the weights of the constant feature, from weights (m x D) on these columns (None: all d). What a
    constant feature other than 1 multiplies needs more bits than float32 has: intercept_ is in double then."""
    if len(weights) == 2:
        weights = weights[1:] - weights[:1]
    width = d if columns is None else len(columns)
    constant = weights[:, width] if bias else np.zeros(len(weights))
    coef = weights[:, :width].astype(dtype)
    if columns is not None:
        ends = np.arange(len(coef) + 1, dtype=np.int64) * width
        coef = SealedCsr((coef.ravel(), np.tile(columns, len(coef)), ends), shape=(len(coef), d))
    return coef, constant.astype(dtype) if bias in (0.0, 1.0) else constant * bias, constant


def constant_at(mean, classifier):
    """What the regulariser adds, at most, to the weights of the constant feature, class by class, where the rows had a mean taken
    off; 0 where mean is None. For two classes, of which one vector is kept, both together."""
    if mean is None:
        return 0.0
    at_mean = np.abs(classifier["weights"][:, : len(mean)]) @ np.abs(mean) / classifier["bias"]
    return at_mean.sum(keepdims=True) if len(at_mean) == 2 else at_mean


def rounding_of(constant, at_mean, bias, lambda_, rho):
    """By how much P(coef_, intercept_) may exceed P of the weights that intercept_ = bias * constant was rounded from: no score
    moves by more than the largest error, no loss by more than twice that times its slope, and the regulariser as it does."""
    if bias in (0.0, 1.0):
        return 0.0
    error = np.abs(constant * bias) * 2.0**-53 + math.ulp(0.0)
    slope = 1.0 if rho is None else float(np.sum(rho))
    regulariser = lambda_ * float(np.sum((np.abs(constant) + at_mean + error / bias) * (error / bias)))
    return (2.0 * slope * float(error.max()) + regulariser) * (1.0 + 1e-9)


def from_attributes(coef, intercept, constant, bias):
    """Weights (m x D) in double, and their columns. `constant` keeps the bits that intercept_ may have lost, while that is unchanged."""
    columns = None
    if sparse.issparse(coef):
        coef = coef.tocsr()
        columns = np.unique(coef.indices) if coef.nnz else np.zeros(1)
        coef, columns = coef[:, columns].toarray(), columns.astype(np.int32)
    weights = np.asarray(coef, np.float64)
    if bias:
        intercept = np.asarray(intercept)
        if not np.array_equal((constant * bias).astype(intercept.dtype), intercept):
            constant = np.broadcast_to(np.asarray(intercept, np.float64) / bias, constant.shape)
        weights = np.column_stack([weights, constant])
    return np.ascontiguousarray(every_class(weights)), columns


def every_class(rows):
    """A row a class, from the one row that two classes have."""
    return np.concatenate([-rows, rows]) / 2 if len(rows) == 1 else rows


def bare_classifier(weights, columns, d, bias, temperature=0.0):
    """The fields of a classifier (m x D) of which only the weights matter, and its probabilities."""
    names = [str(j) for j in range(len(weights))]
    return {"weights": weights, "columns": columns, "d": d, "bias": bias, "class_names": names, "class_features": None, "class_weights": None, "temperature": temperature}


class Certified:
    """An estimator with a certificate, which is about the weights and classes that it was fitted with: whoever assigns others
    removes it. A fit works on a `_blank` estimator, which this one then `_becomes`: one that fails leaves the last one whole,
    and what two fits found never stands together."""

    _CLAIM = ("primal_", "dual_", "dual_gap_", "relative_gap_", "status_")
    _WEIGHTS = ("coef_", "intercept_", "class_coef_", "classes_")
    # All that a fit, a search or a file may set.
    _FITTED = frozenset(
        (*_CLAIM, *_WEIGHTS, "n_classes_", "n_features_in_", "feature_names_in_", "n_iter_", "k_", "trace_", "evals_result_")
        + ("solver_choice_", "loss_", "C_", "Cs_", "scores_", "best_score_", "best_index_", "cv_results_")
        + ("_classifier", "_provenance", "_constant", "_assigned", "_ready", "_dual")
    )

    def __setattr__(self, name, value):
        super().__setattr__(name, value)
        if name in self._WEIGHTS:
            self._assigned = True
            for claim in self._CLAIM:
                vars(self).pop(claim, None)

    def _snapshot(self):
        """This estimator as its last fit left it, whatever fit comes next: that one brings a dictionary of its own."""
        other = object.__new__(type(self))
        object.__setattr__(other, "__dict__", vars(self))
        return other

    def _blank(self):
        """This estimator as if it had never been fitted."""
        other = object.__new__(type(self))
        other.__dict__ = {name: value for name, value in vars(self).copy().items() if name not in self._FITTED}
        return other

    def _found(self):
        """What the last fit set."""
        return {name: value for name, value in vars(self).items() if name in self._FITTED}

    def _become(self, fitted):
        """In one assignment, which nobody can see half done."""
        self.__dict__ = {**vars(self._blank()), **fitted._found()}

    @property
    def certificate_(self):
        """What `primal_` and `dual_` prove, in a sentence."""
        if not hasattr(self, "primal_"):
            raise AttributeError("There is no certificate: none was found, or weights were assigned since.")
        return claim(self, getattr(self, "_provenance", {}).get("loss") == "oracle" or by_oracle(self.loss))

    def _claim(self, primal, dual, status):
        if dual > primal + 1e-9 * abs(primal):  # both are bounds: even this is far more than they can be off by
            raise RuntimeError(
                f"The dual {dual:.10g} is above the primal {primal:.10g}: "
                + (f"the oracle of {self.loss!r} is wrong." if by_oracle(self.loss) else "please report this with the data.")
            )
        self.primal_, self.dual_, self.status_ = primal, dual, status
        self.dual_gap_ = max(0.0, primal - dual)
        self.relative_gap_ = self.dual_gap_ / primal if self.dual_gap_ > 0 else 0.0


def without_claim(provenance):
    """What is left where nobody vouches for the weights."""
    return {key: value for key, value in provenance.items() if key not in ("status", "primal", "dual")}


def _parts(*arrays):
    """The arrays that these consist of."""
    parts = []
    for array in arrays:
        if sparse.issparse(array):
            rows = array.tocsr()
            parts += [rows.data, rows.indices, rows.indptr]
        else:
            parts.append(np.asarray(array))
    return parts


def seal(*arrays):
    """Makes the arrays read-only."""
    for array in arrays:
        if isinstance(array, SealedCsr):
            vars(array)["_stays"] = True
    for array in _parts(*arrays):
        while isinstance(array, np.ndarray):
            array.flags.writeable = False
            array = array.base


def sealed(*arrays):
    return all(map(_sealed, _parts(*arrays)))


def _sealed(array):
    """Whether nobody can have changed the array, nor what it is a view of."""
    while isinstance(array, np.ndarray):
        if array.flags.writeable:
            return False
        array = array.base
    return True


def _unchanged(now, then):
    if now is then and _sealed(now):
        return True
    return now is not then and not _sealed(now) and now.dtype == then.dtype and np.array_equal(now, then)


class Ready:
    """A predictor, and the arrays it was made of: while these are read-only it is enough to look at which they are, and where
    they are somebody else's their values are compared. A copy or a pickle of it is empty."""

    def __init__(self, restored=False):
        self._restored = restored
        self._held = ((), None)

    def __reduce__(self):
        return Ready, (True,)

    def restored(self):
        """Whether it comes from a copy or a pickle, asked for the first time."""
        restored, self._restored = self._restored, False
        return restored

    def predictor(self, coef, intercept, make):
        arrays = _parts(coef, intercept)
        held, predictor = self._held
        if len(arrays) != len(held) or not all(map(_unchanged, arrays, held)):
            predictor = make()
            self._held = tuple(array if _sealed(array) else array.copy() for array in arrays), predictor
        return predictor
