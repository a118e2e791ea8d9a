"""What the classifier answers, beside what scikit-learn's checks ask."""
import copy
import os
import pickle
import signal
import subprocess
import sys
import threading
import time

import joblib
import numpy as np
import pytest
import threadpoolctl
from scipy import sparse
from sklearn.base import clone
from sklearn.calibration import CalibratedClassifierCV
from sklearn.datasets import load_digits, make_classification
from sklearn.exceptions import ConvergenceWarning, NotFittedError
from sklearn.metrics import top_k_accuracy_score
from sklearn.model_selection import GridSearchCV, cross_val_score
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler
from sklearn.svm import LinearSVC

from topwolf import TopwolfClassifier, TopwolfClassifierCV, TopwolfJointClassifier, _core
from topwolf._features import to_features

LOSSES = ["max_hinge", "top_k", "usunier", "weighted_top_k", "weighted_usunier"]


@pytest.fixture(scope="module")
def digits():
    X, y = load_digits(return_X_y=True)
    return X / np.linalg.norm(X, axis=1, keepdims=True), y


def naive_objective(clf, X, y, weights=None):
    """P(W) by plain loops, from the attributes alone; the definition is in the ledger (P1)."""
    m = len(clf.classes_)
    rho = np.array([1.0]) if clf.loss == "max_hinge" else np.full(clf.k_, 1 / clf.k_)
    if clf.loss.startswith("weighted"):
        rho = np.arange(5, 0, -1)[: m - 1] / np.arange(5, 0, -1)[: m - 1].sum()
    weights = np.ones(len(X)) if weights is None else weights
    W, intercept = clf.coef_.astype(np.float64), clf.intercept_.astype(np.float64)
    if m == 2:
        W, intercept = np.vstack([-W, W]) / 2, np.concatenate([-intercept, intercept]) / 2
    scores = X @ W.T + intercept
    total = 0.0
    for i, label in enumerate(np.searchsorted(clf.classes_, y)):
        violations = sorted((1.0 * (j != label) + scores[i, j] - scores[i, label] for j in range(m)), reverse=True)
        violations = np.array(violations[: len(rho)])
        top = clf.loss in ("top_k", "weighted_top_k")
        total += weights[i] * (max(0.0, rho @ violations) if top else rho @ np.maximum(0.0, violations))
    squared = (W**2).sum() + ((intercept / clf.intercept_scaling) ** 2).sum()
    return squared / (2 * clf.C * weights.sum()) + total / weights.sum()


@pytest.mark.parametrize("loss", LOSSES)
@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_certificate_holds_at_the_attributes(digits, loss, dtype):
    X, y = digits
    X = X.astype(dtype)
    clf = TopwolfClassifier(loss, C=10.0).fit(X, y)
    assert clf.status_ == "converged"
    assert clf.coef_.dtype == clf.intercept_.dtype == dtype
    assert clf.primal_ == pytest.approx(naive_objective(clf, X.astype(np.float64), y), rel=1e-6)
    assert 0 <= clf.dual_gap_ <= 1e-3 * clf.primal_
    assert clf.relative_gap_ == pytest.approx(clf.dual_gap_ / clf.primal_)
    better = TopwolfClassifier(loss, C=10.0, tol=1e-4).fit(X, y)
    assert better.primal_ >= clf.dual_ * (1 - 1e-12)


def test_weighted_rows_are_repeated_rows(digits):
    X, y = digits
    times = np.random.RandomState(0).randint(0, 4, size=len(y)).astype(float)
    settings = {"tol": 1e-9, "max_iter": 20000, "C": 0.5}
    weighted = TopwolfClassifier("usunier", **settings).fit(X, y, sample_weight=times)
    repeated = TopwolfClassifier("usunier", **settings).fit(np.repeat(X, times.astype(int), 0), np.repeat(y, times.astype(int)))
    assert weighted.primal_ == pytest.approx(repeated.primal_, rel=1e-8)
    np.testing.assert_allclose(weighted.coef_, repeated.coef_, atol=1e-4)
    by_hand = np.where(y == 3, 2.0, 1.0)
    a = TopwolfClassifier(**settings, class_weight={3: 2.0}).fit(X, y)
    b = TopwolfClassifier(**settings).fit(X, y, sample_weight=by_hand)
    np.testing.assert_array_equal(a.coef_, b.coef_)


def test_balanced_classes_weigh_the_same(digits):
    X, y = digits
    weights = np.where(y == 3, 0.0, 1.0 + (y % 2))  # a class without weight stays without
    sums = np.bincount(y, weights=weights)
    by_hand = weights * np.divide(weights.sum(), 10 * sums, out=np.zeros(10), where=sums > 0)[y]
    a = TopwolfClassifier(class_weight="balanced").fit(X, y, sample_weight=weights)
    b = TopwolfClassifier().fit(X, y, sample_weight=by_hand)
    np.testing.assert_array_equal(a.coef_, b.coef_)


def test_agrees_with_linear_svc(digits):
    X, y = digits
    theirs = LinearSVC(multi_class="crammer_singer", C=1.0, tol=1e-8, max_iter=100000, fit_intercept=False).fit(X, y)
    ours = TopwolfClassifier(C=1.0, tol=1e-8, fit_intercept=False, max_iter=10000).fit(X, y)
    np.testing.assert_allclose(ours.coef_, theirs.coef_, atol=2e-3)
    at_theirs = clone(ours)
    at_theirs.__dict__.update(classes_=ours.classes_, k_=1, coef_=theirs.coef_, intercept_=np.zeros(10))
    assert ours.dual_ <= naive_objective(at_theirs, X, y) <= ours.primal_ * (1 + 1e-5)


def test_two_classes_are_as_linear_svc(digits):
    X, y = digits
    X, y = X[y < 2], np.where(y[y < 2] == 1, "one", "none")
    clf = TopwolfClassifier(C=5.0, tol=1e-9).fit(X, y)
    assert clf.coef_.shape == (1, X.shape[1]) and clf.intercept_.shape == (1,)
    scores = clf.decision_function(X)
    assert scores.shape == (len(X),)
    np.testing.assert_allclose(scores, X @ clf.coef_[0] + clf.intercept_[0], atol=1e-12)
    np.testing.assert_array_equal(clf.predict(X), np.where(scores > 0, "one", "none"))
    assert clf.predict_top_k(X, k=2).shape == (len(X), 2)
    assert clf.primal_ == pytest.approx(naive_objective(clf, X, y), rel=1e-9)
    theirs = LinearSVC(multi_class="crammer_singer", C=5.0, tol=1e-10, max_iter=100000).fit(X, y)
    np.testing.assert_allclose(clf.coef_, theirs.coef_, atol=1e-3)
    np.testing.assert_allclose(clf.intercept_, theirs.intercept_, atol=1e-3)


@pytest.mark.parametrize("classes", [2, 4])
@pytest.mark.parametrize("scaling", [0.3, 1.0, 5.0])
def test_intercepts_weights_and_certificates_belong_together(digits, classes, scaling):
    X, y = digits
    X, y = X[y < classes].astype(np.float32), y[y < classes]
    weights = np.linspace(0.1, 2.0, len(y))
    clf = TopwolfClassifier(intercept_scaling=scaling, class_weight={0: 3.0}).fit(X, y, sample_weight=weights)
    expected = naive_objective(clf, X.astype(np.float64), y, weights * np.where(y == 0, 3.0, 1.0))
    assert clf.primal_ == pytest.approx(expected, rel=1e-6)


@pytest.mark.parametrize("labels", [np.array(["b", "a", "c"]), np.array([1.0, -2.0, 7.0]), np.array(["b", "a", "c"], object)])
def test_any_type_of_label(digits, labels):
    X, y = digits
    X, y = X[y < 3], labels[y[y < 3]]
    clf = TopwolfClassifier().fit(X, y)
    assert clf.predict(X).dtype == y.dtype
    assert clf.score(X, y) > 0.95


def test_top_k(digits):
    X, y = digits
    clf = TopwolfClassifier("top_k", k=3).fit(X, y)
    assert clf.k_ == 3
    labels, scores = clf.predict_top_k(X, return_scores=True)
    assert labels.shape == scores.shape == (len(X), 3)
    assert (np.diff(scores, axis=1) <= 0).all()
    np.testing.assert_array_equal(labels[:, 0], clf.predict(X))
    np.testing.assert_allclose(scores, -np.sort(-clf.decision_function(X), axis=1)[:, :3])
    for k in (1, 2, 5):
        expected = 1 - top_k_accuracy_score(y, clf.decision_function(X), k=k)
        assert clf.top_k_error(X, y, k) == pytest.approx(expected)


def test_sparse_rows_give_the_same_answer(digits):
    X, y = digits
    X = np.where(X < 0.15, 0.0, X)  # few enough non-zeros to stay sparse
    dense = TopwolfClassifier(tol=1e-8, max_iter=10000).fit(X, y)
    for index in (np.int32, np.int64):
        for convert in (sparse.csr_matrix, sparse.csr_array):
            S = convert(X)
            S.indices, S.indptr = S.indices.astype(index), S.indptr.astype(index)
            fitted = TopwolfClassifier(tol=1e-8, max_iter=10000).fit(S, y)
            assert fitted.primal_ == pytest.approx(dense.primal_, rel=1e-7)
            np.testing.assert_allclose(fitted.decision_function(S), dense.decision_function(X), atol=1e-3)
    np.testing.assert_array_equal(dense.predict(sparse.csc_matrix(X)), dense.predict(X))


def test_unsorted_and_doubled_indices(digits):
    X, y = digits
    S = sparse.csr_matrix(X)
    halves = sparse.csr_matrix((np.repeat(S.data / 2, 2), np.repeat(S.indices, 2), 2 * S.indptr), shape=S.shape)
    a, b = TopwolfClassifier().fit(S, y), TopwolfClassifier().fit(halves, y)
    np.testing.assert_allclose(a.coef_, b.coef_)
    assert halves.nnz == 2 * S.nnz, "the caller's matrix is left alone"


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_rows_are_read_where_they_are(dtype):
    X = np.arange(60, dtype=dtype).reshape(10, 6)
    assert to_features(X).address == X.ctypes.data
    X.flags.writeable = False
    assert to_features(X).address == X.ctypes.data
    assert to_features(X[::2, 1:4]).address == X.ctypes.data + X.itemsize
    assert to_features(np.asfortranarray(X)).rows == 10
    for index in (np.int32, np.int64):
        S = sparse.csr_matrix(X)
        S.indices, S.indptr = S.indices.astype(index), S.indptr.astype(index)
        assert to_features(S).address == S.data.ctypes.data


PEAK = """
import resource, sys
import numpy as np
from topwolf import TopwolfClassifier
rows = np.random.default_rng(0).standard_normal((40000, 1024), dtype=np.float32).astype(sys.argv[1])
y = np.arange(len(rows)) % 3
TopwolfClassifier(max_iter=1, tol=1e9).fit(rows[:100], y[:100])
before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
TopwolfClassifier(max_iter=2, tol=1e9, fit_intercept=True).fit(rows, y)
print((resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - before) * 1024 / rows.nbytes)
"""


@pytest.mark.parametrize("dtype", ["float32", "float64"])
def test_no_copy_of_the_rows_is_made(dtype):
    done = subprocess.run([sys.executable, "-c", PEAK, dtype], capture_output=True, text=True, check=True)
    assert float(done.stdout) < 0.5


def test_rows_that_overlap_or_run_backwards_are_copied():
    series = np.random.default_rng(0).standard_normal(300)
    y = np.arange(200) % 3
    views = [np.lib.stride_tricks.sliding_window_view(series, 50)[:200], np.broadcast_to(series[:50], (200, 50)), series[:200, None][::-1]]
    for dtype in (np.float32, np.float64):
        for view in views:
            view = view if dtype == np.float64 else np.lib.stride_tricks.sliding_window_view(series.astype(dtype), 50)[:200]
            seen, copied = (TopwolfClassifier().fit(rows, y) for rows in (view, np.ascontiguousarray(view)))
            np.testing.assert_array_equal(seen.coef_, copied.coef_)
            np.testing.assert_array_equal(seen.decision_function(view), copied.decision_function(np.ascontiguousarray(view)))


def test_attributes_that_do_not_fit_are_refused(digits):
    clf = TopwolfClassifier().fit(*digits)
    clf.coef_ = clf.coef_[:, :10]
    with pytest.raises(ValueError, match="do not fit"):
        clf.predict(digits[0])


def test_other_weights_are_predicted_with_however_they_come(digits):
    X, y = digits
    clf = TopwolfClassifier().fit(X, y)
    before = clf.decision_function(X)
    with pytest.raises(ValueError, match="read-only"):
        clf.coef_[0] = 0.0
    clf.coef_ = clf.coef_ * 2
    np.testing.assert_allclose(clf.decision_function(X), 2 * before - clf.intercept_, atol=1e-12)
    clf.coef_ *= 0.5  # an array of the caller's, changed where it lies
    np.testing.assert_allclose(clf.decision_function(X), before, atol=1e-12)
    clf.coef_.flags.writeable = False
    np.testing.assert_allclose(clf.decision_function(X), before, atol=1e-12)
    clf.coef_.flags.writeable = True
    clf.coef_[:] = 0.0
    clf.intercept_ = np.arange(10.0)
    np.testing.assert_array_equal(clf.decision_function(X), np.tile(np.arange(10.0), (len(X), 1)))


@pytest.mark.parametrize("name", ["coef_", "intercept_", "class_coef_", "classes_"])
def test_a_certificate_does_not_outlive_what_it_is_about(digits, name, tmp_path):
    X, y = digits
    clf = TopwolfClassifier(class_features=np.eye(10) + 0.1).fit(X, y)
    assert clf.status_ == "converged" and clf.relative_gap_ <= clf.tol
    before = getattr(clf, name)
    with_claim = copy.copy(clf)
    setattr(clf, name, before[::-1].copy())
    for claim in ("primal_", "dual_", "dual_gap_", "relative_gap_", "status_"):
        assert hasattr(with_claim, claim)
        assert not hasattr(clf, claim)
    setattr(clf, name, before)  # nobody looks whether they are the same again
    clf.save(tmp_path / "m.topwolf")
    assert not hasattr(TopwolfClassifier.load(tmp_path / "m.topwolf"), "status_")
    assert clf.fit(X, y).status_ == "converged"


def test_weights_that_somebody_unlocked_are_saved_without_a_certificate(digits, tmp_path):
    clf = TopwolfClassifier().fit(*digits)
    clf.coef_.flags.writeable = True
    clf.coef_[0] = 0.0
    clf.save(tmp_path / "m.topwolf")
    assert not hasattr(TopwolfClassifier.load(tmp_path / "m.topwolf"), "status_")


def test_a_predictor_is_made_once_and_after_a_copy_once_more(digits):
    X, y = digits
    clf = TopwolfClassifier().fit(X, y)
    expected = clf.decision_function(X)
    once = clf._predictor()
    assert clf._predictor() is once
    for copied in (pickle.loads(pickle.dumps(clf)), copy.deepcopy(clf), copy.copy(clf)):
        np.testing.assert_array_equal(copied.decision_function(X), expected)
        assert copied._predictor() is copied._predictor()
        assert not copied.coef_.flags.writeable
        copied.coef_ = copied.coef_ * 2
        assert not np.array_equal(copied.decision_function(X), expected)
    np.testing.assert_array_equal(clf.decision_function(X), expected)


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_a_row_has_the_same_scores_alone_and_among_others(digits, dtype):
    X, y = digits
    X = X.astype(dtype)
    clf = TopwolfClassifier().fit(X, y)
    scores = clf.decision_function(X)
    np.testing.assert_array_equal(np.vstack([clf.decision_function(row[None]) for row in X[:50]]), scores[:50])
    np.testing.assert_array_equal(clf.decision_function(sparse.csr_matrix(X)), scores)
    np.testing.assert_array_equal(clf.predict(X), clf.classes_[scores.argmax(axis=1)])


def test_sparse_arrays_however_they_are_stored(digits):
    X, y = digits
    X = np.where(X < 0.15, 0.0, X)
    S = sparse.csr_matrix(X)
    mixed = S.copy()
    mixed.indices = mixed.indices.astype(np.int64)
    strided = S.copy()
    strided.data = np.repeat(S.data, 2)[::2]
    expected = TopwolfClassifier().fit(S, y).coef_
    for other in (mixed, strided):
        np.testing.assert_array_equal(TopwolfClassifier().fit(other, y).coef_, expected)


def test_strided_and_read_only_rows_train_alike(digits):
    X, y = digits
    wide = np.zeros((len(X), 100))
    wide[:, 7:71] = X
    wide.flags.writeable = False
    a, b = TopwolfClassifier().fit(X, y), TopwolfClassifier().fit(wide[:, 7:71], y)
    np.testing.assert_array_equal(a.coef_, b.coef_)


def test_numpy_keeps_its_threads():
    X, y = make_classification(2000, 300, n_informative=50, n_classes=5, random_state=0)
    X /= np.linalg.norm(X, axis=1, keepdims=True)

    def threads():
        return {pool["filepath"]: pool["num_threads"] for pool in threadpoolctl.threadpool_info() if "topwolf" not in pool["filepath"]}

    TopwolfClassifier().fit(X[:100], y[:100])
    before = threads()
    assert before
    TopwolfClassifier(n_jobs=1).fit(X, y)
    assert threads() == before


def test_the_same_seed_gives_the_same_bits(digits):
    X, y = digits
    a, b = (TopwolfClassifier(n_jobs=2, random_state=7).fit(X, y) for _ in range(2))
    np.testing.assert_array_equal(a.coef_, b.coef_)
    c = TopwolfClassifier(random_state=8).fit(X, y)
    assert not np.array_equal(a.coef_, c.coef_)
    assert TopwolfClassifier(random_state=np.random.RandomState(3)).fit(X, y).status_ == "converged"


def test_warm_start(digits):
    X, y = digits
    cold = TopwolfClassifier("usunier", k=3, C=2.0).fit(X, y)
    warm = TopwolfClassifier("usunier", k=3, C=1.8, warm_start=True).fit(X, y)
    warm.set_params(C=2.0).fit(X, y)
    assert warm.status_ == "converged"
    assert warm.n_iter_ < cold.n_iter_
    assert warm.dual_ <= cold.primal_ and cold.dual_ <= warm.primal_
    assert warm.fit(X, y).n_iter_ <= 2
    warm.set_params(loss="top_k", k=5).fit(X, y)
    assert warm.status_ == "converged"
    warm.fit(X[:500], y[:500])
    assert warm.status_ == "converged"
    assert warm.set_params(warm_start=False).fit(X, y)._dual is None
    for solver in ("block", "newton", "apg", "lsfw", "stdfw", "pg"):
        again = TopwolfClassifier(solver=solver, warm_start=True, max_iter=5, tol=0.5)
        assert again.fit(X, y).fit(X, y).n_iter_ <= 5


def test_trace_and_evaluations(digits):
    X, y = digits
    clf = TopwolfClassifier("usunier", k=3).fit(X[:1000], y[:1000], eval_set=[(X[1000:], y[1000:]), (X[:1000], y[:1000])])
    assert len(clf.trace_["iteration"]) == clf.n_iter_
    assert (np.diff(clf.trace_["seconds"]) >= 0).all()
    held_out = clf.evals_result_["validation_0"]
    assert list(held_out) == ["top_1_error", "top_3_error", "top_5_error"]
    assert all(len(errors) == clf.n_iter_ for errors in held_out.values())
    assert held_out["top_1_error"][-1] == pytest.approx(clf.top_k_error(X[1000:], y[1000:], 1), abs=0.01)
    seen = clf.evals_result_["validation_1"]["top_1_error"]
    assert seen[-1] == pytest.approx(clf.top_k_error(X[:1000], y[:1000], 1), abs=0.01) and seen[-1] < seen[0]
    for wrong in ((X, y), [X], "no"):
        with pytest.raises(ValueError, match="eval_set must be a list of pairs"):
            clf.fit(X, y, eval_set=wrong)


def test_the_callback_sees_every_pass_and_can_stop(digits):
    X, y = digits
    seen = []

    def callback(record):
        seen.append((record.iteration, record.primal, record.dual, record.relative_gap, record.seconds))
        return record.iteration == 3

    clf = TopwolfClassifier(tol=1e-9).fit(X, y, callback=callback)
    assert [record[0] for record in seen] == [1, 2, 3]
    assert clf.status_ == "interrupted" and clf.n_iter_ == 3
    assert clf.primal_ >= clf.dual_


@pytest.mark.parametrize("solver", ["block", "newton", "apg", "lsfw", "stdfw", "pg"])
def test_the_callback_can_look_at_the_weights(digits, solver):
    X, y = digits
    looked = []

    def callback(record):
        looked.append((record, record.weights()))

    clf = TopwolfClassifier(solver=solver, max_iter=4, tol=1e-9)
    with pytest.warns(ConvergenceWarning):
        clf.fit(X, y, callback=callback)
    rows = np.hstack([X, np.ones((len(X), 1))])
    for (record, W), (_, before) in zip(looked[1:], looked):
        assert W.shape == (10, X.shape[1] + 1)
        if solver in ("lsfw", "stdfw", "pg"):  # whose pass looks at the point where the one before it ended
            scores = rows @ before.T
            loss = (scores + 1 - np.eye(10)[y] - scores[np.arange(len(y)), y][:, None]).max(axis=1)
            assert record.iterate_primal == pytest.approx(0.5 * (before**2).sum() / len(y) + loss.mean(), rel=1e-6)
        assert record.primal <= record.iterate_primal and record.dual >= record.iterate_dual
    np.testing.assert_array_equal(clf.trace_["iterate_primal"], [record.iterate_primal for record, _ in looked])
    np.testing.assert_array_equal(clf.trace_["iterate_dual"], [record.iterate_dual for record, _ in looked])
    with pytest.raises(RuntimeError, match="only while the callback is called"):
        looked[0][0].weights()


def test_an_error_in_the_callback_comes_out_and_the_model_stays(digits):
    X, y = digits

    def callback(record):
        raise KeyError("mine")

    clf = TopwolfClassifier()
    with pytest.raises(KeyError, match="mine"):
        clf.fit(X, y, callback=callback)
    assert clf.status_ == "interrupted"
    assert clf.predict(X).shape == y.shape


def test_ctrl_c_leaves_the_best_model(request):
    # Where tests run in the background the shell has switched it off.
    before = signal.signal(signal.SIGINT, signal.default_int_handler)
    request.addfinalizer(lambda: signal.signal(signal.SIGINT, before))
    X, y = make_classification(4000, 200, n_informative=100, n_classes=20, class_sep=5.0, random_state=0)
    clf = TopwolfClassifier(solver="lsfw", tol=1e-14, max_iter=10**9, time_limit=60.0)
    timer = threading.Timer(1.0, lambda: os.kill(os.getpid(), signal.SIGINT))
    timer.start()
    start = time.perf_counter()
    with pytest.raises(KeyboardInterrupt):
        clf.fit(X, y)
    assert time.perf_counter() - start < 30
    assert clf.status_ == "interrupted"
    assert clf.score(X, y) > 0.1


def test_verbose_prints_the_progress_table(digits, capsys):
    X, y = digits
    clf = TopwolfClassifier(verbose=1).fit(X, y)
    lines = capsys.readouterr().out.splitlines()
    assert lines[0].split() == ["pass", "seconds", "primal", "dual", "relative", "gap", "time", "left"]
    assert int(lines[-1].split()[0]) == clf.n_iter_


def test_warnings_say_what_to_do(digits):
    X, y = digits
    with pytest.warns(ConvergenceWarning, match=r"relative gap of .* above tol=1e-09: max_iter=2 passes.*Increase max_iter"):
        TopwolfClassifier(tol=1e-9, max_iter=2).fit(X, y)
    with pytest.warns(ConvergenceWarning, match="Give X as float64"):
        TopwolfClassifier(tol=1e-14).fit(X.astype(np.float32), y)
    with pytest.warns(ConvergenceWarning, match="Increase time_limit"):
        TopwolfClassifier(tol=1e-14, time_limit=1e-6).fit(X, y)


def test_works_inside_scikit_learn(digits):
    X, y = digits
    search = GridSearchCV(TopwolfClassifier("usunier"), {"C": [0.1, 10], "k": [1, 3]}, scoring="top_k_accuracy", cv=3).fit(X, y)
    assert search.best_score_ > 0.9
    pipe = make_pipeline(StandardScaler(), TopwolfClassifier(C=0.01)).set_output(transform="pandas")
    assert cross_val_score(pipe, X, y, cv=3).mean() > 0.85
    probabilities = CalibratedClassifierCV(TopwolfClassifier(), cv=2).fit(X, y).predict_proba(X)
    np.testing.assert_allclose(probabilities.sum(axis=1), 1)
    assert clone(search.best_estimator_).get_params() == search.best_estimator_.get_params()


def test_class_weights_of_absent_classes_are_as_in_scikit_learn(digits):
    X, y = digits
    X, y = X[y < 3], y[y < 3]
    weights = {0: 1.0, 1: 2.0, 2: 1.0, 7: 5.0}
    assert TopwolfClassifier(class_weight=weights).fit(X, y).status_ == "converged"
    LinearSVC(class_weight=weights).fit(X, y)


def test_pickle_and_joblib(digits, tmp_path):
    X, y = digits
    clf = TopwolfClassifier().fit(X, y)
    np.testing.assert_array_equal(pickle.loads(pickle.dumps(clf)).decision_function(X), clf.decision_function(X))
    joblib.dump(clf, tmp_path / "clf")
    np.testing.assert_array_equal(joblib.load(tmp_path / "clf").predict(X), clf.predict(X))


def test_costs_move_the_errors(digits):
    X, y = digits
    costs = np.ones((10, 10)) - np.eye(10)
    costs[1, 8] = costs[8, 1] = 10.0
    plain, careful = (TopwolfClassifier(C=0.05, cost_matrix=c).fit(X, y) for c in (None, costs))
    confused = lambda clf: ((clf.predict(X[y == 8]) == 1).sum() + (clf.predict(X[y == 1]) == 8).sum())
    assert confused(careful) < confused(plain)


BAD = [
    ({"k": 10, "loss": "usunier"}, "k is 10, but with 10 classes it must be from 1 to 9"),
    ({"rho": [1, 2], "loss": "weighted_top_k"}, "rho must not increase"),
    ({"loss": "hinge"}, "The 'loss' parameter of TopwolfClassifier must be a str among"),
    ({"C": 0}, "The 'C' parameter"),
    ({"C": float("nan")}, "(The 'C' parameter|C is nan)"),
    ({"C": float("inf")}, r"The 'C' parameter of TopwolfClassifier must be a float in the range \(0.0, inf\)"),
    ({"C": 10**400}, r"The 'C' parameter of TopwolfClassifier must be a float in the range \(0.0, inf\)"),
    ({"time_limit": 10**400}, "The 'time_limit' parameter"),
    ({"tol": -1.0}, "The 'tol' parameter"),
    ({"cost_matrix": np.zeros((2, 2))}, r"cost_matrix has shape \(2, 2\), but 10 classes need \(10, 10\)"),
    ({"cost_matrix": np.ones((10, 10))}, "must have a zero diagonal"),
    ({"cost_matrix": -np.ones((10, 10))}, "at least 0"),
    ({"class_weight": {0: -1.0}}, "class_weight must hold finite weights"),
    ({"class_weight": {77: 1.0}}, "are not in class_weight"),
    ({"smoothing": -0.1}, "The 'smoothing' parameter"),
    ({"k": 2**70, "loss": "top_k"}, "The 'k' parameter"),
    ({"max_iter": 2**70}, "The 'max_iter' parameter"),
    ({"n_jobs": 2**70}, "The 'n_jobs' parameter"),
    ({"n_jobs": 2000}, "n_jobs is 2000, but it must be from 0 to 1024"),
]


@pytest.mark.parametrize("settings, words", BAD)
def test_bad_settings(digits, settings, words):
    with pytest.raises((ValueError, TypeError), match=words):
        TopwolfClassifier(**settings).fit(*digits)


def test_bad_data(digits):
    X, y = digits
    clf = TopwolfClassifier()
    for bad, words in [
        (lambda: clf.fit(X[0], y), "Expected 2D array, got 1D array instead"),
        (lambda: clf.fit(np.where(X == X.max(), np.nan, X), y), "Input X contains NaN"),
        (lambda: clf.fit(X[:0], y[:0]), "Found array with 0 sample"),
        (lambda: clf.fit(X, y[:-1]), "inconsistent numbers of samples"),
        (lambda: clf.fit(X, np.zeros(len(y))), "only one class"),
        (lambda: clf.fit(X, y, sample_weight=-np.ones(len(y))), "Negative values in data passed to `sample_weight`"),
        (lambda: clf.fit(X, y, sample_weight=np.zeros(len(y))), "Sample weights must contain at least one non-zero number"),
        (lambda: clf.fit(X, y + 0.5), "Unknown label type"),
    ]:
        with pytest.raises(ValueError, match=words):
            bad()
            print("accepted, where this was expected:", words)
    with pytest.raises(NotFittedError):
        TopwolfClassifier().predict(X)
    clf.fit(X, y)
    with pytest.raises(ValueError, match="X has 63 features, but TopwolfClassifier is expecting 64 features"):
        clf.predict(X[:, 1:])
    for k in (0, 11, 1.5):
        with pytest.raises(ValueError, match="k is"):
            clf.predict_top_k(X, k=k)


def broken(X):
    """Sparse matrices whose arrays lead out of them, by what is wrong; reading them would be out of bounds."""
    spoil = {
        "column too large": lambda S: S.indices.__setitem__(3, S.shape[1]),
        "column far away": lambda S: S.indices.__setitem__(3, 2**31 - 1),
        "column below 0": lambda S: S.indices.__setitem__(3, -1),
        "row ends beyond": lambda S: S.indptr.__setitem__(3, 10**6),
        "rows go back": lambda S: S.indptr.__setitem__(5, 0),
        "last row beyond": lambda S: S.indptr.__setitem__(-1, 10**6),
        "first row late": lambda S: S.indptr.__setitem__(0, 2),
        "row below 0": lambda S: S.indptr.__setitem__(-1, -5),
        "too few values": lambda S: setattr(S, "data", S.data[:-3]),
        "too few rows": lambda S: setattr(S, "indptr", S.indptr[:-2]),
        "not integers": lambda S: setattr(S, "indices", S.indices + 0.5),
    }
    for format in ("csr", "csc"):
        for what, apply in spoil.items():
            S = sparse.csr_matrix(X).asformat(format)
            apply(S)
            yield f"{format}, {what}", S
    S = sparse.coo_matrix(X)
    S.col[3] = 77777
    yield "coo, column too large", S
    S = sparse.lil_matrix(X)
    S.rows[3][0] = 77777
    yield "lil, column too large", S


def test_broken_sparse_matrices_are_refused_everywhere():
    """What SciPy or the extension would read out of bounds, to garbage or to a crash."""
    X, y = np.eye(6), np.array([0, 1, 2] * 2)
    clf = TopwolfClassifier().fit(sparse.csr_matrix(X), y)
    shared = TopwolfClassifier(class_features=np.eye(3, 6)).fit(X, y)
    joint = TopwolfJointClassifier().fit(X.reshape(2, 3, 6), [0, 1])
    for what, S in broken(X):
        for use in (
            lambda: clf.predict(S),
            lambda: clf.decision_function(S),
            lambda: clf.predict_top_k(S, k=2),
            lambda: clf.score(S, y),
            lambda: clf.top_k_error(S, y, k=1),
            lambda: clf.mean_cost(S, y),
            lambda: clf.mean_cost(np.eye(6), y, margins=S),
            lambda: TopwolfClassifier().fit(S, y),
            lambda: TopwolfClassifier().fit(X, y, eval_set=[(S, y)]),
            lambda: TopwolfClassifier().fit(X, np.arange(6), margins=S),
            lambda: TopwolfClassifier(class_features=S).fit(X, np.arange(6)),
            lambda: TopwolfClassifierCV([1.0], cv=2).fit(S, y),
            lambda: shared.with_classes(np.arange(6), S),
            lambda: joint.decision_function(S),
            lambda: TopwolfJointClassifier().fit(S, [0, 1]),
        ):
            with pytest.raises(ValueError, match="is a broken sparse matrix: "):
                use()
                print("accepted:", what)


def test_sparse_matrices_of_every_format_and_with_room_to_spare(digits):
    X, y = digits
    expected = TopwolfClassifier().fit(sparse.csr_matrix(X), y).decision_function(X)
    roomy = sparse.csr_matrix(X)
    roomy.data, roomy.indices = np.append(roomy.data, 1.0), np.append(roomy.indices, 10**6).astype(np.int32)
    for S in (roomy, *(sparse.csr_matrix(X).asformat(name) for name in ("csc", "coo", "bsr", "lil", "dok"))):
        np.testing.assert_array_equal(TopwolfClassifier().fit(S, y).decision_function(S), expected)


def test_the_extension_converts_nothing_silently():
    with pytest.raises(TypeError):
        _core.dense(np.zeros((2, 2), dtype=np.int32))
