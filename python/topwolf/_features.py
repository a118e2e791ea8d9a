"""Rows for the extension, which reads NumPy's and SciPy's memory in place."""

import numpy as np
from scipy import sparse

from . import _core

_MOST_COLUMNS = np.iinfo(np.int32).max - 1


def to_features(X):
    """X as `validate_data` returns it: float32 or float64, dense or CSR."""
    if X.shape[1] > _MOST_COLUMNS:
        raise ValueError(f"X has {X.shape[1]} features, but at most {_MOST_COLUMNS} are supported.")
    if not sparse.issparse(X):
        return _core.dense(X if _rows_lie_whole(X) else np.ascontiguousarray(X))
    if not X.has_canonical_format:
        X = X.copy()
        X.sum_duplicates()
    indices, indptr = X.indices, X.indptr
    if indices.dtype != indptr.dtype:
        indices, indptr = indices.astype(np.int64), indptr.astype(np.int64)
    return _core.csr(*map(np.ascontiguousarray, (X.data, indices, indptr)), X.shape[1])


def _rows_lie_whole(X):
    """Whether every row lies in one piece, apart from the others: slices of rows and of columns do."""
    apart, within = X.strides
    whole = X.flags.aligned and within == X.itemsize and apart % X.itemsize == 0
    return whole and apart >= X.shape[1] * X.itemsize
