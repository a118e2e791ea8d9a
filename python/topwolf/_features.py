"""Rows for the extension, which reads NumPy's and SciPy's memory in place."""

import numpy as np
from scipy import sparse
from sklearn.utils.validation import _check_y, check_consistent_length, validate_data

from . import _core
from ._arrow import arrow_rows
from ._labels import Numbered
from ._paths import are_files

_MOST_COLUMNS = np.iinfo(np.int32).max - 1

#: The upper halves of float32 numbers, for which NumPy has no type: ``bits.view(topwolf.bfloat16)`` makes rows of an
#: array of uint16. Arrays of ml_dtypes' bfloat16 are taken as well.
bfloat16 = np.dtype([("bfloat16", "<u2")])


class RowsOnDisk:
    """Rows in files, which the extension reads by windows and checks as it does; `names`: of their columns."""

    def __init__(self, features, source, names=None):
        self.features, self.source, self.names = features, source, names
        self.shape = (features.rows, features.cols)
        self.dtype = bfloat16 if features.precision == "bfloat16" else np.dtype(features.precision)

    def __len__(self):
        return self.shape[0]


def checked(estimator, X, y="no_validation", **how):
    """X, or X and y, as scikit-learn checks them: X float16, bfloat16, float32 or float64 where it is dense. No copy of these."""
    if isinstance(X, RowsOnDisk):
        return _checked_on_disk(estimator, X, y, how.get("reset", True))
    if are_files(X):
        raise ValueError("Rows are given by the names of files to TopwolfClassifier's fit and to predictions; here they must be in memory.")
    X = sound(arrow_rows(X))
    if not _is_bfloat16(X):
        kinds = [np.float64, np.float32] if sparse.issparse(X) else [np.float64, np.float32, np.float16]
        return validate_data(estimator, X, y, accept_sparse="csr", accept_large_sparse=True, dtype=kinds, **how)
    # As the numbers that its bits are, which are all finite; of them the extension knows more.
    out = validate_data(estimator, X.view(np.uint16), y, dtype=np.uint16, **how)
    bits, *rest = out if isinstance(out, tuple) else (out,)
    if not _core.bfloat16(_whole(bits)).finite:
        raise ValueError("Input X contains NaN, infinity or a value too large for bfloat16.")
    return (bits.view(bfloat16), *rest) if rest else bits.view(bfloat16)


def _checked_on_disk(estimator, X, y, reset):
    asked = not (isinstance(y, str) and y == "no_validation")
    validate_data(estimator, X, y, reset=reset, skip_check_array=True)
    if reset and X.names is not None:
        estimator.feature_names_in_ = X.names
    if not asked:
        return X
    if not isinstance(y, Numbered):
        y = _check_y(y, estimator=estimator)
    check_consistent_length(X, y.numbers if isinstance(y, Numbered) else y)
    return X, y


def precision_of(X):
    """What the extension calls the type of dense numbers; None of others, and of those in the other order of bytes."""
    if _is_bfloat16(X):
        return "bfloat16"
    known = X.dtype.kind == "f" and X.dtype.itemsize in (2, 4, 8) and X.dtype.isnative
    return X.dtype.name if known else None


def working_dtype(X):
    """What is computed with for X, and the type of its weights."""
    return np.dtype(np.float64 if X.dtype == np.float64 else np.float32)


def _is_bfloat16(X):
    dtype = getattr(X, "dtype", None)
    return isinstance(X, np.ndarray) and (dtype == bfloat16 or dtype.name == "bfloat16")


def sound(X, name="X"):
    """X; a sparse one only if its arrays stay within it and each other. SciPy, as the extension, believes them."""
    if not sparse.issparse(X) or X.ndim != 2:
        return X
    if X.format not in ("csr", "csc", "bsr", "coo"):
        X = X.tocsr()
    if X.format == "coo":
        for numbers, size in zip(X.coords if hasattr(X, "coords") else (X.row, X.col), X.shape):
            _check_numbers(numbers, size, name)
        return X
    block = X.blocksize if X.format == "bsr" else (1, 1)
    lines, width = (size // edge for size, edge in zip(X.shape, block))
    if X.format == "csc":
        lines, width = width, lines
    ends = X.indptr
    whole = ends.shape == (lines + 1,) and ends.dtype.kind in "iu" and ends[0] == 0 and (ends[1:] >= ends[:-1]).all()
    if not whole or ends[-1] > min(len(X.indices), len(X.data)):
        raise ValueError(f"{name} is a broken sparse matrix: its indptr does not fit its shape {X.shape} and what it stores.")
    _check_numbers(X.indices[: ends[-1]], width, name)
    return X


def _check_numbers(numbers, size, name):
    if numbers.dtype.kind not in "iu":
        raise ValueError(f"{name} is a broken sparse matrix: its indices are {numbers.dtype}, not integers.")
    if len(numbers) and not 0 <= numbers.min() <= numbers.max() < size:
        raise ValueError(
            f"{name} is a broken sparse matrix: it has indices from {numbers.min()} to {numbers.max()}, "
            f"where 0 to {size - 1} are possible."
        )


def to_features(X, watched=False):
    """X as `checked` returns it: float32 or float64, dense or CSR, or dense of 16 bits. `watched`: code of the caller's runs while
    the rows are used, and what it writes into indices must lead nobody out of the matrix."""
    if isinstance(X, RowsOnDisk):
        return X.features
    if X.shape[1] > _MOST_COLUMNS:
        raise ValueError(f"X has {X.shape[1]} features, but at most {_MOST_COLUMNS} are supported.")
    if not sparse.issparse(X):
        X = _whole(X)
        if X.dtype == np.float16:
            return _core.float16(X.view(np.uint16))
        return _core.bfloat16(X.view(np.uint16)) if _is_bfloat16(X) else _core.dense(X)
    if watched:
        X = with_own_indices(X)
    if not X.has_canonical_format:
        X = X.copy()
        X.sum_duplicates()
    indices, indptr = X.indices, X.indptr
    if indices.dtype != indptr.dtype:
        indices, indptr = indices.astype(np.int64), indptr.astype(np.int64)
    return _core.csr(*map(np.ascontiguousarray, (X.data, indices, indptr)), X.shape[1])


def with_own_indices(X):
    """The same rows, whose indices nobody else can write to, if they are CSR."""
    return sparse.csr_matrix((X.data, X.indices.copy(), X.indptr.copy()), X.shape, copy=False) if sparse.issparse(X) else X


def _whole(X):
    """X, or a copy whose rows lie in one piece."""
    return X if _rows_lie_whole(X) else np.ascontiguousarray(X)


def _rows_lie_whole(X):
    """Whether every row lies in one piece, apart from the others: slices of rows and of columns do."""
    apart, within = X.strides
    whole = X.flags.aligned and within == X.itemsize and apart % X.itemsize == 0
    return whole and apart >= X.shape[1] * X.itemsize
