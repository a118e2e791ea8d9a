"""Names of files, before the extension or the system gets to see them."""

import os


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
