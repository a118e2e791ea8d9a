"""Fitting on a Dask cluster: rows stay on the workers, and so does their part of the dual.

A fit is rounds. In a round all shards of the rows are asked the same, and their answers are added up on the workers. The
result depends on the shards and the seed, not on the workers. A shard whose worker is lost begins anew elsewhere: that costs
time, and the certificate holds all the same. Which tool at which size: docs/how_to/scale.md.
"""

from __future__ import annotations

import copy
import warnings
from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import ArrayLike
from sklearn.base import BaseEstimator, ClassifierMixin
from sklearn.utils.metaestimators import available_if
from sklearn.utils.validation import check_is_fitted

try:
    import distributed
    from dask import delayed

    import dask.array  # noqa: F401  # what X may be
except ImportError as error:
    raise ImportError("topwolf.dask needs Dask: pip install 'topwolf[dask]'.") from error

from . import _core
from ._called import as_call
from ._dask_rows import dealt, is_array, is_frame, parts_of
from ._dask_shards import Carrier
from ._estimator import TopwolfClassifier
from ._fitted import Path
from ._labels import check_text
from ._weights import antisymmetric

if TYPE_CHECKING:
    from typing_extensions import Self

__all__ = ["DaskTopwolfClassifier"]

_OWN = ("client", "n_shards")


class DaskTopwolfClassifier(ClassifierMixin, BaseEstimator):
    """:class:`topwolf.TopwolfClassifier` on a Dask cluster.

    The same problem, and the same kind of certificate. Parameters that are not named here are those of
    :class:`topwolf.TopwolfClassifier`; it has ``class_features``, ``class_weight``, ``warm_start``, ``n_jobs`` and ``device``
    besides, which need all rows in one place, or are the workers' business. The solver ``newton`` is not there either.

    Parameters
    ----------
    client : distributed.Client, default=None
        None: the current one.

    n_shards : int, default=None
        In how many shards the rows are: neighbouring chunks, or files, are put together. None: a shard for each, but at most
        32 for chunks. The result depends on it. More shards can use more workers, and need more passes.

    Attributes
    ----------
    local_ : TopwolfClassifier
        The fitted classifier. What it has, such as `coef_` and `relative_gap_`, this one has, too.

    Examples
    --------
    >>> import dask.array as da
    >>> from distributed import Client
    >>> from sklearn.datasets import load_iris
    >>> from topwolf.dask import DaskTopwolfClassifier
    >>> X, y = load_iris(return_X_y=True)
    >>> with Client(processes=False, dashboard_address=":0") as client:
    ...     X, y = da.from_array(X[::7], chunks=(11, -1)), da.from_array(y[::7], chunks=11)
    ...     clf = DaskTopwolfClassifier("usunier", k=2).fit(X, y)
    >>> clf.status_
    'converged'
    """

    def __init__(
        self,
        loss: str = "max_hinge",
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
        fit_intercept: bool = True,
        intercept_scaling: float = 1.0,
        center: bool = False,
        random_state: int | np.random.RandomState | None = None,
        verbose: int = 0,
        client: distributed.Client | None = None,
        n_shards: int | None = None,
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
        self.fit_intercept = fit_intercept
        self.intercept_scaling = intercept_scaling
        self.center = center
        self.random_state = random_state
        self.verbose = verbose
        self.client = client
        self.n_shards = n_shards

    def fit(
        self,
        X: Any,
        y: Any = None,
        sample_weight: Any = None,
        callback: Callable[[_core.IterationRecord], bool | None] | None = None,
    ) -> Self:
        """Fit to rows on a cluster.

        Rows of which most shards know less than half of the classes, as where they are sorted, are dealt out anew, with a
        warning.

        Parameters
        ----------
        X : dask.array.Array, dask.dataframe.DataFrame, or list of file names
            Chunks of rows, also of sizes that are not known; blocks may be SciPy's CSR. Files are read by the workers, who must
            all find them: .npy, .npz, .twd, LIBSVM text or CSV. The rows of a lost worker are computed or read again, and must
            come out the same.
        y : dask.array.Array, dask.dataframe.Series, or list of file names
            Labels, in chunks that go with those of X. Of files: one of labels for each, or None where X has them.
        sample_weight : dask.array.Array or dask.dataframe.Series, default=None
            Not of files.
        callback : callable, default=None
            As that of :meth:`topwolf.TopwolfClassifier.fit`.

        Returns
        -------
        self
        """
        local = self._plain()
        parts = parts_of(X, y, sample_weight, self.n_shards)
        with _core.IeeeArithmetic():
            error = self._fit(local, self._client(), parts, callback)
        if is_frame(X) and all(isinstance(name, str) for name in X.columns):
            local.feature_names_in_ = np.asarray(X.columns, dtype=object)
        self.local_ = local
        if error is not None:
            raise error
        local._warn_unless_converged(stacklevel=3)
        return self

    def _plain(self):
        """The classifier that this one is about to be, which checks the parameters."""
        shared = {name: value for name, value in self.get_params(deep=False).items() if name not in _OWN}
        local = TopwolfClassifier(**shared)
        local._validate_params()
        return local

    def _client(self):
        if self.client is not None:
            return self.client
        try:
            return distributed.get_client()
        except ValueError:
            raise ValueError("There is no Dask client: start one (distributed.Client()), or give client=.") from None

    def _fit(self, local, client, parts, callback):
        """What ended it from outside, such as KeyboardInterrupt, is returned."""
        seed = local._seed()
        carrier = Carrier(client, parts)
        try:
            found = carrier.open()
            local.classes_ = _classes(found)
            if poor := _poor(found, len(local.classes_)):
                warnings.warn(poor, UserWarning, stacklevel=3)
                carrier.close()
                carrier = Carrier(client, dealt(parts, seed))
                carrier.open()
            carrier.classes = local.classes_
            options = local._options(0, None, 1.0) | {"keep_dual": False, "start": None, "seed": seed}
            observer, table = local._observer(callback, {}, None)

            def observe(record):
                return (observer(record) if observer is not None else False) or carrier.interrupt is not None

            result = _core.train_on_shards(carrier, len(local.classes_), options, observe)
            if table is not None:
                table.finish()
            _take(local, carrier, options, result)
        finally:
            carrier.close()
        return result["error"] or carrier.interrupt

    def __getattr__(self, name: str) -> Any:
        # What a fitted classifier has: coef_, classes_, relative_gap_, ...
        if name.endswith("_") and not name.startswith("_") and name != "local_" and "local_" in vars(self):
            return getattr(self.local_, name)
        raise AttributeError(f"{type(self).__name__!r} object has no attribute {name!r}")

    def __getstate__(self):
        return {**super().__getstate__(), "client": None}  # it belongs to its process

    def to_local(self) -> TopwolfClassifier:
        """A classifier that needs no cluster, fitted as this one is."""
        check_is_fitted(self, "local_")
        return copy.deepcopy(self.local_)

    def save(self, path: Path) -> None:
        """Write a model file that the command line and `topwolf.load` read."""
        check_is_fitted(self, "local_")
        self.local_.save(path)

    # ---- Predictions: of a Dask collection lazy and of its kind, of other rows at once

    def predict(self, X: Any) -> Any:
        """The class with the highest score for each row of X."""
        return self._of_rows("predict", X, ())

    def decision_function(self, X: Any) -> Any:
        """Scores of the classes: (n_samples, n_classes), (n_samples,) for two classes."""
        return self._of_rows("decision_function", X, ())

    @available_if(lambda self: self.loss == "softmax")
    def predict_proba(self, X: Any) -> Any:
        """Probabilities of the classes, of ``loss="softmax"``."""
        return self._of_rows("predict_proba", X, ())

    def predict_top_k(self, X: Any, k: int | None = None) -> Any:
        """The k best classes for each row of X, best first; None: `k_`."""
        check_is_fitted(self, "local_")
        return self._of_rows("predict_top_k", X, (self.local_._check_k(k),))

    def _of_rows(self, method, X, arguments):
        check_is_fitted(self, "local_")
        if not is_array(X) and not is_frame(X):
            return getattr(self.local_, method)(X, *arguments)
        example = getattr(self.local_, method)(_example(self.local_), *arguments)
        if is_frame(X):
            meta = _framed(example[:0], X._meta.index[:0])
            return X.map_partitions(_predict_frame, self.local_, method, arguments, meta=meta)
        if X.numblocks[1] > 1:
            X = X.rechunk({1: -1})
        shape = {"drop_axis": 1} if example.ndim == 1 else {"chunks": (X.chunks[0], example.shape[1:])}
        model = delayed(self.local_, pure=True, traverse=False)
        return X.map_blocks(_predict, model, method, arguments, dtype=example.dtype, meta=example[:0], **shape)


def _classes(found):
    """The labels of all shards, in order."""
    filled = [part["labels"] for part in found if part["n"] > 0]
    if not filled:
        raise ValueError("Found array with 0 sample(s) while a minimum of 1 is required.")
    classes = np.unique(np.concatenate(filled))
    if classes.dtype.kind == "f" and not (classes == np.floor(classes)).all():
        raise ValueError("Unknown label type: continuous. Labels are integers, text, booleans, or floats that are whole numbers.")
    check_text(classes)
    if len(classes) < 2:
        raise ValueError(
            "This solver needs samples of at least 2 classes in the data, but the data contains only one class: "
            f"{classes[0]!r}"
        )
    return classes


def _poor(found, m):
    """A sentence, if most shards know few of the classes: they would be in each other's way."""
    filled = [part for part in found if part["n"] > 0]
    poor = sum(min(part["n"], m) > 2 * len(part["labels"]) for part in filled)
    if len(filled) < 2 or 2 * poor <= len(filled):
        return None
    return (
        f"{poor} of {len(filled)} shards have rows of less than half of the classes each, as if they were sorted: they are dealt "
        "out anew, at random."
    )


def _take(local, carrier, options, result):
    """The attributes of a fit."""
    classifier, provenance = result["classifier"], result["provenance"]
    dtype = np.dtype(classifier["precision"])
    if len(local.classes_) == 2:
        weights = antisymmetric(classifier["weights"], dtype)
        if not np.array_equal(weights, classifier["weights"]):
            provenance["primal"] = _core.objective_on_shards(carrier, options, weights)
        classifier["weights"] = weights
    provenance["command"] = as_call(local)
    local.n_features_in_ = classifier["d"]
    local._take(classifier, provenance, dtype)
    local.k_, local.trace_, local.solver_choice_ = result["K"], result["trace"], result["choice"]
    local.evals_result_ = {}


# ---- On the workers


def _example(local):
    """One row."""
    row = np.zeros((1, local.n_features_in_), np.float32)
    names = getattr(local, "feature_names_in_", None)
    return row if names is None else _framed(row, None, names)


def _predict(rows, local, method, arguments):
    rows = rows if rows.shape[0] > 0 else None
    found = getattr(local, method)(_example(local) if rows is None else rows, *arguments)
    return found if rows is not None else found[:0]


def _predict_frame(frame, local, method, arguments):
    return _framed(_predict(frame, local, method, arguments), frame.index)


def _framed(values, index, names=None):
    import pandas

    return pandas.Series(values, index=index) if values.ndim == 1 else pandas.DataFrame(values, index=index, columns=names)
