"""Fitting on a Dask cluster: rows stay on the workers, and so do their duals.

A fit is rounds. In a round every shard of rows is asked the same, as an ordinary task on the worker that has it, and the
answers are added up, two by two, by tasks again. The result depends on the shards and the seed, not on the workers. A
shard whose worker is lost begins anew elsewhere: that costs time, and the certificate holds all the same.
"""

from __future__ import annotations

import copy
import threading
import uuid

import numpy as np
from scipy import sparse
from sklearn.base import BaseEstimator, ClassifierMixin
from sklearn.utils.validation import check_array, check_is_fitted

try:
    import dask
    import distributed
    from dask import delayed
    from distributed import get_worker
except ImportError as error:  # pragma: no cover
    raise ImportError("topwolf.dask needs Dask: pip install 'topwolf[dask]'") from error

from . import _core
from ._estimator import TopwolfClassifier
from ._features import sound, to_features, working_dtype
from ._labels import check_text, from_names

__all__ = ["DaskTopwolfClassifier"]

_MOST_SHARDS = 32
_MOST_TRIES = 50

# ---- On the workers


class _Held:
    """A shard, and what it was asked last: a task that Dask runs again is answered with what it was answered."""

    def __init__(self, shard):
        self.shard, self.number, self.answer, self.lock = shard, 0, None, threading.Lock()


_held = {}
_guard = threading.Lock()


def _part(blocks):
    """Rows, labels and weights of a shard, in one piece."""
    X, y, weights = ([block[place] for block in blocks] for place in range(3))
    X = [np.asarray(rows) if hasattr(rows, "to_numpy") else rows for rows in X]
    X = sparse.vstack(X, format="csr") if any(map(sparse.issparse, X)) else np.concatenate(X)
    y = np.concatenate([np.asarray(labels).ravel() for labels in y])
    weights = None if weights[0] is None else np.concatenate([np.asarray(w, np.float64).ravel() for w in weights])
    for name, column in (("y", y), ("sample_weight", weights)):
        if column is not None and len(column) != X.shape[0]:
            raise ValueError(
                f"Found input variables with inconsistent numbers of samples: a part of X has {X.shape[0]} rows, and of {name} {len(column)}"
            )
    if X.shape[0] > 0:
        kinds = [np.float64, np.float32] if sparse.issparse(X) else [np.float64, np.float32, np.float16]
        X = check_array(sound(X), accept_sparse="csr", accept_large_sparse=True, dtype=kinds)
    if weights is not None and not (np.isfinite(weights).all() and (weights >= 0).all()):
        raise ValueError("sample_weight must hold finite weights that are at least 0.")
    return X, y, weights


def _described(part):
    X, y, _ = part
    return X.shape, np.dtype(X.dtype), np.unique(y)


def _made(rows, classes, number, threads):
    """The shard of a part in memory, or of a file."""
    if isinstance(rows, _File):
        return _core.Shard.of_file(rows.path, rows.labels, number, threads)
    X, y, weights = rows
    numbers = np.searchsorted(classes, y).astype(np.int32)
    if X.shape[0] == 0:
        X = np.zeros((0, X.shape[1]), np.float32)
    return _core.Shard.of_rows(to_features(X), numbers, weights, number, threads)


def _answer(fit, number, rows, classes, told, question, asked, home):
    """What a shard answers, and where it is; None where it is not, for it may be at home still."""
    worker = get_worker()
    key = fit, number
    with _guard:
        held = _held.get(key)
    if held is None or asked - held.number not in (0, 1):
        reviving = asked == 1 or _core.Shard.revives(question)
        if not reviving:
            return _core.Shard.lost(), {number: None}
        held = _Held(_made(rows, classes, number, worker.state.nthreads))
        for earlier in told:
            held.shard.answer(earlier)
        held.number = asked - 1
        with _guard:
            _held[key] = held
    with held.lock:
        if held.number != asked:
            held.answer, held.number = held.shard.answer(question), asked
        return held.answer, {number: worker.address}


def _add(left, right):
    return _core.Shard.add(left[0], right[0]), {**left[1], **right[1]}


def _forget(fit):
    with _guard:
        for key in [key for key in _held if key[0] == fit]:
            del _held[key]


# ---- At the client


class _File:
    """Rows that a worker reads itself."""

    def __init__(self, path, labels):
        self.path, self.labels = path, labels


class _Carrier:
    """Carries questions to the shards of a fit, and their sum back."""

    def __init__(self, client, parts, classes):
        self.client, self.parts, self.classes = client, parts, classes
        self.fit, self.asked, self.told = uuid.uuid4().hex, 0, []
        self.homes = self._first_homes()
        self.interrupt = None

    def _first_homes(self):
        """Where the parts are, if no worker has more than its share; the others go to who has least."""
        addresses = sorted(self._workers())
        if not addresses:
            raise RuntimeError("The Dask cluster has no workers.")
        futures = [part for part in self.parts if isinstance(part, distributed.Future)]
        where = self.client.who_has(futures) if futures else {}
        most = -(-len(self.parts) // len(addresses))
        load, homes = dict.fromkeys(addresses, 0), []
        for part in self.parts:
            there = [a for a in where.get(part.key, ()) if load.get(a, most) < most] if futures else []
            home = min(there or addresses, key=lambda a: (load[a], a))
            load[home] += 1
            homes.append(home)
        return homes

    def _workers(self):
        return self.client.scheduler_info(n_workers=-1)["workers"]

    def __call__(self, question):
        self.asked += 1
        for _ in range(_MOST_TRIES):
            try:
                answer, where = self._ask(question)
            except KeyboardInterrupt as stop:  # the round is asked again, after which the fit ends
                if self.interrupt is not None:
                    raise
                self.interrupt = stop
                continue
            except (distributed.scheduler.KilledWorker, distributed.client.FutureCancelledError) as error:
                self._retry(error)
                continue
            absent = [k for k, address in where.items() if address is None]
            if not absent:
                break
            alive = self._workers()
            if not any(self.homes[k] in alive for k in absent):
                break  # they are lost
            # A task has run elsewhere than its shard is. Who has answered already answers the same again.
        else:
            if not absent:
                raise RuntimeError(f"The workers of the Dask cluster were lost {_MOST_TRIES} times in one round.")
        for k, address in where.items():
            self.homes[k] = address or self.homes[k]
        if _core.Shard.prepares(question):
            self.told.append(question)
        return answer

    def _retry(self, error):
        if self.client.scheduler is None or self.client.status != "running":
            raise ConnectionError("The scheduler of the Dask cluster is gone, and the fit with it.") from error
        broken = [part for part in self.parts if isinstance(part, distributed.Future) and part.status in ("error", "lost", "cancelled")]
        if broken:
            self.client.retry(broken)

    def _ask(self, question):
        classes, told = self.classes, list(self.told)
        # Tasks share it, and it is large.
        shared = self.client.scatter([(classes, told, question)], hash=False)[0] if len(question) > 10_000 else None
        tasks = [
            self.client.submit(
                *((_answer_shared, shared) if shared is not None else (_answer_plain, (classes, told, question))),
                self.fit, k, part, self.asked, self.homes[k],
                workers=[self.homes[k]], allow_other_workers=True, pure=False, key=f"topwolf-shard-{uuid.uuid4().hex}",
            )
            for k, part in enumerate(self.parts)
        ]
        return self._sum(tasks, 0, len(tasks)).result()

    def _sum(self, tasks, begin, end):
        """The same tree as everywhere."""
        if end - begin == 1:
            return tasks[begin]
        half = 1
        while 2 * half < end - begin:
            half *= 2
        left, right = self._sum(tasks, begin, begin + half), self._sum(tasks, begin + half, end)
        return self.client.submit(_add, left, right, pure=False, key=f"topwolf-sum-{uuid.uuid4().hex}")

    def close(self):
        try:
            self.client.run(_forget, self.fit, on_error="ignore")
        except Exception:  # a cluster that is gone has nothing to forget
            pass


def _answer_shared(shared, fit, number, rows, asked, home):
    classes, told, question = shared
    return _answer(fit, number, rows, classes, told, question, asked, home)


_answer_plain = _answer_shared


def _is_dask_array(X):
    return hasattr(X, "numblocks") and hasattr(X, "map_blocks")


def _is_dask_frame(X):
    return hasattr(X, "npartitions") and hasattr(X, "map_partitions")


def _known(chunks):
    return not any(np.isnan(size) for size in chunks)


def _blocks(column, X, name):
    """The blocks of a column of as many rows as X, chunk by chunk."""
    if column is None:
        return None
    if not (_is_dask_array(column) or _is_dask_frame(column)):
        raise TypeError(f"{name} is {type(column).__name__}, but where X is a Dask collection it must be one, too.")
    if _is_dask_array(X) and _is_dask_array(column):
        if column.ndim > 1:
            column = column.ravel() if column.shape[1] == 1 else column
        if column.ndim != 1:
            raise ValueError(f"{name} should be a 1d array, got an array of shape {column.shape} instead.")
        if _known(X.chunks[0]) and _known(column.chunks[0]):
            if len(X) != len(column):
                raise ValueError(f"Found input variables with inconsistent numbers of samples: [{len(X)}, {len(column)}]")
            column = column.rechunk((X.chunks[0],))
    count = X.numblocks[0] if _is_dask_array(X) else X.npartitions
    blocks = list(column.to_delayed().ravel()) if _is_dask_array(column) else list(column.to_delayed())
    if len(blocks) != count:
        raise ValueError(f"X has {count} chunks, but {name} has {len(blocks)}: their rows cannot be matched. Call compute_chunk_sizes() on both.")
    return blocks


class DaskTopwolfClassifier(ClassifierMixin, BaseEstimator):
    """:class:`topwolf.TopwolfClassifier` on a Dask cluster.

    Parameters are those of :class:`topwolf.TopwolfClassifier`, where they are not named here.

    Parameters
    ----------
    client : distributed.Client, default=None
        None: the current one.

    n_shards : int, default=None
        In how many shards the rows are: neighbouring chunks are put together. None: a shard for every chunk, up to 32.
        The result depends on it; more shards can use more workers, and need more passes.

    Attributes
    ----------
    local_ : TopwolfClassifier
        The fitted classifier, whose attributes this one has, too.
    """

    def __init__(
        self, loss="max_hinge", *, k=None, rho=None, cost_matrix=None, smoothing=0.0, temperature=None, C=1.0, tol=1e-3,
        solver="auto", max_iter=100_000, time_limit=None, fit_intercept=True, intercept_scaling=1.0, center=False,
        random_state=None, verbose=0, client=None, n_shards=None,
    ):  # fmt: skip
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

    def fit(self, X, y=None, sample_weight=None, callback=None):
        """Fit to rows on a cluster.

        Parameters
        ----------
        X : dask.array.Array, dask.dataframe.DataFrame, or list of file names
            Chunks of rows, also of sizes that are not known. Files are read by the workers, who must all find them there, a
            shard each.
        y : dask.array.Array, dask.dataframe.Series, or list of file names
            Labels, in chunks like those of X. Of files: a file of labels for each, or None where X has them.
        sample_weight : dask.array.Array or dask.dataframe.Series, default=None
            Not of files.
        callback : callable, default=None
            As that of :meth:`topwolf.TopwolfClassifier.fit`.

        Returns
        -------
        self
        """
        local = self._plain()
        client = self._client()
        files = isinstance(X, (list, tuple))
        if files:
            parts, classes, shape, dtype = self._files(X, y, sample_weight), np.zeros(0), None, None
        else:
            parts, classes, shape, dtype = self._parts(client, X, y, sample_weight)
        local.classes_ = np.arange(2) if files else classes
        options = local._options(0, None, 1.0) | {"keep_dual": False, "start": None, "threads": 0}
        carrier = _Carrier(client, parts, classes)
        observer, table = local._observer(callback, {}, None)

        def observe(record):
            return (observer(record) if observer else False) or carrier.interrupt is not None

        try:
            result = _core.train_on_shards(carrier, 1 if files else len(classes), options, observe)
        finally:
            carrier.close()
        if table is not None:
            table.finish()
        self._take(local, result, files, shape, dtype, X)
        error = result["error"] or carrier.interrupt
        if error is not None:
            raise error
        local._warn_unless_converged(stacklevel=3)
        return self

    def _plain(self):
        ours = {name: value for name, value in self.get_params(deep=False).items() if name not in ("client", "n_shards")}
        local = TopwolfClassifier(**ours)
        local._validate_params()
        return local

    def _client(self):
        if self.client is not None:
            return self.client
        try:
            return distributed.get_client()
        except ValueError:
            raise ValueError("There is no Dask client: start one (distributed.Client()), or give client=.") from None

    def _files(self, X, y, sample_weight):
        if sample_weight is not None:
            raise ValueError("sample_weight does not go with files.")
        labels = [""] * len(X) if y is None else [str(name) for name in y]
        if len(labels) != len(X) or not X:
            raise ValueError(f"Found input variables with inconsistent numbers of samples: [{len(X)}, {len(labels)}]")
        return [_File(str(path), of) for path, of in zip(X, labels)]

    def _parts(self, client, X, y, sample_weight):
        if _is_dask_array(X):
            if X.ndim != 2:
                raise ValueError(f"Expected 2D array, got {X.ndim}D array instead.")
            if X.numblocks[1] > 1:
                raise ValueError(f"X has {X.numblocks[1]} chunks of columns, but rows must lie whole: X.rechunk({{1: -1}}).")
            rows = list(X.to_delayed().ravel())
        elif _is_dask_frame(X):
            rows = list(X.to_delayed())
        else:
            raise TypeError(f"X is {type(X).__name__}, but it must be a Dask array, a Dask dataframe, or a list of files.")
        if y is None:
            raise ValueError("This DaskTopwolfClassifier estimator requires y to be passed, but the target y is None.")
        labels, weights = _blocks(y, X, "y"), _blocks(sample_weight, X, "sample_weight")
        blocks = list(zip(rows, labels, weights or [None] * len(rows)))
        count = self.n_shards or min(len(blocks), _MOST_SHARDS)
        if not isinstance(count, (int, np.integer)) or not 1 <= count <= len(blocks):
            raise ValueError(f"n_shards is {self.n_shards!r}, but X has {len(blocks)} chunks: it must be an integer from 1 to that.")
        bounds = [len(blocks) * k // count for k in range(count + 1)]
        grouped = [delayed(_part, pure=False)([list(block) for block in blocks[a:b]]) for a, b in zip(bounds, bounds[1:])]
        parts = client.compute(grouped)
        described = client.gather([client.submit(_described, part, pure=False) for part in parts])
        filled = [(shape, dtype, labels) for shape, dtype, labels in described if shape[0] > 0]
        if not filled:
            raise ValueError("Found array with 0 sample(s) while a minimum of 1 is required.")
        classes = np.unique(np.concatenate([labels for _, _, labels in filled]))
        if classes.dtype.kind == "f" and not (classes == np.floor(classes)).all():
            raise ValueError("Unknown label type: continuous. Labels must be integers, text, booleans, or floats that are whole numbers.")
        check_text(classes)
        if len(classes) < 2:
            raise ValueError(
                "This solver needs samples of at least 2 classes in the data, but the data contains only one class: "
                f"{classes[0]!r}"
            )
        widths = sorted({shape[1] for shape, _, _ in filled})
        if len(widths) > 1:
            raise ValueError(f"The chunks of X have {widths[0]} to {widths[-1]} features, but all must have the same.")
        dtype = np.result_type(*(np.float64 if dtype == np.float64 else np.float32 for _, dtype, _ in filled))
        return parts, classes, (sum(shape[0] for shape, _, _ in filled), widths[0]), dtype

    def _take(self, local, result, files, shape, dtype, X):
        classifier, provenance = result["classifier"], result["provenance"]
        if files:
            local.classes_ = from_names(classifier["label_type"], classifier["class_names"])
            dtype = np.dtype(classifier["precision"])
        local.n_features_in_ = classifier["d"]
        if _is_dask_frame(X) and all(isinstance(name, str) for name in X.columns):
            local.feature_names_in_ = np.asarray(X.columns, dtype=object)
        provenance["command"] = repr(self)
        local._take(classifier, provenance, np.dtype(dtype))
        local.k_, local.trace_, local.solver_choice_ = result["K"], result["trace"], result["choice"]
        local.evals_result_ = {}
        self.local_ = local

    def __getattr__(self, name):
        # What a fitted classifier has: coef_, classes_, relative_gap_, ...
        if name.endswith("_") and not name.startswith("_") and name != "local_" and "local_" in vars(self):
            return getattr(self.local_, name)
        raise AttributeError(f"{type(self).__name__!r} object has no attribute {name!r}")

    def __getstate__(self):
        return {**super().__getstate__(), "client": None}  # a client belongs to its process

    def to_local(self):
        """A :class:`topwolf.TopwolfClassifier` of its own, fitted as this one is."""
        check_is_fitted(self, "local_")
        return copy.deepcopy(self.local_)

    def save(self, path):
        """Write a model file that the command line and `topwolf.load` read."""
        check_is_fitted(self, "local_")
        self.local_.save(path)

    # ---- Predictions: lazy where X is a Dask collection, and of its kind

    def predict(self, X):
        """The class with the highest score for each row of X."""
        return self._of_rows("predict", X, (), self.local_.classes_.dtype)

    def decision_function(self, X):
        """Scores of the classes: (n_samples, n_classes), (n_samples,) for two classes."""
        width = () if len(self.local_.classes_) == 2 else (len(self.local_.classes_),)
        return self._of_rows("decision_function", X, width, np.float64)

    def predict_proba(self, X):
        """Probabilities of the classes, of ``loss="softmax"``."""
        return self._of_rows("predict_proba", X, (len(self.local_.classes_),), np.float64)

    def predict_top_k(self, X, k=None):
        """The k best classes for each row of X, best first; None: `k_`."""
        k = self.local_._check_k(k)
        return self._of_rows("predict_top_k", X, (k,), self.local_.classes_.dtype, k=k)

    def _of_rows(self, method, X, width, dtype, **how):
        check_is_fitted(self, "local_")
        if _is_dask_array(X):
            if X.numblocks[1] > 1:
                X = X.rechunk({1: -1})
            chunks = (X.chunks[0], *((size,) for size in width))
            local = delayed(self.local_, pure=True, traverse=False)
            axes = {} if width else {"drop_axis": 1}
            return X.map_blocks(_predicted, local, method, how, dtype=dtype, chunks=chunks, meta=np.empty((0,) * len(chunks), dtype), **axes)
        if _is_dask_frame(X):
            meta = _framed(np.zeros((0, *width), dtype), None)
            return X.map_partitions(_predicted_frame, delayed(self.local_, pure=True, traverse=False), method, how, meta=meta)
        return getattr(self.local_, method)(X, **how)


def _predicted(rows, local, method, how):
    return getattr(local, method)(rows, **how)


def _predicted_frame(frame, local, method, how):
    return _framed(getattr(local, method)(frame, **how), frame.index)


def _framed(values, index):
    import pandas as pd

    return pd.Series(values, index=index) if values.ndim == 1 else pd.DataFrame(values, index=index)
