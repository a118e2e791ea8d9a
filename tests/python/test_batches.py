"""Rows that come in batches: fit_iter."""

import os
import subprocess
import sys

import numpy as np
import pandas as pd
import pytest
from scipy import sparse
from sklearn.exceptions import ConvergenceWarning

from topwolf import TopwolfClassifier

N, D = 900, 7
WHERE = {"dense": np.asarray, "float16": lambda X: X.astype(np.float16), "sparse": sparse.csr_matrix}


def rows_of(n=N, d=D, m=3, seed=0):
    rng = np.random.default_rng(seed)
    y = np.sort(np.arange(n) % m)
    return rng.normal(size=(n, d)) * (rng.random((n, d)) < 0.7) + rng.normal(size=(m, d))[y], y


def in_batches(*arrays, size=250):
    return [tuple(array[begin : begin + size] for array in arrays) for begin in range(0, arrays[0].shape[0], size)]


def same_optimum(a, b):
    assert a.primal_ >= b.dual_ and b.primal_ >= a.dual_ and a.relative_gap_ <= a.tol


@pytest.mark.parametrize("kind", WHERE)
@pytest.mark.parametrize("weighted", [False, True])
def test_batches_are_rows(kind, weighted, tmp_path):
    X, y = rows_of()
    X, labels = WHERE[kind](X), np.array(["ant", "bee", "cat"])[y]
    weights = np.linspace(0.5, 2.0, N)
    given = in_batches(X, labels, weights) if weighted else in_batches(X, labels)
    options = {"tol": 1e-6, "class_weight": "balanced" if weighted else None, "C": 0.1}
    clf = TopwolfClassifier(memory="4G", **options).fit_iter(lambda: given, folder=tmp_path)
    plain = TopwolfClassifier(**options).fit(X, labels, weights if weighted else None)
    same_optimum(clf, plain)
    np.testing.assert_allclose(clf.decision_function(X), plain.decision_function(X), atol=0.02)
    assert list(clf.classes_) == ["ant", "bee", "cat"] and clf.coef_.dtype == plain.coef_.dtype and clf.n_features_in_ == D
    assert os.listdir(tmp_path) == []


def test_the_same_batches_give_the_same_bits_on_any_number_of_threads():
    X, y = rows_of()
    fits = [TopwolfClassifier(n_jobs=n, memory="4G").fit_iter(lambda: in_batches(X, y)) for n in (1, 2)]
    assert np.array_equal(fits[0].coef_, fits[1].coef_) and fits[0].primal_ == fits[1].primal_
    other = TopwolfClassifier(memory="4G", random_state=1).fit_iter(lambda: in_batches(X, y))
    assert not np.array_equal(fits[0].coef_, other.coef_), "another order"
    same_optimum(other, fits[0])


def test_rows_are_shuffled_with_their_labels_and_weights(tmp_path):
    from topwolf._batches import collected

    X = np.arange(6000, dtype=np.float32).reshape(-1, 2)
    rows, y, weights = collected(TopwolfClassifier(), lambda: in_batches(X, X[:, 0].astype(int), X[:, 1]), tmp_path)
    assert os.listdir(tmp_path) == [], "the file has no name any more"
    order = y.classes[y.numbers]
    assert rows.shape == X.shape and sorted(order.tolist()) == X[:, 0].tolist() and np.array_equal(weights, order + 1)
    assert np.abs(np.diff(order)).mean() > 1000
    clf = TopwolfClassifier().fit(X[:2], [0, 1])
    again = np.column_stack([order, weights]).astype(np.float32)
    np.testing.assert_array_equal(clf.decision_function(rows), clf.decision_function(again))


PEAK = """
import numpy as np
from topwolf import TopwolfClassifier

def batches():
    means = np.random.default_rng(0).standard_normal((8, 800), dtype=np.float32)
    for label in range(8):  # sorted by class
        rng = np.random.default_rng(label + 1)
        for _ in range(7):
            yield rng.standard_normal((1000, 800), dtype=np.float32) / 28 + 0.03 * means[label], np.full(1000, label)

clf = TopwolfClassifier(memory="350M", tol=0.02, C=0.1).fit_iter(batches)
assert "on disk" in clf.solver_choice_, clf.solver_choice_
print(next(int(line.split()[1]) for line in open("/proc/self/status") if line.startswith("VmHWM")))
"""


def test_the_process_stays_below_its_bound():
    """179 MB of rows, in a process that has 220 MB before it begins."""
    done = subprocess.run([sys.executable, "-c", PEAK], capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    assert 1024 * int(done.stdout) < 350 << 20


class Enough(Exception):
    pass


def test_what_the_iterator_raises_comes_through_and_leaves_nothing(tmp_path):
    X, y = rows_of()
    finished = []

    def batches():
        try:
            yield X[:300], y[:300]
            raise Enough("no more")
        finally:
            finished.append(True)

    clf = TopwolfClassifier().fit(X, y)
    before = clf.coef_
    with pytest.raises(Enough, match="no more"):
        clf.fit_iter(batches, folder=tmp_path)
    assert finished and os.listdir(tmp_path) == [] and clf.coef_ is before
    with pytest.raises(Enough):
        clf.fit_iter(lambda: in_batches(X, y), folder=tmp_path, callback=lambda record: (_ for _ in ()).throw(Enough))
    assert os.listdir(tmp_path) == []


def test_batches_are_gone_through_once():
    X, y = rows_of()
    asked = []
    TopwolfClassifier().fit_iter(lambda: asked.append(1) or iter(in_batches(X, y)))
    assert asked == [1]


A, B = np.zeros((2, 3)), [0, 1]


@pytest.mark.parametrize(
    "batches, saying",
    [
        ([], "gave no rows"),
        ([(A, B), (np.zeros((2, 4)), B)], r"Batch 1 \(counted from 0\): X has 4 features, but TopwolfClassifier is expecting 3"),
        ([(A, [0, 1, 2])], r"Batch 0 .*inconsistent numbers of samples: \[2, 3\]"),
        ([(A, B), (A, B, B)], "Batch 1 .*it has a sample_weight, unlike"),
        ([(A, B, [1, 1]), (A, B)], "Batch 1 .*it has no sample_weight, unlike"),
        ([(A, B, [1, -1])], "Batch 0 .*[Nn]egative"),
        ([(A, B), (A, ["a", "b"])], "Batch 1 .*labels of type <U1"),
        ([(A, [0.5, 1.5])], "Batch 0 .*continuous"),
        ([(A, B), (A + np.nan, B)], "Batch 1 .*contains NaN"),
        ([(A.astype(np.float16), B), (A + 1e9, B)], "Batch 1 .*too large for float16"),
        ([(A, B), (sparse.csr_matrix(A), B)], "Batch 1 .*sparse, but"),
        ([A], "Batch 0 .*is not a pair"),
        ([(A, B, B, B)], "Batch 0 .*is not a pair"),
        ([(A[0], B)], "Batch 0 .*Expected 2D array"),
        ([(A, [1, 1])], "only one class"),
    ],
)
def test_batches_that_do_not_go_together(batches, saying, tmp_path):
    with pytest.raises(ValueError, match=saying):
        TopwolfClassifier().fit_iter(lambda: batches, folder=tmp_path)
    assert os.listdir(tmp_path) == []


def test_what_is_no_iterable_of_batches(tmp_path):
    with pytest.raises(TypeError, match="make_batches must be callable"):
        TopwolfClassifier().fit_iter([(A, B)])
    with pytest.raises(TypeError, match="returned int, which is not iterable"):
        TopwolfClassifier().fit_iter(lambda: 3)
    with pytest.raises(FileNotFoundError):
        TopwolfClassifier().fit_iter(lambda: [(A, B)], folder=tmp_path / "none")
    for memory, error in {"x": ValueError, "1M": MemoryError}.items():
        with pytest.raises(error, match=f"memory is '{memory}'"):
            TopwolfClassifier(memory=memory).fit_iter(lambda: pytest.fail("asked for batches before"))


FULL = """
import resource, signal, sys
import numpy as np
from topwolf import TopwolfClassifier
signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
resource.setrlimit(resource.RLIMIT_FSIZE, (1 << 20, 1 << 20))
try:
    TopwolfClassifier().fit_iter(lambda: ((np.ones((1000, 100)), np.arange(1000) % 2) for _ in range(5)), folder=sys.argv[1])
except OSError as error:
    print("refused:", error)
"""


def test_a_full_disk_is_an_error_that_leaves_nothing(tmp_path):
    done = subprocess.run([sys.executable, "-c", FULL, tmp_path], capture_output=True, text=True)
    assert done.stdout.startswith("refused:"), done
    assert os.listdir(tmp_path) == []


def test_ctrl_c_while_batches_come_leaves_nothing(tmp_path):
    def batches():
        yield A, B
        raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        TopwolfClassifier().fit_iter(batches, folder=tmp_path)
    assert os.listdir(tmp_path) == []


def test_names_of_columns_in_batches():
    X, y = rows_of()
    frame = pd.DataFrame(X, columns=list("abcdefg"))
    clf = TopwolfClassifier().fit_iter(lambda: in_batches(frame, y))
    assert list(clf.feature_names_in_) == list("abcdefg")
    with pytest.raises(ValueError, match="Batch 1 .*feature names should match"):
        TopwolfClassifier().fit_iter(lambda: [(frame[:300], y[:300]), (frame[:300].rename(columns={"a": "z"}), y[:300])])


def test_a_fit_that_does_not_converge_warns():
    with pytest.warns(ConvergenceWarning, match="max_iter=1 passes"):
        TopwolfClassifier(max_iter=1, tol=1e-9).fit_iter(lambda: in_batches(*rows_of()))


def test_callbacks_of_scikit_learn_see_the_rows_and_their_labels():
    X, y = rows_of()
    seen = []

    class Watcher:
        def setup(self, estimator, context):
            pass

        teardown = on_fit_task_begin = setup

        def on_fit_task_end(self, estimator, context, *, X, y, fitted_estimator):
            seen.append(fitted_estimator.score(X, y))

    clf = TopwolfClassifier(C=0.1).set_callbacks(Watcher()).fit_iter(lambda: in_batches(X, np.array(["ant", "bee", "cat"])[y]))
    assert len(seen) == clf.n_iter_ + 1 and seen[-1] == clf.score(X, np.array(["ant", "bee", "cat"])[y])
