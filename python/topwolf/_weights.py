"""Weights between the attributes of an estimator and the fields of a model. With two classes one vector says it all."""

import numpy as np
from scipy import sparse


def antisymmetric(weights, dtype):
    """With two classes the optimum has W_0 = -W_1; rounding is made to agree, so that one vector says it all."""
    half = ((weights[1] - weights[0]) / 2).astype(dtype).astype(np.float64)
    return np.vstack([-half, half])


def to_attributes(weights, columns, d, bias, dtype):
    """coef_, intercept_ and the weights of the constant feature, from weights (m x D) on these columns (None: all d)."""
    if len(weights) == 2:
        weights = weights[1:] - weights[:1]
    width = d if columns is None else len(columns)
    constant = weights[:, width] if bias else np.zeros(len(weights))
    coef = weights[:, :width].astype(dtype)
    if columns is not None:
        ends = np.arange(len(coef) + 1, dtype=np.int64) * width
        coef = sparse.csr_matrix((coef.ravel(), np.tile(columns, len(coef)), ends), shape=(len(coef), d))
    return coef, (constant * bias).astype(dtype), constant


def from_attributes(coef, intercept, constant, bias):
    """Weights (m x D) in double, and their columns. `constant` keeps the bits that intercept_ may have lost, while that is unchanged."""
    columns = None
    if sparse.issparse(coef):
        coef = coef.tocsr()
        columns = np.unique(coef.indices) if coef.nnz else np.zeros(1)
        coef, columns = coef[:, columns].toarray(), columns.astype(np.int32)
    weights = np.asarray(coef, np.float64)
    if bias:
        if not np.array_equal((constant * bias).astype(intercept.dtype), intercept):
            constant = np.asarray(intercept, np.float64) / bias
        weights = np.column_stack([weights, constant])
    return np.ascontiguousarray(every_class(weights)), columns


def every_class(rows):
    """A row a class, from the one row that two classes have."""
    return np.concatenate([-rows, rows]) / 2 if len(rows) == 1 else rows


# A model of which only the weights matter.
BARE_MODEL = {
    "columns": None,
    "label_type": "integer",
    "precision": "float64",
    "normalization": "none",
    "normalization_scale": None,
    "index_base": 1,
    "label_column": "",
    "loss": "max-hinge",
    "k": None,
    "rho": None,
    "smoothing": 0.0,
    "cost_matrix": None,
    "class_features": None,
    "class_weights": None,
    "lambda": 1.0,
    "weight_sum": 1.0,
    "solver": "",
    "certified": False,
    "status": "converged",
    "primal": 0.0,
    "dual": 0.0,
    "iterations": 0,
    "command": "",
    "version": "",
    "data_hash": "",
    "search": "",
}
