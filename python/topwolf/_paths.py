"""Names of files, before the extension or the system gets to see them."""

import errno
import os


def is_path(X):
    return isinstance(X, (str, os.PathLike))


def are_files(X):
    """Whether rows, or labels, are given by the names of files."""
    return is_path(X) or (isinstance(X, (list, tuple)) and len(X) > 0 and all(map(is_path, X)))


def file_name(path):
    """The path as text. The system would end the name at a NUL, and read or replace another file."""
    name = os.fsdecode(path)
    if "\0" in name:
        raise ValueError(f"{name!r} cannot be the name of a file: it holds a NUL character.")
    try:
        name.encode()
    except UnicodeEncodeError:
        raise ValueError(f"{name!r} cannot be the name of a file for topwolf: it is not UTF-8.") from None
    return name


def file_to_read(path):
    """The same of a file that is there: FileNotFoundError and its like as Python raises them, with errno and name."""
    name = file_name(path)
    os.stat(name)
    if os.path.isdir(name):
        raise IsADirectoryError(errno.EISDIR, os.strerror(errno.EISDIR), name)
    if not os.access(name, os.R_OK):
        raise PermissionError(errno.EACCES, os.strerror(errno.EACCES), name)
    return name
