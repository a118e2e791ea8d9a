"""Softmax and probabilities: against scikit-learn's logistic regression, and as scikit-learn expects them."""

import pickle
import warnings

import numpy as np
import pytest
from scipy import optimize, sparse
from sklearn.datasets import load_digits, load_iris
from sklearn.metrics import brier_score_loss, log_loss
from sklearn.model_selection import GridSearchCV, train_test_split

import topwolf
from topwolf import TopwolfClassifier, TopwolfClassifierCV


@pytest.fixture(scope="module")
def digits():
    X, y = load_digits(return_X_y=True)
    return train_test_split(X / 16.0, y, random_state=0)


def objective(W, X, y, C, T=1.0):
    """C n times P, with the constant feature as the last column of W."""
    scores = (X @ W[:, :-1].T + W[:, -1]) / T
    top = scores.max(axis=1)
    loss = T * (top + np.log(np.exp(scores - top[:, None]).sum(axis=1)) - scores[np.arange(len(y)), y])
    return 0.5 * np.sum(W * W) + C * np.sum(loss)


@pytest.mark.parametrize("T", [None, 0.3, 2.0])
def test_it_ends_where_a_general_optimiser_does(digits, T):
    X, _, y, _ = digits
    clf = TopwolfClassifier("softmax", temperature=T, C=0.5, tol=1e-6).fit(X, y)
    W = np.column_stack([clf.coef_, clf.intercept_])
    value = objective(W, X, y, 0.5, T or 1.0)
    assert clf.primal_ * 0.5 * len(y) == pytest.approx(value, rel=1e-9)

    def both(flat):
        W = flat.reshape(10, -1)
        scores = (X @ W[:, :-1].T + W[:, -1]) / (T or 1.0)
        p = np.exp(scores - scores.max(axis=1, keepdims=True))
        p /= p.sum(axis=1, keepdims=True)
        p[np.arange(len(y)), y] -= 1.0
        slope = W + 0.5 * np.column_stack([p.T @ X, p.sum(axis=0)])
        return objective(W, X, y, 0.5, T or 1.0), slope.ravel()

    found = optimize.minimize(both, np.zeros(W.size), jac=True, method="L-BFGS-B", options={"maxiter": 2000, "ftol": 1e-14})
    assert value == pytest.approx(found.fun, rel=2e-6)
    assert clf.dual_ * 0.5 * len(y) <= found.fun * (1 + 1e-12)


def test_probabilities_are_those_of_the_scores(digits):
    X, X_test, y, y_test = digits
    clf = TopwolfClassifier("softmax").fit(X, y)
    P = clf.predict_proba(X_test)
    scores = clf.decision_function(X_test)
    expected = np.exp(scores - scores.max(axis=1, keepdims=True))
    expected /= expected.sum(axis=1, keepdims=True)
    np.testing.assert_allclose(P, expected, rtol=1e-12)
    np.testing.assert_allclose(P.sum(axis=1), 1.0, rtol=1e-14)
    np.testing.assert_allclose(np.exp(clf.predict_log_proba(X_test)), P, rtol=1e-12)
    assert (clf.classes_[P.argmax(axis=1)] == clf.predict(X_test)).all()
    assert clf.temperature_ == 1.0
    np.testing.assert_array_equal(clf.predict_proba(sparse.csr_matrix(X_test)), P)
    assert log_loss(y_test, P) < 0.3


def test_hinges_have_none_before_they_are_calibrated(digits):
    X, X_test, y, y_test = digits
    clf = TopwolfClassifier("usunier", k=3).fit(X, y)
    assert not hasattr(clf, "predict_proba") and not hasattr(clf, "temperature_")
    before = clf.predict(X_test), clf.primal_, clf.relative_gap_
    half = len(y_test) // 2
    assert clf.calibrate(X_test[:half], y_test[:half]) is clf
    np.testing.assert_array_equal(clf.predict(X_test), before[0])
    assert (clf.primal_, clf.relative_gap_) == before[1:]
    best = log_loss(y_test[half:], clf.predict_proba(X_test[half:]))
    assert best < 0.5
    # One of n + 2 is taken for another class: near the least log loss of the rows that it was fitted to.
    scores = clf.decision_function(X_test[:half])

    def loss(T):
        return log_loss(y_test[:half], np.exp(scores / T) / np.exp(scores / T).sum(axis=1, keepdims=True))

    least = min(loss(T) for T in np.geomspace(0.01, 10, 400))
    assert least <= loss(clf.temperature_) <= 1.02 * least + 1e-3


def test_two_classes():
    X, y = load_iris(return_X_y=True)
    X, y = X[y > 0], np.where(y[y > 0] == 1, "a", "b")
    clf = TopwolfClassifier("softmax", tol=1e-7).fit(X, y)
    P = clf.predict_proba(X)
    np.testing.assert_allclose(P[:, 1], 1.0 / (1.0 + np.exp(-clf.decision_function(X))), rtol=1e-12)
    assert brier_score_loss(y, P[:, 1], pos_label="b") < 0.05


def test_files_copies_and_searches_keep_it(digits, tmp_path):
    X, X_test, y, _ = digits
    clf = TopwolfClassifier("softmax", temperature=0.5).fit(X, y)
    P = clf.predict_proba(X_test)
    np.testing.assert_array_equal(pickle.loads(pickle.dumps(clf)).predict_proba(X_test), P)
    clf.save(tmp_path / "m.topwolf")
    loaded = topwolf.load(tmp_path / "m.topwolf")
    np.testing.assert_array_equal(loaded.predict_proba(X_test), P)
    assert (loaded.loss, loaded.temperature, loaded.temperature_) == ("softmax", 0.5, 0.5)
    hinge = TopwolfClassifier().fit(X, y).calibrate(X_test, clf.predict(X_test))
    hinge.save(tmp_path / "h.topwolf")
    np.testing.assert_array_equal(topwolf.load(tmp_path / "h.topwolf").predict_proba(X_test), hinge.predict_proba(X_test))
    search = TopwolfClassifierCV([0.1, 1.0], loss="softmax", cv=3, scoring="neg_log_loss").fit(X, y)
    assert (search.scores_ < 0).all() and search.predict_proba(X_test).shape == (len(X_test), 10)
    outside = GridSearchCV(TopwolfClassifier("softmax"), {"C": [0.1, 1.0]}, cv=3, scoring="neg_log_loss").fit(X, y)
    assert outside.best_params_["C"] == search.C_


def test_onnx_gives_the_same(digits):
    onnxruntime = pytest.importorskip("onnxruntime")
    X, X_test, y, _ = digits
    X, X_test = X.astype(np.float32), X_test.astype(np.float32)
    clf = TopwolfClassifier("softmax", temperature=0.5).fit(X, y)
    session = onnxruntime.InferenceSession(clf.to_onnx().SerializeToString())
    np.testing.assert_allclose(
        session.run(["probabilities"], {"X": X_test})[0], clf.predict_proba(X_test), rtol=1e-4, atol=1e-6
    )


@pytest.mark.parametrize("scale", [1e-60, 1e-30, 1e30])
def test_onnx_has_a_temperature_whatever_it_is(digits, scale):
    """A temperature of 1e-61 is 0 in float32, and scores over a small one are infinite."""
    onnxruntime = pytest.importorskip("onnxruntime")
    X, X_test, y, y_test = digits
    clf = TopwolfClassifier(fit_intercept=False).fit(X.astype(np.float32), y).calibrate(X_test * scale, y_test)
    session = onnxruntime.InferenceSession(clf.to_onnx().SerializeToString())
    for rows in (X_test, X_test * 1e30):
        rows = rows.astype(np.float32)
        np.testing.assert_allclose(session.run(["probabilities"], {"X": rows})[0], clf.predict_proba(rows), atol=1e-4)


def test_what_makes_no_sense_gets_a_sentence(digits):
    X, X_test, y, y_test = digits
    for parameters, words in [
        ({"temperature": 1e-9}, "temperature is 1e-09, but it must be between"),
        ({"smoothing": 0.1}, "takes no smoothing"),
    ]:
        with pytest.raises(ValueError, match=words):
            TopwolfClassifier(**{"loss": "softmax", **parameters}).fit(X, y)
    with pytest.raises(ValueError, match="temperature"):
        TopwolfClassifier("softmax", temperature=0.0).fit(X, y)
    clf = TopwolfClassifier().fit(X, y)
    with pytest.raises(ValueError, match="none of the 9 rows has a class of the model"):
        clf.calibrate(X_test[:9], np.full(9, 77))
    worst = clf.classes_[clf.decision_function(X_test).argmin(axis=1)]
    with pytest.raises(ValueError, match="no higher for the true classes"):
        clf.calibrate(X_test, worst)
    assert not hasattr(clf, "predict_proba")


def test_other_classes_have_no_probabilities(digits):
    X, _, y, _ = digits
    phi = np.eye(10)
    clf = TopwolfClassifier("softmax", class_features=phi).fit(X, y)
    assert clf.predict_proba(X[:3]).shape == (3, 10)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        assert not hasattr(clf.with_classes(["a", "b"], phi[:2]), "predict_proba")


def test_a_temperature_is_not_given_to_a_later_fit(digits):
    X, X_test, y, y_test = digits

    class Refits:
        def __array__(self, dtype=None, copy=None):
            clf.fit(X[:200], y[:200])
            return y_test

    clf = TopwolfClassifier().fit(X, y)
    clf.calibrate(X_test, Refits())
    assert not hasattr(clf, "predict_proba")
    assert clf.calibrate(X_test, y_test) is clf and clf.predict_proba(X_test).shape == (len(X_test), 10)


@pytest.mark.parametrize("scale", [1e-300, 1e-155, 1e170, 1e300])
def test_scores_of_any_size_have_a_temperature(digits, scale):
    X, X_test, y, y_test = digits
    clf = TopwolfClassifier(fit_intercept=False).fit(X, y)
    usual = clf.calibrate(X_test, y_test).temperature_
    P = clf.predict_proba(X_test)
    assert clf.calibrate(X_test * scale, y_test).temperature_ == pytest.approx(usual * scale, rel=1e-6)
    np.testing.assert_allclose(clf.predict_proba(X_test * scale), P, rtol=1e-4, atol=1e-12)


def test_scores_that_overflow_have_probabilities(digits):
    X, X_test, y, _ = digits
    clf = TopwolfClassifier("softmax", C=100.0).fit(X, y)
    huge = np.where(X_test > 0.5, 1.7e308, -1.7e308)
    P, log_P = clf.predict_proba(huge), clf.predict_log_proba(huge)
    assert (P >= 0.0).all() and not np.isnan(log_P).any()
    np.testing.assert_allclose(P.sum(axis=1), 1.0)
    np.testing.assert_allclose(np.exp(log_P), P)
