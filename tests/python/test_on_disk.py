"""Rows of a memory map that stay in their file, and rows that come in batches."""

import os

import numpy as np
import pytest

from topwolf import TopwolfClassifier
from topwolf._on_disk import bytes_of, is_mapped


def rows_of(n=20_000, d=600, m=8, seed=0):
    rng = np.random.default_rng(seed)
    y = np.sort(np.arange(n) % m)
    X = rng.normal(size=(n, d)).astype(np.float32) + 0.3 * rng.normal(size=(m, d)).astype(np.float32)[y]
    return X / np.linalg.norm(X, axis=1, keepdims=True), y


@pytest.fixture(scope="module")
def saved(tmp_path_factory):
    X, y = rows_of()
    folder = tmp_path_factory.mktemp("mapped")
    np.save(folder / "X.npy", X)
    return folder / "X.npy", X, y


def test_a_map_gives_the_optimum_of_its_rows(saved):
    path, X, y = saved
    labels = np.array(["ant", "bee", "cat", "dog", "eel", "fox", "gnu", "hen"])[y]
    there = TopwolfClassifier(memory="85M", tol=1e-4).fit(np.load(path, mmap_mode="r"), labels)
    here = TopwolfClassifier(tol=1e-4).fit(X, labels)
    assert "on disk" in there.solver_choice_ and "on disk" not in here.solver_choice_
    assert there.primal_ >= here.dual_ and here.primal_ >= there.dual_
    assert there.relative_gap_ <= 1e-4 and list(there.classes_) == list(here.classes_)
    assert there.score(np.load(path, mmap_mode="r"), labels) == pytest.approx(here.score(X, labels), abs=0.01)


def test_a_part_of_a_map_is_that_part(saved):
    path, X, y = saved
    mapped = np.load(path, mmap_mode="r")[3:11_003]
    assert is_mapped(mapped)
    part = TopwolfClassifier(memory="4G", max_iter=3, tol=1e-9)
    same = TopwolfClassifier(max_iter=3, tol=1e-9)
    with pytest.warns(Warning):
        part.fit(mapped, y[3:11_003])
        same.fit(X[3:11_003], y[3:11_003])
    assert np.array_equal(part.coef_, same.coef_) and part.primal_ == same.primal_


def test_weights_and_two_classes(saved):
    path, X, y = saved
    weights = np.where(np.arange(len(y)) % 3 == 0, 2.0, 1.0)
    there = TopwolfClassifier(memory="80M").fit(np.load(path, mmap_mode="r"), y < 4, weights)
    here = TopwolfClassifier().fit(X, y < 4, weights)
    assert there.primal_ >= here.dual_ and here.primal_ >= there.dual_
    assert there.coef_.shape == (1, X.shape[1])


@pytest.mark.parametrize("change", ["columns", "copied", "private"])
def test_what_is_not_as_in_its_file_is_used_where_it_is(saved, change):
    path, X, y = saved
    mapped = np.load(path, mmap_mode="c" if change == "private" else "r")
    other = {"columns": lambda: mapped[:, :100], "copied": lambda: np.array(mapped), "private": lambda: mapped}[change]()
    assert not is_mapped(other)


def test_numbers_that_are_none_are_named(tmp_path):
    X, y = rows_of(200, 5, 2)
    X[150, 3] = np.inf
    np.save(tmp_path / "X.npy", X)
    with pytest.raises(ValueError, match="row 151, column 4"):
        TopwolfClassifier(memory="4G").fit(np.load(tmp_path / "X.npy", mmap_mode="r"), y)


def test_a_file_that_shrinks_is_an_os_error(saved, tmp_path):
    """Not a signal, which would end the interpreter."""
    path = tmp_path / "X.npy"
    path.write_bytes(saved[0].read_bytes())
    mapped = np.load(path, mmap_mode="r")

    def shrink(record):
        if record.iteration == 2:
            os.truncate(path, 1 << 20)

    with pytest.raises(OSError, match="the file (became shorter|was changed) while it was"):
        TopwolfClassifier(memory="85M", tol=1e-12).fit(mapped, saved[2], callback=shrink)


@pytest.mark.parametrize("memory", ["lots", "0", "-1", "1.5G", ""])
def test_memory_is_a_number_of_bytes(memory):
    with pytest.raises(ValueError, match="memory is"):
        TopwolfClassifier(memory=memory).fit([[0.0], [1.0]], [0, 1])


def test_bytes():
    assert [bytes_of(text) for text in (None, 7, "500", "20K", "3m", "8G")] == [None, 7, 500, 20 << 10, 3 << 20, 8 << 30]


def test_too_little_memory_is_a_memory_error(saved):
    with pytest.raises(MemoryError, match="memory of 0.* GB or more is needed"):
        TopwolfClassifier(memory="20M").fit(np.load(saved[0], mmap_mode="r"), saved[2])


@pytest.mark.parametrize("weighted", [False, True])
def test_batches_are_rows(weighted, tmp_path):
    X, y = rows_of(900, 7, 3)
    weights = np.linspace(0.5, 2.0, 900)
    order = np.random.default_rng(1).permutation(900)
    X, y, weights = X[order], y[order], weights[order]

    def batches():
        for begin in range(0, 900, 250):
            rows = slice(begin, begin + 250)
            yield (X[rows], y[rows], weights[rows]) if weighted else (X[rows], y[rows])

    streamed = TopwolfClassifier(memory="4G").fit_iter(batches, folder=tmp_path)
    plain = TopwolfClassifier().fit(X, y, weights if weighted else None)
    assert np.array_equal(streamed.coef_, plain.coef_) and streamed.primal_ == plain.primal_
    assert list(tmp_path.iterdir()) == []


def test_batches_must_go_together(tmp_path):
    def fit(*batches):
        TopwolfClassifier().fit_iter(lambda: batches, folder=tmp_path)

    with pytest.raises(ValueError, match="no rows"):
        fit()
    with pytest.raises(ValueError, match="batch 1 has X of shape"):
        fit((np.zeros((2, 3)), [0, 1]), (np.zeros((2, 4)), [0, 1]))
    with pytest.raises(ValueError, match="batch 0 has X of shape"):
        fit((np.zeros((2, 3)), [0, 1, 2]))
    with pytest.raises(ValueError, match="some batches have a sample_weight"):
        fit((np.zeros((2, 3)), [0, 1]), (np.zeros((2, 3)), [0, 1], [1.0, 1.0]))
    assert list(tmp_path.iterdir()) == []
