"""Rows from Arrow streams: tables and readers of pyarrow, polars, DuckDB and whoever else has ``__arrow_c_stream__``."""

from __future__ import annotations

import numpy as np


def arrow_rows(X):
    """X as scikit-learn takes it: a column of lists as an array, of which one batch is not copied, and a reader as a table."""
    if not hasattr(X, "__arrow_c_stream__"):
        return X
    tabular = hasattr(X, "shape")  # so that scikit-learn knows its columns
    if tabular and (len(X.shape) != 2 or X.shape[1] != 1):
        return X
    try:
        import pyarrow
    except ImportError:
        if tabular and hasattr(X, "__array__"):
            return X
        raise ImportError(f"Rows from an Arrow stream ({type(X).__name__}) need the package pyarrow: pip install 'topwolf[arrow]'.") from None
    # An index of pandas' would be a column, too.
    reader = pyarrow.RecordBatchReader.from_stream(X.reset_index(drop=True) if hasattr(X, "reset_index") else X)
    if not _is_list(reader.schema):
        return X if tabular else reader.read_all()
    parts = [_array_of(batch.column(0), reader.schema.field(0)) for batch in reader if batch.num_rows]
    if len(parts) == 1:
        return parts[0]
    return np.concatenate(parts) if parts else np.empty((0, reader.schema.field(0).type.list_size))


def _is_list(schema):
    from pyarrow import types

    kind = schema.field(0).type if len(schema) == 1 else None
    return kind is not None and (types.is_fixed_size_list(kind) or types.is_list(kind) or types.is_large_list(kind))


def _array_of(lists, field):
    """A batch of lists as an array in the place where it lies."""
    from pyarrow import types

    if not types.is_fixed_size_list(lists.type):
        raise ValueError(
            f"The column {field.name!r} has lists of any length ({lists.type}); cast it to lists of a fixed size: "
            "every row has as many features."
        )
    values = lists.flatten()
    if lists.null_count or values.null_count:
        raise ValueError(f"The column {field.name!r} has missing values.")
    if not (types.is_floating(values.type) or types.is_integer(values.type)):
        raise ValueError(f"The column {field.name!r} has lists of {values.type}, not of numbers.")
    return values.to_numpy(zero_copy_only=True).reshape(len(lists), lists.type.list_size)
