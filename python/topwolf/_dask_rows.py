"""Rows on a Dask cluster: collections and files as parts, each of which is (X, y, weights) in one piece on a worker."""

from __future__ import annotations

import numbers
import os

import numpy as np
from dask import delayed
from scipy import sparse
from sklearn.utils import assert_all_finite
from sklearn.utils.validation import _check_sample_weight, check_array

from . import _core
from ._features import bfloat16, sound
from ._labels import from_names

_MOST_SHARDS = 32  # unless they are asked for: more of them need more passes


def is_array(X):
    return hasattr(X, "numblocks") and hasattr(X, "map_blocks")


def is_frame(X):
    return hasattr(X, "npartitions") and hasattr(X, "map_partitions")


def parts_of(X, y, sample_weight, n_shards):
    """A Delayed for each shard: neighbouring chunks or files together, where there are more of them than shards."""
    if is_array(X) or is_frame(X):
        pieces, what, most = _chunks(X, y, sample_weight), "chunks", _MOST_SHARDS
    else:
        pieces, what, most = _files(X, y, sample_weight), "files", None
    count = min(len(pieces), most or len(pieces)) if n_shards is None else n_shards
    if not isinstance(count, numbers.Integral) or not 1 <= count <= len(pieces):
        raise ValueError(f"n_shards is {n_shards!r}, but X has {len(pieces)} {what}: it must be an integer from 1 to that.")
    bounds = [len(pieces) * k // count for k in range(count + 1)]
    return [
        pieces[a] if b == a + 1 else delayed(_joined, pure=False)(pieces[a:b]) for a, b in zip(bounds, bounds[1:])
    ]


def dealt(parts, seed):
    """As many parts, of the same rows at random: the same for the same parts and seed."""
    count = len(parts)
    hands = [delayed(_hands, nout=count, pure=False)(part, count, (seed, k)) for k, part in enumerate(parts)]
    return [delayed(_joined, pure=False)([hand[j] for hand in hands]) for j in range(count)]


# ---- Collections


def _chunks(X, y, sample_weight):
    if y is None:
        raise ValueError("This DaskTopwolfClassifier estimator requires y to be passed, but the target y is None.")
    if is_array(X):
        if X.ndim != 2:
            raise ValueError(f"Expected 2D array, got {X.ndim}D array instead.")
        if X.numblocks[1] > 1:
            raise ValueError(f"X has {X.numblocks[1]} chunks of columns, but rows must lie whole: X.rechunk({{1: -1}}).")
    rows = list(X.to_delayed().ravel()) if is_array(X) else list(X.to_delayed())
    columns = [_column(y, X, "y"), [None] * len(rows) if sample_weight is None else _column(sample_weight, X, "sample_weight")]
    return [delayed(_checked, pure=False)(*chunk) for chunk in zip(rows, *columns)]


def _column(column, X, name):
    """Its chunks, one for each chunk of rows."""
    if not (is_array(column) or is_frame(column)):
        raise TypeError(f"{name} is {type(column).__name__}, but where X is a Dask collection it must be one, too.")
    if is_array(column):
        if column.ndim == 2 and column.shape[1] == 1:
            column = column.reshape(-1) if _known(column) else column.map_blocks(np.ravel, drop_axis=1, dtype=column.dtype)
        if column.ndim != 1:
            raise ValueError(f"{name} should be a 1d array, got an array of shape {column.shape} instead.")
        if is_array(X) and _known(X) and _known(column):
            if len(X) != len(column):
                raise ValueError(f"Found input variables with inconsistent numbers of samples: [{len(X)}, {len(column)}]")
            column = column.rechunk((X.chunks[0],))
    chunks = list(column.to_delayed().ravel()) if is_array(column) else list(column.to_delayed())
    count = X.numblocks[0] if is_array(X) else X.npartitions
    if len(chunks) != count:
        raise ValueError(
            f"X has {count} chunks of rows, and {name} has {len(chunks)}; how they belong together is not known. "
            "Call compute_chunk_sizes() on both."
        )
    return chunks


def _known(array):
    return not any(np.isnan(size) for size in array.chunks[0])


def _checked(X, y, weights):
    """A chunk of rows as it came, on a worker; sentences are scikit-learn's."""
    X = X if sparse.issparse(X) else np.asarray(X)
    y = np.asarray(y).ravel()
    for name, column in (("y", y), ("sample_weight", weights)):
        if column is not None and len(column) != X.shape[0]:
            raise ValueError(
                "Found input variables with inconsistent numbers of samples: "
                f"a chunk of X has {X.shape[0]}, and of {name} {len(column)}"
            )
    if X.shape[0] > 0:
        kinds = [np.float64, np.float32] if sparse.issparse(X) else [np.float64, np.float32, np.float16]
        X = check_array(sound(X), accept_sparse="csr", accept_large_sparse=True, dtype=kinds, input_name="X")
        assert_all_finite(y, input_name="y")
        if weights is not None:
            weights = _check_sample_weight(np.asarray(weights), X, dtype=np.float64, ensure_non_negative=True)
    elif weights is not None:
        weights = np.zeros(0)
    return X, y, weights


# ---- Files


def _files(X, y, sample_weight):
    if not isinstance(X, (list, tuple)) or not all(isinstance(path, (str, os.PathLike)) for path in X):
        raise TypeError(f"X is {type(X).__name__}, but it must be a Dask array, a Dask dataframe, or a list of files.")
    if sample_weight is not None:
        raise ValueError("sample_weight does not go with files: make Dask arrays of them.")
    if y is not None and (not isinstance(y, (list, tuple)) or len(y) != len(X)):
        raise ValueError(f"y must name a file of labels for each of the {len(X)} files of X, or be None.")
    if not X:
        raise ValueError("X is an empty list of files.")
    labels = ["" if y is None else os.fspath(path) for path in y or X]
    return [delayed(_read, pure=False)(os.fspath(path), of) for path, of in zip(X, labels)]


def _read(path, labels):
    """A file on a worker. Archives are NumPy's to read: not every build of the extension can."""
    if path.endswith(".npz"):
        return _read_npz(path, labels)
    found = _core.read_rows(path, labels, 0)
    values = found["values"]
    if found["precision"] in ("float16", "bfloat16"):
        values = values.view(np.float16 if found["precision"] == "float16" else bfloat16)
    if "columns" in found:
        values = sparse.csr_matrix((values, found["columns"], found["row_begin"]), (len(found["y"]), found["d"]))
    return values, from_names(found["label_type"], found["class_names"])[found["y"]], None


def _read_npz(path, labels):
    with np.load(path) as arrays:
        X = arrays["X"] if "X" in arrays else None
        y = arrays["y"] if "y" in arrays and not labels else None
    X = sparse.load_npz(path) if X is None else X
    if labels:
        y = np.load(labels) if labels.endswith(".npy") else np.loadtxt(labels, dtype=str, delimiter="\n", comments=None)
    if y is None:
        raise ValueError(f"{path}: there is no array y, and no file of labels is given.")
    return _checked(X, y, None)


# ---- Parts of parts


def _joined(parts):
    X, y, weights = zip(*parts)
    filled = [rows for rows in X if rows.shape[0] > 0] or [X[0]]
    if any(map(sparse.issparse, filled)):
        width = max(rows.shape[1] for rows in filled)
        X = sparse.vstack([_widened(sparse.csr_matrix(rows), width) for rows in filled], format="csr")
    else:
        widths = {rows.shape[1] for rows in filled}
        if len(widths) > 1:
            raise ValueError(f"X has {min(widths)} features here, and {max(widths)} there.")
        X = filled[0] if len(filled) == 1 else np.concatenate(filled)
    y = np.concatenate([labels for labels in y if len(labels)] or [y[0]])
    return X, y, None if weights[0] is None else np.concatenate(weights)


def _widened(rows, width):
    return sparse.csr_matrix((rows.data, rows.indices, rows.indptr), (rows.shape[0], width))


def _hands(part, count, seed):
    """The rows of a part at random, in as many hands as there are parts."""
    X, y, weights = part
    order = np.random.default_rng(seed).permutation(X.shape[0])
    return [
        (X[rows], y[rows], None if weights is None else weights[rows]) for rows in (order[j::count] for j in range(count))
    ]
