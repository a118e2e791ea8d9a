"""Rows for the extension, which reads NumPy's and SciPy's memory in place."""

import numpy as np
from scipy import sparse

from . import _core


def to_features(X):
    """X as `validate_data` returns it: float32 or float64, dense or CSR."""
    if not sparse.issparse(X):
        # A row must lie in one piece; rows may lie apart.
        in_place = X.shape[1] <= 1 or (X.strides[1] == X.itemsize and X.strides[0] % X.itemsize == 0 and X.strides[0] >= 0)
        return _core.dense(X if in_place else np.ascontiguousarray(X))
    if not X.has_canonical_format:
        X = X.copy()
        X.sum_duplicates()
    indptr = X.indptr if X.indptr.dtype == X.indices.dtype else X.indptr.astype(X.indices.dtype)
    return _core.csr(X.data, X.indices, indptr, X.shape[1])
