"""Rows from Arrow: tables and streams of pyarrow, polars, pandas, or anybody's."""

import sys

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pyarrow.parquet as parquet
import pytest

from topwolf import TopwolfClassifier
from topwolf._arrow import arrow_rows

N, D = 900, 7


def rows_of():
    rng = np.random.default_rng(0)
    y = np.sort(np.arange(N) % 3)
    return rng.normal(size=(N, D)) + rng.normal(size=(3, D))[y], y


class Stream:
    """An object of somebody else's, which has a stream and nothing more."""

    def __init__(self, table):
        self._table = table

    def __arrow_c_stream__(self, requested_schema=None):
        return self._table.__arrow_c_stream__(requested_schema)


def embedded(X, batches=1):
    """A table with one column of lists, in so many batches."""
    parts = np.array_split(X, batches)
    columns = [pa.FixedSizeListArray.from_arrays(pa.array(part.ravel()), X.shape[1]) for part in parts]
    return pa.table({"emb": pa.chunked_array(columns)})


@pytest.mark.parametrize("dtype", [np.float16, np.float32, np.float64])
@pytest.mark.parametrize("batches", [1, 3])
def test_a_column_of_lists_is_rows(dtype, batches):
    X, y = rows_of()
    X = X.astype(dtype)
    plain = TopwolfClassifier().fit(X, y)
    table = embedded(X, batches)
    makers = [lambda: table, lambda: Stream(table), table.to_reader, lambda: table[:N]]
    if dtype != np.float16:
        makers += [lambda: pl.DataFrame({"emb": pl.Series(X, dtype=pl.Array(pl.Float32 if dtype == np.float32 else pl.Float64, D))})]
        makers += [lambda: pd.DataFrame({"emb": pd.Series(pd.arrays.ArrowExtensionArray(table["emb"]), index=np.arange(N) + 5)})]
    for make in makers:
        clf = TopwolfClassifier().fit(make(), y)
        assert np.array_equal(clf.coef_, plain.coef_) and clf.coef_.dtype == plain.coef_.dtype
        assert np.array_equal(clf.predict(make()), plain.predict(X))
    part = embedded(X)[100:400]
    assert np.array_equal(plain.decision_function(part), plain.decision_function(X[100:400])), "a slice"


def test_a_column_of_lists_is_read_where_it_is():
    table = embedded(rows_of()[0])
    assert arrow_rows(table).ctypes.data == table["emb"].chunk(0).values.buffers()[1].address


def test_columns_of_numbers_keep_their_names():
    X, y = rows_of()
    names = [f"f{c}" for c in range(D)]
    table = pa.table(dict(zip(names, X.T)))
    plain = TopwolfClassifier().fit(X, y)
    frames = [lambda: pl.DataFrame(X, schema=names), lambda: pd.DataFrame(X, columns=names)]
    for make in (lambda: table, table.to_reader, lambda: Stream(table), *frames):
        clf = TopwolfClassifier().fit(make(), y)
        assert np.array_equal(clf.coef_, plain.coef_) and list(clf.feature_names_in_) == names
        assert np.array_equal(clf.predict(make()), plain.predict(X))
    with pytest.raises(ValueError, match="feature names should match"):
        clf.predict(table.select(names[::-1]))
    one = TopwolfClassifier().fit(table.select(["f0"]), y)
    assert list(one.feature_names_in_) == ["f0"] and np.array_equal(one.coef_, TopwolfClassifier().fit(X[:, :1], y).coef_)


@pytest.mark.parametrize(
    "column, saying",
    [
        (pa.array([[1.0, 2.0], [1.0]]), "'emb' has lists of any length"),
        (pa.array([[1.0, 2.0], None], pa.list_(pa.float64(), 2)), "'emb' has missing values"),
        (pa.array([[1.0, None], [1.0, 2.0]], pa.list_(pa.float64(), 2)), "'emb' has missing values"),
        (pa.array([["a", "b"], ["c", "d"]], pa.list_(pa.string(), 2)), "'emb' has lists of string"),
        (pa.array([[1.0, np.nan], [1.0, 2.0]], pa.list_(pa.float64(), 2)), "NaN"),
    ],
)
def test_columns_of_lists_that_are_no_rows(column, saying):
    with pytest.raises(ValueError, match=saying):
        TopwolfClassifier().fit(pa.table({"emb": column}), [0, 1])


def test_without_pyarrow(monkeypatch):
    X, y = rows_of()
    reader = embedded(X).to_reader()
    monkeypatch.setitem(sys.modules, "pyarrow", None)
    frame = pl.DataFrame({"a": X[:, 0]})
    assert np.array_equal(TopwolfClassifier().fit(frame, y).coef_, TopwolfClassifier().fit(X[:, :1], y).coef_)
    with pytest.raises(ImportError, match=r"an Arrow stream \(RecordBatchReader\) need the package pyarrow: pip install 'topwolf\[arrow\]'"):
        TopwolfClassifier().fit(reader, y)


def test_parquet_batch_by_batch(tmp_path):
    X, y = rows_of()
    X = X.astype(np.float32)
    parquet.write_table(embedded(X).append_column("label", pa.array(y)), tmp_path / "rows.parquet", row_group_size=200)

    def batches():
        with parquet.ParquetFile(tmp_path / "rows.parquet") as file:
            for batch in file.iter_batches(batch_size=128):
                yield batch.select(["emb"]), batch["label"]

    clf = TopwolfClassifier(tol=1e-5).fit_iter(batches)
    plain = TopwolfClassifier(tol=1e-5).fit(X, y)
    assert clf.primal_ >= plain.dual_ and plain.primal_ >= clf.dual_
