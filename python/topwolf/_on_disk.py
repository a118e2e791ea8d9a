"""Rows that stay in a file: what is behind a memory map, and files made of batches."""

from __future__ import annotations

import contextlib
import mmap
import os
import re
import tempfile

import numpy as np

from . import _core

_PRECISIONS = {np.dtype("<f2"): "float16", np.dtype("<f4"): "float32", np.dtype("<f8"): "float64"}


def bytes_of(memory):
    """500, "20K", "3M" or "8G" as a number of bytes; None stays None."""
    if memory is None or not isinstance(memory, str):
        return memory
    match = re.fullmatch(r"(\d+)([KMG]?)", memory.strip().upper())
    if not match or int(match[1]) < 1:
        raise ValueError(f"memory is {memory!r}; it must be a number of bytes above 0, such as 500, '20K', '3M' or '8G'.")
    return int(match[1]) << (10 * " KMG".index(match[2] or " "))


def _map_of(X):
    """The mmap that X's numbers lie in; None where they are in memory, or may differ from those of the file."""
    at = X
    while isinstance(at, np.ndarray):
        if isinstance(at, np.memmap) and isinstance(at._mmap, mmap.mmap):
            return at._mmap if at.mode in ("r", "r+", "w+") and at.filename is not None else None
        at = at.base
    return None


def is_mapped(X):
    """Whether the rows of X lie in a file as they would in memory."""
    plain = isinstance(X, np.ndarray) and X.ndim == 2 and X.dtype in _PRECISIONS and X.flags.c_contiguous
    return plain and X.size > 0 and isinstance(X, np.memmap) and _map_of(X) is not None


def rows_in_file(X):
    """A mapped array for the extension, which reads the file."""
    whole = np.frombuffer(_map_of(X), np.uint8)
    if X.mode in ("r+", "w+"):
        X.flush()
    # NumPy maps from a multiple of the granularity on; X.offset is that of the array it was sliced from.
    begin = X.offset - X.offset % mmap.ALLOCATIONGRANULARITY
    offset = begin + X.ctypes.data - whole.ctypes.data
    return _core.in_file(os.fspath(X.filename), offset, X.shape[0], X.shape[1], _PRECISIONS[X.dtype])


@contextlib.contextmanager
def collected(batches, folder):
    """(X, y, weights) of all batches, X a map of a file that is gone afterwards."""
    labels, weights = [], []
    with tempfile.TemporaryDirectory(dir=folder, prefix="topwolf-") as place:
        path = os.path.join(place, "X")
        rows, cols, dtype = 0, None, None
        with open(path, "wb") as file:
            for number, batch in enumerate(batches):
                X, y, *weight = batch
                X, y = np.asarray(X), np.asarray(y)
                if dtype is None:
                    dtype = X.dtype if X.dtype in _PRECISIONS else np.dtype(np.float64)
                if X.ndim != 2 or (cols is not None and X.shape[1] != cols) or len(y) != len(X):
                    raise ValueError(
                        f"batch {number} has X of shape {X.shape} and y of shape {y.shape}; "
                        f"X needs two dimensions{'' if cols is None else f', {cols} columns as before'}, and y a label for each row."
                    )
                cols = X.shape[1]
                X = np.ascontiguousarray(X, dtype=dtype)
                X.tofile(file)
                rows += len(X)
                labels.append(y)
                weights.extend(np.asarray(w, dtype=np.float64) for w in weight)
        if rows == 0 or cols == 0:
            raise ValueError("make_batches() gave no rows.")
        if weights and len(weights) != len(labels):
            raise ValueError("some batches have a sample_weight, and others have none.")
        X = np.memmap(path, dtype=dtype, mode="r", shape=(rows, cols))
        yield X, np.concatenate(labels), np.concatenate(weights) if weights else None
        del X
