"""Rows that come in batches, on their way to a file where they lie in random order."""

from __future__ import annotations

import os
import tempfile
import warnings
from collections.abc import Callable, Iterable, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import ArrayLike
from scipy import sparse
from sklearn.utils.validation import _check_sample_weight, column_or_1d

from . import _core
from ._features import RowsOnDisk, checked, precision_of
from ._fitted import MatrixLike, Path
from ._labels import LabelNumbers
from ._on_disk import PROGRAM_BYTES, open_files
from ._paths import file_name

if TYPE_CHECKING:
    from typing_extensions import Self

_LEAST, _MOST = 16 << 20, 1 << 30  # bytes of rows in memory while they are shuffled


class FromBatches:
    """The part of :class:`TopwolfClassifier` that takes rows in batches."""

    def fit_iter(
        self,
        make_batches: Callable[[], Iterable[tuple[Any, ...]]],
        *,
        folder: Path | None = None,
        eval_set: Sequence[tuple[MatrixLike, ArrayLike]] | None = None,
        callback: Callable[[_core.IterationRecord], bool | None] | None = None,
    ) -> Self:
        """Fit to rows that come in batches, and need never be in memory together.

        The batches are gone through once. Their rows are written to a file in random order, which :meth:`fit` then reads, by
        windows where `memory` has no room for it; nothing is left of the file. What the iterable raises ends it all.

        Parameters
        ----------
        make_batches : callable
            Returns an iterable of ``(X, y)`` or ``(X, y, sample_weight)``, each of them as :meth:`fit` takes it in memory:
            arrays, CSR matrices, tables. All batches have as many features as the first, and are stored as it is: sparse or
            dense, in float16, bfloat16, float32 or float64.
        folder : path, default=None
            Where the file is meanwhile, with room for all rows twice. None: the system's folder for temporary files, which on some
            systems is in memory itself.
        eval_set, callback
            As for :meth:`fit`.

        Returns
        -------
        self

        Examples
        --------
        >>> import numpy as np
        >>> from topwolf import TopwolfClassifier
        >>> def batches():
        ...     for seed in range(3):
        ...         y = np.arange(100) % 4
        ...         yield np.random.default_rng(seed).normal(size=(100, 5)) + 3 * np.eye(4, 5)[y], y
        >>> TopwolfClassifier().fit_iter(batches).status_
        'converged'
        """
        self._validate_params()
        X, y, sample_weight = collected(self, make_batches, folder)
        return self.fit(X, y, sample_weight, eval_set, callback)


def collected(estimator, make_batches, folder):
    """(rows, labels, weights) of all batches, in random order.

    The rows are written as they come, then once more in random order, so that for a while they are on the disk twice. The
    file has no name any more when it is used, so that nothing is left of it whatever ends the process.
    """
    if not callable(make_batches):
        raise TypeError("make_batches must be callable, and return an iterable of (X, y) or (X, y, sample_weight).")
    room = _room(estimator)
    where = None if folder is None else file_name(folder)
    # A network file system may keep the empty folder while the file is in use.
    with tempfile.TemporaryDirectory(dir=where, prefix="topwolf-", ignore_cleanup_errors=True) as place:
        with Spool(estimator, place) as spool:
            spool.take(make_batches())
        path = os.path.join(place, "rows.twd")
        order = _core.shuffled(spool.rows(), path, estimator._seed(), room, estimator._threads())
        spool.remove()
        rows = RowsOnDisk(open_files(path)[0].features, source="the batches", names=spool.names())
    labels, weights = spool.labels.numbered(), spool.weights()
    return rows, labels.take(order), None if weights is None else weights[order]


def _room(estimator):
    memory = estimator._memory()
    return _MOST if memory is None else int(np.clip((memory - PROGRAM_BYTES) // 2, _LEAST, _MOST))


class Spool:
    """The rows of batches, one after the other: dense ones in a file, the three arrays of sparse ones in three."""

    def __init__(self, estimator, place):
        self._looks = estimator._blank()  # what scikit-learn notes of the first batch, all others must agree with
        self._paths = {part: os.path.join(place, part) for part in ("values", "columns", "ends")}
        self._kind = None  # sparse or not, and the type of the values: as in the first batch
        self._rows, self._stored, self._weights = 0, 0, []
        self.labels = LabelNumbers()

    def __enter__(self):
        self._files = {part: open(path, "wb") for part, path in self._paths.items()}
        np.zeros(1, np.int64).tofile(self._files["ends"])
        return self

    def __exit__(self, *_):
        for file in self._files.values():
            file.close()

    def take(self, batches):
        if not isinstance(batches, Iterable):
            raise TypeError(f"make_batches() returned {type(batches).__name__}, which is not iterable.")
        for number, batch in enumerate(batches):
            if not isinstance(batch, (tuple, list)) or len(batch) not in (2, 3):
                raise ValueError(f"Batch {number} (counted from 0) is not a pair (X, y), nor (X, y, sample_weight).")
            if getattr(batch[0], "shape", (1,))[0] == 0:
                continue
            try:
                with _core.IeeeArithmetic():
                    self._add(*batch)
            except ValueError as error:
                raise ValueError(f"Batch {number} (counted from 0): {error}") from error
        if not self._rows:
            raise ValueError("make_batches() gave no rows.")

    def _add(self, X, y, sample_weight=None):
        X, y = checked(self._looks, X, y, reset=self._rows == 0)
        y = column_or_1d(y)
        if self._kind is None:
            self._kind = sparse.issparse(X), X.dtype
        if sparse.issparse(X) != self._kind[0]:
            raise ValueError(f"X is {'dense' if self._kind[0] else 'sparse'}, but that of the batches before is not.")
        if (sample_weight is None) != (len(self._weights) == 0) and self._rows:
            raise ValueError(f"it has {'no' if sample_weight is None else 'a'} sample_weight, unlike the batches before.")
        if sample_weight is not None:
            self._weights.append(_check_sample_weight(sample_weight, X, dtype=np.float64, ensure_non_negative=True))
        self.labels.add(y)
        self._write(X)
        self._rows += X.shape[0]

    def _write(self, X):
        if not sparse.issparse(X):
            self._typed(X).tofile(self._files["values"])
            return
        if not X.has_canonical_format:
            X = X.copy()
            X.sum_duplicates()
        self._typed(X.data[: X.indptr[-1]]).tofile(self._files["values"])
        X.indices[: X.indptr[-1]].astype(np.int32, copy=False).tofile(self._files["columns"])
        (X.indptr[1:].astype(np.int64) + self._stored).tofile(self._files["ends"])
        self._stored += int(X.indptr[-1])

    def _typed(self, values):
        """As those of the first batch; a value that its type does not hold is refused."""
        if values.dtype == self._kind[1]:
            return np.ascontiguousarray(values)
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", RuntimeWarning)
            out = np.ascontiguousarray(values, dtype=self._kind[1])
        if not np.isfinite(out).all():
            raise ValueError(f"X has values too large for {self._kind[1]}, the type of the first batch.")
        return out

    def rows(self):
        """What was written, as the extension reads it."""
        cols, precision = self._looks.n_features_in_, precision_of(np.empty((0, 0), self._kind[1]))
        if self._kind[0]:
            return _core.in_files(self._paths["ends"], self._paths["columns"], self._paths["values"], self._rows, cols, precision)
        return _core.in_file(self._paths["values"], 0, self._rows, cols, precision)

    def names(self):
        return getattr(self._looks, "feature_names_in_", None)

    def weights(self):
        return np.concatenate(self._weights) if self._weights else None

    def remove(self):
        for path in self._paths.values():
            os.remove(path)
