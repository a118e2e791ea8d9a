"""What stands in an estimator is of one fit, and true of what stands there, whatever else goes on in the process."""

import copy
import ctypes
import ctypes.util
import pickle
import platform
import subprocess
import sys
import threading
import time
from fractions import Fraction

import numpy as np
import pytest
from scipy import sparse

from topwolf import TopwolfClassifier, TopwolfClassifierCV, TopwolfJointClassifier, _core, load

pytestmark = pytest.mark.filterwarnings("ignore::sklearn.exceptions.ConvergenceWarning")


def rows(n=40, seed=0):
    y = np.arange(n) % 2
    X = np.random.default_rng(seed).normal(size=(n, 3))
    X[:, 0] += np.where(y, 3, -3)
    return X, y


REFUSED = {
    "weights": dict(sample_weight=-np.ones(40)),
    "margins": dict(margins=np.ones((40, 3))),
    "eval_set": dict(eval_set=[1]),
}


@pytest.mark.parametrize("refused", REFUSED)
def test_a_fit_that_fails_leaves_the_last_one_whole(refused):
    X, y = rows()
    clf = TopwolfClassifier().fit(X, y)
    before = vars(clf).copy()
    with pytest.raises((ValueError, TypeError)):
        clf.fit(np.hstack([X, X]), np.where(y, "a", "z"), **REFUSED[refused])
    assert vars(clf).keys() == before.keys()
    assert all(vars(clf)[name] is value for name, value in before.items())


@pytest.mark.parametrize("parameter", [{"k": 7, "loss": "top_k"}, {"cost_matrix": np.ones((2, 2))}, {"class_features": np.eye(5)}])
def test_a_parameter_that_is_refused_leaves_the_last_fit_whole(parameter):
    X, y = rows()
    for clf in (TopwolfClassifier().fit(X, y), TopwolfClassifierCV([1.0], cv=2).fit(X, y)):
        names = clf._FITTED
        before = {name: value for name, value in vars(clf).items() if name in names}
        with pytest.raises(ValueError):
            clf.set_params(**parameter).fit(X, np.where(y, "a", "z"))
        after = {name: value for name, value in vars(clf).items() if name in names}
        assert after.keys() == before.keys() and all(after[name] is value for name, value in before.items())


def test_a_search_without_a_fit_leaves_nothing_of_an_earlier_one(tmp_path):
    X, y = rows()
    clf = TopwolfClassifierCV([1.0], cv=2).fit(X, np.where(y, "b", "c"))
    clf.set_params(refit=False, Cs=[100.0]).fit(X, np.where(y, "z", "a"))
    assert clf.classes_.tolist() == ["a", "z"] and clf.C_ == 100.0
    for name in ("coef_", "intercept_", "primal_", "dual_", "relative_gap_", "status_", "trace_"):
        assert not hasattr(clf, name), name
    with pytest.raises(ValueError, match="not fitted"):
        clf.save(tmp_path / "m")


def test_what_a_callback_does_to_the_estimator_is_undone():
    X, y = rows()
    other = np.where(y, "a", "z")
    expected = TopwolfClassifier().fit(X, y)

    def meddle(record):
        if record.iteration == 1:
            clf.fit(X[:, :2], other)
        clf.classes_ = np.array(["x", "y"])
        clf.set_params(C=50.0)

    clf = TopwolfClassifier()
    clf.fit(X, y, callback=meddle)
    assert clf.classes_.tolist() == [0, 1] and clf.n_features_in_ == 3
    np.testing.assert_array_equal(clf.coef_, expected.coef_)
    assert (clf.primal_, clf.dual_, clf.status_) == (expected.primal_, expected.dual_, "converged")
    assert "C=50" not in clf._provenance["command"]


@pytest.mark.parametrize("kind", [TopwolfClassifier, TopwolfClassifierCV])
def test_classes_cannot_be_renamed_under_the_certificate(kind, tmp_path):
    X, y = rows()
    clf = kind().fit(X, np.where(y, "b", "c"))
    for fitted in (clf, pickle.loads(pickle.dumps(clf)), copy.deepcopy(clf)):
        with pytest.raises(ValueError, match="read-only"):
            fitted.classes_[:] = fitted.classes_[::-1].copy()
        assert fitted.primal_ == clf.primal_
    clf.classes_ = clf.classes_[::-1].copy()
    clf.save(tmp_path / "renamed.topwolf")
    assert not hasattr(clf, "primal_") and not hasattr(load(tmp_path / "renamed.topwolf"), "primal_")


def test_weights_of_a_psi_cannot_be_changed_under_the_certificate():
    psi = np.random.default_rng(0).normal(size=(40, 3, 4))
    clf = TopwolfJointClassifier().fit(psi, np.arange(40) % 3)
    for fitted in (clf, pickle.loads(pickle.dumps(clf))):
        with pytest.raises(ValueError, match="read-only"):
            fitted.coef_[:] = 0.0
        assert fitted.primal_ == clf.primal_
    clf.coef_ = np.zeros(4)
    assert not hasattr(clf, "primal_")


def test_attributes_may_be_assigned_in_other_forms():
    X, y = rows()
    clf = TopwolfClassifier().fit(X, y)
    wanted = X @ clf.coef_[0] + 0.5
    for value in ([0.5], 0.5, np.float32([0.5])):
        clf.intercept_ = value
        np.testing.assert_allclose(clf.decision_function(X), wanted, rtol=1e-12)
    clf.coef_ = sparse.coo_matrix(clf.coef_)
    np.testing.assert_allclose(clf.decision_function(X), wanted, rtol=1e-12)


def test_an_exception_of_a_callback_leaves_what_was_found():
    X, y = rows()
    clf = TopwolfClassifier().fit(X, y)
    with pytest.raises(ZeroDivisionError):
        clf.fit(X[:, :2], y, callback=lambda record: 1 / 0)
    assert clf.n_features_in_ == 2 and clf.status_ == "interrupted" and clf.primal_ >= clf.dual_


def test_indices_that_a_scorer_overwrites_are_not_followed():
    X = sparse.random(300, 40, 0.1, "csr", random_state=0)
    y = np.arange(300) % 3
    expected = TopwolfClassifierCV([1.0], cv=2, scoring=lambda clf, X, y: clf.score(X, y)).fit(X, y)
    mine = X.copy()

    def overwrite(clf, X, y):
        mine.indices[:] = 10**9
        mine.indptr[1:] = 10**9
        return clf.score(X, y)

    found = TopwolfClassifierCV([1.0], cv=2, scoring=overwrite).fit(mine, y)
    np.testing.assert_array_equal(found.coef_, expected.coef_)
    np.testing.assert_array_equal(found.scores_, expected.scores_)


@pytest.mark.parametrize("index", [np.int32, np.int64])
def test_indices_that_a_callback_overwrites_are_not_followed(index):
    X = sparse.random(300, 40, 0.1, "csr", random_state=0)
    y = np.arange(300) % 3
    X.indices, X.indptr = X.indices.astype(index), X.indptr.astype(index)
    expected = TopwolfClassifier(tol=1e-6).fit(X, y)
    held_out = X.copy()

    def overwrite(record):
        for mine in (X, held_out):
            mine.indices[:] = 10**9
            mine.indptr[1:] = 10**9

    clf = TopwolfClassifier(tol=1e-6).fit(X, y, callback=overwrite, eval_set=[(held_out, y)])
    np.testing.assert_array_equal(clf.coef_, expected.coef_)
    assert clf.primal_ == expected.primal_ and len(clf.evals_result_["validation_0"]["top_1_error"]) == clf.n_iter_


def test_two_threads_that_fit_one_estimator_do_not_mix():
    X, y = rows(400)
    data = [(X, y), (np.hstack([X, X[:, :1]]), np.where(y, "a", "z"))]
    expected = {TopwolfClassifier().fit(*each).n_features_in_: TopwolfClassifier().fit(*each) for each in data}
    clf = TopwolfClassifier()
    stop = threading.Event()

    failed = []

    def fit(each):
        try:
            while not stop.is_set():
                clf.fit(*each)
        except Exception as error:
            failed.append(error)

    threads = [threading.Thread(target=fit, args=(each,)) for each in data]
    for thread in threads:
        thread.start()
    seen, end = set(), time.monotonic() + 2.0
    while time.monotonic() < end or (not seen and time.monotonic() < end + 30):
        time.sleep(1e-4)
        now = vars(clf).copy()
        if "coef_" in now:
            one = expected[now["n_features_in_"]]
            seen.add(now["n_features_in_"])
            assert now["classes_"].tolist() == one.classes_.tolist()
            assert now["coef_"].shape == one.coef_.shape and now["primal_"] == one.primal_ and now["dual_"] == one.dual_
    stop.set()
    for thread in threads:
        thread.join()
    assert seen and not failed


def test_a_joint_fit_that_fails_leaves_the_last_one_whole():
    psi = np.zeros((2, 3, 4))
    psi[0, 0] = psi[1, 1] = [1, 0, 0, 0]
    clf = TopwolfJointClassifier(C=10).fit(psi, [0, 1])
    before = vars(clf).copy()
    with pytest.raises(ValueError):
        clf.fit(psi[:, :, :2], [0, 1], sample_weight=[-1, 1])
    assert all(vars(clf)[name] is value for name, value in before.items())


def test_every_attribute_of_a_fit_is_known_as_one():
    X, y = rows()
    psi = np.random.default_rng(0).normal(size=(10, 3, 4))
    phi = TopwolfClassifier(class_features=np.eye(2)).fit(X, y, eval_set=[(X, y)])
    for clf in (phi, TopwolfClassifierCV([1.0], cv=2).fit(X, y), TopwolfJointClassifier().fit(psi, np.arange(10) % 3)):
        assert set(vars(clf)) - set(clf.get_params()) <= clf._FITTED


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
@pytest.mark.parametrize("m", [2, 3])
@pytest.mark.parametrize("B", [1000.0, 0.1, 3e5, 1e-3])
def test_the_certificate_holds_for_the_intercept_as_it_stands(dtype, m, B):
    rng = np.random.default_rng(m)
    y = np.arange(19) % m
    X = (rng.normal(size=(19, 1)) * 1e-2 + y[:, None]).astype(dtype)
    for C in (0.93, 50.0):
        clf = TopwolfClassifier(C=C, intercept_scaling=B, tol=1e-7, max_iter=300).fit(X, y)
        W = [[Fraction(float(v)) for v in row] for row in clf.coef_]
        b = [Fraction(float(v)) for v in clf.intercept_]
        if m == 2:
            W, b = [[-v / 2 for v in W[0]], [v / 2 for v in W[0]]], [-b[0] / 2, b[0] / 2]
        squares = sum(v * v for row in W for v in row) + sum((v / Fraction(B)) ** 2 for v in b)
        loss = Fraction(0)
        for x, label in zip(X, y):
            s = [sum(w * Fraction(float(v)) for w, v in zip(row, x)) + c for row, c in zip(W, b)]
            loss += max(Fraction(int(j != label)) + s[j] - s[label] for j in range(m))
        P = squares / (2 * Fraction(C) * 19) + loss / 19
        assert Fraction(clf.primal_) >= P * (1 - Fraction(1, 10**13))


def test_the_intercept_that_is_predicted_with_is_the_one_that_is_saved(tmp_path):
    X, y = rows()
    clf = TopwolfClassifier(intercept_scaling=0.3).fit(X.astype(np.float32), y)
    assert clf.intercept_.dtype == np.float64 and clf.coef_.dtype == np.float32
    clf.save(tmp_path / "m.topwolf")
    again = TopwolfClassifier.load(tmp_path / "m.topwolf")
    np.testing.assert_array_equal(again.intercept_, clf.intercept_)
    assert (again.primal_, again.dual_) == (clf.primal_, clf.dual_)
    np.testing.assert_array_equal(again.decision_function(X), clf.decision_function(X))


# Where the C library's fenv_t keeps the processor's mode, and the bits by which it flushes subnormal numbers.
MODES = {"x86_64": (28, 0x8040), "aarch64": (0, 1 << 24)}


@pytest.fixture
def flushing():
    """This thread as a library linked with -ffast-math leaves it: subnormal numbers are 0."""
    at, flush = MODES[platform.machine()]
    libm = ctypes.CDLL(ctypes.util.find_library("m"))
    before = ctypes.create_string_buffer(64)
    libm.fegetenv(before)

    def set_mode():
        mode = ctypes.create_string_buffer(before.raw)
        word = ctypes.c_uint32.from_buffer(mode, at)
        word.value |= flush
        libm.fesetenv(mode)

    yield set_mode
    libm.fesetenv(before)


@pytest.mark.parametrize("solver", ["block", "newton", "apg", "lsfw"])
@pytest.mark.parametrize("threads", [1, 2])
def test_subnormal_numbers_count_whatever_the_process_has_loaded(flushing, solver, threads, tmp_path):
    tiny = np.array([[1e-40], [-1e-40], [2e-40]], np.float32)
    large = np.array([[2.0], [-3.0], [1.0]], np.float32) * np.float32(1e30)
    fits = [(TopwolfClassifier(C=1e80, fit_intercept=False, solver=solver, max_iter=200, n_jobs=threads), tiny)]
    fits += [(TopwolfClassifier(C=1e-69, fit_intercept=False, solver=solver, max_iter=50, n_jobs=threads), large)]
    for clf, X in fits:
        expected = clf.fit(X, [0, 1, 2])
        expected = {**vars(expected), "scores": expected.decision_function(X)}
        clf.save(tmp_path / "expected")
        flushing()
        assert np.float64(1e-310) * np.float64(1) == 0
        clf.fit(X, [0, 1, 2])
        clf.save(tmp_path / "found")
        scores = clf.decision_function(X)
        loaded = TopwolfClassifier.load(tmp_path / "expected")
        assert np.float64(1e-310) * np.float64(1) == 0  # as the caller had it
        with _core.IeeeArithmetic():
            assert (clf.primal_, clf.dual_) == (expected["primal_"], expected["dual_"])
            for one in (clf, loaded):
                assert one.coef_.tobytes() == expected["coef_"].tobytes()
            assert scores.tobytes() == expected["scores"].tobytes()


DAEMON = """
import sys, threading, time, warnings
import numpy as np
warnings.simplefilter("ignore")
from topwolf import TopwolfClassifier, TopwolfClassifierCV
X = np.random.default_rng(0).normal(size=(1000, 50)).astype(np.float32)
y = np.arange(1000) % 50
callback = {"callback": lambda record: None, "sleep": lambda record: time.sleep(0.001)}.get(sys.argv[1])
fitted = TopwolfClassifier(max_iter=1, n_jobs=1).fit(X, y)

def work():
    while True:
        if sys.argv[1] == "predict":
            fitted.predict(X)
        elif sys.argv[1] == "search":
            TopwolfClassifierCV([1.0, 10.0], cv=2, scoring="f1_macro", n_jobs=1).fit(X, y)
        else:
            TopwolfClassifier(C=100, tol=1e-12, max_iter=2 if sys.argv[1] == "short" else 10**6, n_jobs=1).fit(X, y, callback=callback)

for _ in range(2):
    threading.Thread(target=work, daemon=True).start()
time.sleep(0.3)
print("the end", flush=True)
"""


@pytest.mark.parametrize("kind", ["fit", "short", "callback", "sleep", "predict", "search"])
def test_python_ends_quietly_while_a_daemon_thread_is_at_work(kind):
    for _ in range(2):
        done = subprocess.run([sys.executable, "-c", DAEMON, kind], capture_output=True, text=True, timeout=60)
        assert (done.returncode, done.stdout, done.stderr) == (0, "the end\n", "")


@pytest.mark.parametrize("solver", ["block", "newton", "lsfw", "apg"])
def test_margins_and_class_features_are_those_of_the_beginning(solver):
    rng = np.random.default_rng(0)
    y = np.arange(40) % 4
    X = rng.normal(size=(40, 3))
    margins = np.ones((40, 4))
    margins[np.arange(40), y] = 0
    phi = np.eye(4)
    for parameters, fit, mine in (({}, {"margins": margins}, margins), ({"class_features": phi}, {}, phi)):
        clf = TopwolfClassifier(C=3, tol=1e-5, solver=solver, max_iter=40, **parameters)
        expected = (clf.fit(X, y, **fit).primal_, clf.dual_)
        clf.fit(X, y, **fit, callback=lambda record: mine.__imul__(7) is None)
        assert (clf.primal_, clf.dual_) == expected
        mine[:] = np.sign(mine)


def test_a_model_without_an_end_is_refused_at_its_beginning():
    with pytest.raises(ValueError, match="is not a model"):
        TopwolfClassifier.load("/dev/zero")
