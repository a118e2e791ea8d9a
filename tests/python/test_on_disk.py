"""Rows that stay in their files: of a memory map, or given by name."""

import os
import subprocess
import sys

import numpy as np
import pytest
from scipy import sparse

import topwolf
from topwolf import TopwolfClassifier, TopwolfClassifierCV, _on_disk, probe
from topwolf._features import RowsOnDisk
from topwolf._on_disk import bytes_of, on_disk

N, D, M = 50_000, 800, 8
BOUND = "340M"  # the file of `saved` has 160 MB, Python itself about 220
NAMES = np.array(["ant", "bee", "cat", "dog", "eel", "fox", "gnu", "hen"])


def rows_of(n, d=6, m=3, seed=0):
    """Sorted by class, as files are."""
    rng = np.random.default_rng(seed)
    y = np.sort(np.arange(n) % m)
    X = rng.standard_normal((n, d), dtype=np.float32) + 0.3 * rng.standard_normal((m, d), dtype=np.float32)[y]
    return X / np.linalg.norm(X, axis=1, keepdims=True), y


@pytest.fixture(scope="module")
def saved(tmp_path_factory):
    X, y = rows_of(N, D, M)
    folder = tmp_path_factory.mktemp("mapped")
    np.save(folder / "X.npy", X)
    np.save(folder / "y.npy", y)
    return folder / "X.npy", X, y


@pytest.fixture
def small(tmp_path, monkeypatch):
    """A folder with 600 rows: X.npy, y.npy, and both in three parts. What is read in its file otherwise only where it is large."""
    monkeypatch.setattr(_on_disk, "_SMALL", 0)
    X, y = rows_of(600)
    np.save(tmp_path / "X.npy", X)
    np.save(tmp_path / "y.npy", y)
    for part in range(3):
        np.save(tmp_path / f"emb_{part}.npy", X[200 * part : 200 * (part + 1)])
        np.save(tmp_path / f"labels_{part}.npy", y[200 * part : 200 * (part + 1)])
    return tmp_path, X, y


def mapped(path):
    return np.load(path, mmap_mode="r")


PEAK = """
import sys
import numpy as np
from topwolf import TopwolfClassifier

X, y = sys.argv[1], np.load(sys.argv[2])
X = np.load(X, mmap_mode="r") if sys.argv[3] == "map" else X
clf = TopwolfClassifier(memory=sys.argv[4], tol=0.02, C=0.3, n_jobs=int(sys.argv[5])).fit(X, y)
assert "on disk" in clf.solver_choice_, clf.solver_choice_
assert clf.top_k_error(X, y, k=2) < 0.2 and len(clf.predict(X)) == len(y)
assert clf.decision_function(X).shape == (len(y), 8)
print(next(int(line.split()[1]) for line in open("/proc/self/status") if line.startswith("VmHWM")))
print(clf.coef_.tobytes().hex()[:2000], clf.primal_)
"""


@pytest.mark.parametrize("kind", ["map", "name"])
def test_the_process_stays_below_its_bound_and_its_bits_are_those_of_any_number_of_threads(saved, kind):
    told = []
    for threads in "12":
        command = [sys.executable, "-c", PEAK, saved[0], saved[0].parent / "y.npy", kind, BOUND, threads]
        done = subprocess.run(command, capture_output=True, text=True)
        assert done.returncode == 0, done.stderr
        peak, found = done.stdout.split("\n", 1)
        assert 1024 * int(peak) < bytes_of(BOUND), f"{peak} kB with {threads} threads"
        told.append(found)
    assert told[0] == told[1]


def test_the_optimum_is_that_of_rows_in_memory(saved):
    path, X, y = saved
    weights = np.where(np.arange(N) % 3 == 0, 2.0, 1.0)
    options = {"center": True, "class_weight": "balanced", "tol": 1e-2, "loss": "top_k", "k": 2}
    there = TopwolfClassifier(memory=BOUND, **options).fit(mapped(path), NAMES[y], weights)
    here = TopwolfClassifier(**options).fit(X, NAMES[y], weights)
    assert "on disk" in there.solver_choice_ and "on disk" not in here.solver_choice_
    assert there.primal_ >= here.dual_ and here.primal_ >= there.dual_
    assert there.relative_gap_ <= 1e-2 and list(there.classes_) == list(here.classes_)


def test_two_classes(saved):
    path, X, y = saved
    options = {"tol": 1e-2, "C": 0.1}
    there, here = TopwolfClassifier(memory=BOUND, **options).fit(mapped(path), y < 4), TopwolfClassifier(**options).fit(X, y < 4)
    assert "on disk" in there.solver_choice_
    assert there.primal_ >= here.dual_ and here.primal_ >= there.dual_
    assert there.coef_.shape == (1, D)


@pytest.mark.parametrize("dtype", [np.float16, np.float32, np.float64])
def test_rows_that_fit_are_loaded_to_the_same_bits(small, dtype):
    folder, X, y = small
    X = X.astype(dtype)
    np.save(folder / "X.npy", X)
    part = mapped(folder / "X.npy")[3:500]
    assert isinstance(on_disk(part), RowsOnDisk)
    there, here = TopwolfClassifier(memory="4G").fit(part, y[3:500]), TopwolfClassifier().fit(X[3:500], y[3:500])
    assert np.array_equal(there.coef_, here.coef_) and there.primal_ == here.primal_ and there.coef_.dtype == here.coef_.dtype
    by_name = TopwolfClassifier().fit(folder / "X.npy", y)
    assert np.array_equal(by_name.coef_, TopwolfClassifier().fit(X, y).coef_)
    assert np.array_equal(by_name.decision_function(folder / "X.npy"), by_name.decision_function(X))
    assert np.array_equal(by_name.decision_function(mapped(folder / "X.npy")), by_name.decision_function(X))


def test_files_by_name(small):
    folder, X, y = small
    expected = TopwolfClassifier("usunier", k=2).fit(X, NAMES[y])
    lines = folder / "y.txt"
    lines.write_text("\n".join(NAMES[y]) + "\n")
    parts = [folder / f"emb_{part}.npy" for part in range(3)]
    for given in [(str(folder / "X.npy"), lines), (folder / "emb_*.npy", NAMES[y]), (parts, str(lines))]:
        clf = TopwolfClassifier("usunier", k=2).fit(*given, eval_set=[(folder / "X.npy", NAMES[y])])
        assert np.array_equal(clf.coef_, expected.coef_) and list(clf.classes_) == list(expected.classes_)
        assert clf.evals_result_["validation_0"]["top_1_error"][-1] == 1.0 - clf.score(folder / "emb_*.npy", NAMES[y])
    clf = TopwolfClassifier().fit(parts, [folder / f"labels_{part}.npy" for part in range(3)])
    assert clf.classes_.tolist() == [0, 1, 2] and clf.classes_.dtype == np.int64 and clf.n_features_in_ == 6
    assert np.array_equal(clf.predict(X), clf.predict(parts))


@pytest.mark.program
def test_a_cache_has_its_labels(small):
    folder, X, y = small
    for name in "ab":
        rows = slice(0, 300) if name == "a" else slice(300, 600)
        np.save(folder / f"{name}.npy", X[rows])
        np.save(folder / f"{name}_y.npy", y[rows])
        command = [os.environ["TOPWOLF_BIN"], "convert", f"{name}.npy", f"{name}.twd", "--labels", f"{name}_y.npy"]
        subprocess.run(command, cwd=folder, check=True)
    clf = TopwolfClassifier(memory="4G").fit([folder / "a.twd", folder / "b.twd"])
    assert np.array_equal(clf.coef_, TopwolfClassifier().fit(X, y).coef_)
    assert TopwolfClassifier().fit(folder / "a.twd", 1 - (y[:300] > 0)).classes_.tolist() == [0, 1]
    assert np.array_equal(clf.predict(folder / "b.twd"), clf.predict(X[300:]))


def test_numbers_of_other_types_are_those_of_an_array(small):
    folder, X, y = small
    for array in ((100 * X).astype(np.int16), X.astype(">f8"), X > 0):
        np.save(folder / "X.npy", array)
        there, here = (TopwolfClassifier(C=1e-3).fit(rows, y) for rows in (folder / "X.npy", array))
        assert np.array_equal(there.coef_, here.coef_) and there.coef_.dtype == np.float64
    np.save(folder / "emb_1.npy", X[200:400] * np.float64(1.1))
    both = np.concatenate([X[:200], X[200:400] * np.float64(1.1), X[400:]])
    assert np.array_equal(TopwolfClassifier().fit(folder / "emb_*.npy", y).coef_, TopwolfClassifier().fit(both, y).coef_)


def refused(X, y, error=ValueError, saying="", **parameters):
    with pytest.raises(error, match=saying):
        TopwolfClassifier(**{"memory": "4G", **parameters}).fit(X, y)


def test_a_map_that_is_not_as_its_file_is_refused(small):
    folder, X, y = small
    path = folder / "X.npy"
    refused(mapped(path)[:, :3], y, saying="memory='4G'.*rows one after the other")
    refused(np.load(path, mmap_mode="c"), y, saying="has changes of its own")
    np.save(folder / "i.npy", np.ones((600, 3), np.int32))
    refused(mapped(folder / "i.npy"), y, saying="numbers of type int32")
    held = mapped(path)
    np.save(folder / "other.npy", X + 1)
    os.replace(folder / "other.npy", path)
    refused(held, y, saying="removed or replaced")
    clf = TopwolfClassifier().fit(X, y)
    assert np.array_equal(clf.decision_function(held), clf.decision_function(X)), "the map, not what has its name now"
    os.rename(path, folder / "moved.npy")
    assert np.array_equal(clf.decision_function(held), clf.decision_function(X))


def test_a_map_that_was_moved_is_read_where_it_is(small):
    folder, X, y = small
    held = mapped(folder / "X.npy")
    os.rename(folder / "X.npy", folder / " new\r\n\u017c[1] .npy ")
    np.save(folder / "X.npy", X + 1)
    assert np.array_equal(TopwolfClassifier(memory="4G").fit(held, y).coef_, TopwolfClassifier().fit(X, y).coef_)


def test_what_was_just_written_to_a_map_counts(small):
    folder, X, y = small
    held = np.load(folder / "X.npy", mmap_mode="r+")
    held[:] = X + 1
    assert np.array_equal(TopwolfClassifier(memory="4G").fit(held, y).coef_, TopwolfClassifier().fit(X + 1, y).coef_)


def test_numbers_that_are_none_are_named(small):
    folder, X, y = small
    X[150, 3] = np.inf
    np.save(folder / "X.npy", X)
    refused(mapped(folder / "X.npy"), y, saying=r"row 151, column 4 \(counted from 1\)")
    clf = TopwolfClassifier().fit(np.nan_to_num(X, posinf=0), y)
    with pytest.raises(ValueError, match="row 151, column 4"):
        clf.predict(folder / "X.npy")
    with pytest.raises(ValueError, match="row 151, column 4"):
        clf.predict_top_k(mapped(folder / "X.npy"), k=2)


def test_a_file_that_shrinks_is_an_error(saved, tmp_path):
    """Not a signal, which would end the interpreter."""
    path = tmp_path / "X.npy"
    path.write_bytes(saved[0].read_bytes())
    held = mapped(path)

    def shrink(record):
        if record.iteration == 2:
            os.truncate(path, 1 << 20)

    clf = TopwolfClassifier(memory=BOUND, tol=1e-12)
    with pytest.raises(OSError, match="X.npy: the file (became shorter|was changed) while it was"):
        clf.fit(held, saved[2], callback=shrink)
    with pytest.raises(OSError, match="X.npy: the file has 1048576 bytes, but the array needs"):
        clf.fit(held, saved[2])
    assert not hasattr(clf, "coef_")


@pytest.mark.parametrize("memory", ["lots", "0", "-1", "1.5G", "", 0, -3, "99999999999999G"])
def test_memory_is_a_number_of_bytes(memory):
    refused([[0.0], [1.0]], [0, 1], saying="memory", memory=memory)


def test_a_few_rows_of_a_map_are_predicted_where_they_are(saved):
    whole = mapped(saved[0])
    assert on_disk(whole[:10]) is not whole and isinstance(on_disk(whole[:10]), np.memmap)
    assert isinstance(on_disk(whole[:400]), RowsOnDisk)


def test_bytes():
    assert [bytes_of(text) for text in (None, 7, "500", "20K", "3m", "8G")] == [None, 7, 500, 20 << 10, 3 << 20, 8 << 30]


def test_too_little_memory_says_how_much_is_needed(saved):
    with pytest.raises(MemoryError, match="memory of 0.* GB or more is needed") as raised:
        TopwolfClassifier(memory="270M").fit(mapped(saved[0]), saved[2])
    enough = str(raised.value).split("memory of ")[1].split(" GB")[0]
    with pytest.warns(topwolf._estimator.ConvergenceWarning):
        TopwolfClassifier(memory=int(float(enough) * 1e9), max_iter=1).fit(mapped(saved[0]), saved[2])
    for memory in ("100M", 280_000_000):
        refused(*saved[1:], MemoryError, saying=f"memory is {memory!r}, but Python and its packages alone are counted as 280 MB", memory=memory)


def test_what_needs_the_rows_in_memory_says_so(saved):
    options = {"memory": BOUND, "class_features": np.eye(M) + 0.1}
    refused(mapped(saved[0]), saved[2], saying="class features need the rows in memory", **options)


def test_what_does_not_go_together_is_refused(small):
    folder, X, y = small
    path = folder / "X.npy"
    refused(path, y[:-1], saying=r"inconsistent numbers of samples: \[600, 599\]")
    refused(path, None, saying="X.npy has no labels")
    refused(path, folder / "labels_0.npy", saying="there are 200 labels for the 600 rows")
    refused(path, np.zeros(600), saying="only one class")
    refused(path, y + 0.5, saying="continuous")
    refused(folder / "none.npy", y, FileNotFoundError, saying="none.npy")
    refused(folder / "none_*.npy", y, OSError, saying="no file matches")
    np.save(folder / "wide.npy", np.ones((5, 7), np.float32))
    refused([path, folder / "wide.npy"], y, saying="the rows have 7 features, but those of .*X.npy have 6")
    (folder / "x.svm").write_text("1 1:1\n2 1:2\n")
    refused(folder / "x.svm", [1, 2], saying=r"only the rows of .npy and .twd files can stay on disk \(memory\)")
    clf = TopwolfClassifier().fit(path, y)
    with pytest.raises(ValueError, match="X has 7 features, but TopwolfClassifier is expecting 6"):
        clf.predict(folder / "wide.npy")
    with pytest.raises(ValueError, match="y must be|y to be passed|requires y"):
        TopwolfClassifier().fit(X)
    with pytest.raises(ValueError, match="probe takes no memory"):
        probe(X, y, X, y, memory="4G")
    with pytest.raises(ValueError, match="here they must be in memory"):
        TopwolfClassifierCV(cv=2).fit(path, y)
    assert not hasattr(TopwolfClassifierCV(), "fit_iter")


def test_sparse_rows_and_lists_of_text_are_no_files():
    X = sparse.csr_matrix(np.eye(4))
    clf = TopwolfClassifier(memory="1G").fit(X, ["a", "b", "a", "b"])
    assert clf.predict(X).tolist() == ["a", "b", "a", "b"]
