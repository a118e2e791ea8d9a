"""Rows that stay in their files and are read by windows: .npy and .twd by name, or what is behind a memory map."""

from __future__ import annotations

import glob
import mmap
import os
import re

import numpy as np
from numpy.lib import format as npy

from . import _core
from ._features import RowsOnDisk, precision_of
from ._labels import Numbered, from_names
from ._paths import are_files, file_name, file_to_read, is_path

#: What Python, NumPy, SciPy and scikit-learn, which loads pandas and pyarrow where they are, have in memory before anything
#: is fitted. A constant: windows, and with them bits, must not depend on what else a program has loaded.
PROGRAM_BYTES = 280_000_000

_SMALL = 1 << 20  # bytes of a map that are predicted where they are: to find their file would take longer


def bytes_of(memory):
    """500, "20K", "3M" or "8G" as a number of bytes, as the command line reads them; None stays None."""
    if not isinstance(memory, str):
        return None if memory is None else int(memory)
    match = re.fullmatch(r"([0-9]+)([KMG]?)", memory.upper())
    count = int(match[1]) << (10 * " KMG".index(match[2] or " ")) if match else 0
    if not 0 < count <= np.iinfo(np.int64).max:
        raise ValueError(f"memory is {memory!r}; it must be a number of bytes above 0, such as 500, '20K', '3M' or '8G'.")
    return count


def on_disk(X):
    """X as rows that stay in their files, where they are in files that can be read so; else X."""
    if are_files(X):
        return open_files(X)[0]
    if _map_of(X) is None or X.nbytes < _SMALL:
        return X
    place = _place_of(X)
    return X if isinstance(place, str) else _in_file(X, *place)


def to_train_on(X, y, memory):
    """The same of rows and labels; a map stays in its file only where `memory` says that rows may."""
    if are_files(X):
        given = _names(y) if is_path(y) or (are_files(y) and isinstance(X, (list, tuple)) and len(y) == len(X)) else None
        rows, labels = open_files(X, given or [])
        if y is not None and given is None:
            return rows, y
        if labels is None:
            raise ValueError(f"{rows.source} has no labels: give them as y, as an array or as the names of files.")
        return rows, labels
    if memory is None or _map_of(X) is None:
        return X, y
    place = _place_of(X)
    if isinstance(place, str):
        raise ValueError(
            f"memory={memory!r} is for rows that stay in their file, but this memory map {place}; give the name of the file, "
            "or a copy in memory, or no memory."
        )
    return _in_file(X, *place), y


def open_files(paths, labels=()):
    """(rows, labels) of .npy and .twd files, one after the other; labels is None where there are none."""
    names = _names(paths)
    features, y, kind, spellings = _core.of_files(names, list(labels), _precision_in(names))
    rows = RowsOnDisk(features, source=", ".join(names))
    if y is None:
        return rows, None
    if len(missing := np.flatnonzero(y < 0)):
        raise ValueError(f"{rows.source}: row {missing[0] + 1} (counted from 1) has no label.")
    classes = from_names(kind, spellings)
    order = np.argsort(classes)
    return rows, Numbered(classes[order], np.argsort(order).astype(np.int32)[y])


def _names(paths):
    """The files' names; a name that is no pattern must be that of a file."""
    names = [paths] if is_path(paths) else list(paths)
    return [file_name(path) if re.search(r"[*?[]", file_name(path)) else file_to_read(path) for path in names]


def _precision_in(names):
    """What the files' numbers become: as in an array of all, float64 where some are neither float32 nor of 16 bits; None: as they are."""
    files = [file for name in names for file in ([name] if os.path.exists(name) else glob.glob(name))]
    return "float64" if any(map(_is_wide, files)) else None


def _is_wide(name):
    """Whether it is a .npy file of such numbers."""
    try:
        with open(name, "rb") as file:
            if file.read(6) != npy.MAGIC_PREFIX:
                return False
            file.seek(0)
            version = npy.read_magic(file)
            read = npy.read_array_header_1_0 if version == (1, 0) else npy.read_array_header_2_0
            dtype = read(file)[2]
    except (OSError, ValueError):  # the extension has a better sentence
        return False
    return not (dtype.kind == "f" and dtype.itemsize in (2, 4))


def _map_of(X):
    """The mmap that the numbers of an array lie in, if they do."""
    at = X if isinstance(X, np.ndarray) and X.ndim == 2 and X.size else None
    while isinstance(at, np.ndarray):
        at = at.base
    at = at.obj if isinstance(at, memoryview) else at
    return at if isinstance(at, mmap.mmap) else None


def _place_of(X):
    """(name, offset) of the file that the numbers of a mapped array are shared with, or why they cannot be read from there."""
    if precision_of(X) is None:
        return f"has numbers of type {X.dtype}, not float16, float32 or float64"
    if not X.flags.c_contiguous:
        return "does not have its rows one after the other (C order)"
    begin, found = X.ctypes.data, None
    # The system knows which file it is now, by whatever name, and whether it is still there. A map's own name may be another's by now.
    for line in _maps():
        bounds, access, offset, _, inode, *name = line.split(None, 5)
        first, end = (int(bound, 16) for bound in bounds.split(b"-"))
        if first <= begin and begin + X.nbytes <= end:
            found = access, int(offset, 16) + begin - first, int(inode), name[0] if name else b""
    if found is None or found[0][3:4] != b"s":
        return "has changes of its own (mode 'c')"
    access, offset, inode, name = found
    # The system writes a newline as \\012, and a backslash as itself: of two files that are told of alike, it is the one mapped.
    names = [file for file in {name, name.replace(b"\\012", b"\n")} if file.startswith(b"/") and _inode_of(file) == inode]
    if not names:
        return "is of a file that was removed or replaced"
    if b"w" in access:
        _map_of(X).flush()
    return os.fsdecode(names[0]), offset


def _inode_of(file):
    try:
        return os.stat(file).st_ino
    except OSError:
        return None


def _maps():
    try:
        with open("/proc/self/maps", "rb") as maps:
            return maps.read().rstrip(b"\n").split(b"\n")
    except OSError:
        return []


def _in_file(X, name, offset):
    rows, cols = X.shape
    return RowsOnDisk(_core.in_file(file_to_read(name), offset, rows, cols, precision_of(X)), source=name)
