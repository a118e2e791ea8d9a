"""center=True: rows less their mean, an intercept that makes up for it, and a certificate about that objective."""
import pickle

import numpy as np
import pytest
from scipy import sparse
from sklearn.base import clone
from sklearn.datasets import load_digits
from sklearn.model_selection import StratifiedKFold

import topwolf
from topwolf import TopwolfClassifier, TopwolfClassifierCV


@pytest.fixture(scope="module")
def digits():
    X, y = load_digits(return_X_y=True)
    return X / np.linalg.norm(X, axis=1, keepdims=True), y  # far from 0: no pixel is negative


def mean_of(X, weights=None):
    return np.average(X, axis=0, weights=weights)


def objective(clf, X, y, weights=None):
    """P of max_hinge from the attributes alone: losses on rows as they are, the intercept regularised at the mean."""
    m = len(clf.classes_)
    weights = np.ones(len(y)) if weights is None else weights
    W, intercept = clf.coef_.astype(np.float64), clf.intercept_.astype(np.float64)
    if m == 2:
        W, intercept = np.vstack([-W, W]) / 2, np.concatenate([-intercept, intercept]) / 2
    at_mean = (intercept + W @ mean_of(X, weights)) / clf.intercept_scaling
    own = np.searchsorted(clf.classes_, y)
    z = X @ W.T + intercept
    z = z - z[np.arange(len(y)), own][:, None] + (np.arange(m)[None, :] != own[:, None])
    return ((W**2).sum() + (at_mean**2).sum()) / (2 * clf.C * weights.sum()) + weights @ z.max(axis=1) / weights.sum()


@pytest.mark.parametrize("classes", [2, 10])
@pytest.mark.parametrize("scaling", [1.0, 3.0])
@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_the_certificate_holds_at_the_attributes(digits, dtype, scaling, classes):
    X, y = digits
    X, y = X[y < classes].astype(dtype), y[y < classes]
    weights = np.linspace(0.1, 2.0, len(y))
    clf = TopwolfClassifier(C=10.0, center=True, intercept_scaling=scaling, class_weight={0: 3.0}).fit(X, y, sample_weight=weights)
    assert clf.status_ == "converged"
    expected = objective(clf, X.astype(np.float64), y, weights * np.where(y == 0, 3.0, 1.0))
    assert clf.primal_ == pytest.approx(expected, rel=1e-6)
    assert 0 <= clf.dual_gap_ <= 1e-3 * clf.primal_


@pytest.mark.parametrize("as_rows", [np.asarray, sparse.csr_matrix])
def test_it_is_fitting_to_rows_less_their_mean(digits, as_rows):
    X, y = digits
    sparse_rows = np.where(X > 0.1, X, 0.0) if as_rows is sparse.csr_matrix else X
    folded = TopwolfClassifier(C=2.0, center=True, tol=1e-7).fit(as_rows(sparse_rows), y)
    less = sparse_rows - mean_of(sparse_rows)
    by_hand = TopwolfClassifier(C=2.0, tol=1e-7).fit(less, y)
    assert folded.primal_ == pytest.approx(by_hand.primal_, rel=3e-7)
    np.testing.assert_allclose(folded.coef_, by_hand.coef_, atol=5e-3)
    np.testing.assert_allclose(folded.decision_function(as_rows(sparse_rows)), by_hand.decision_function(less), atol=5e-3)
    plain = TopwolfClassifier(C=2.0, tol=1e-7).fit(sparse_rows, y)
    assert abs(plain.primal_ - folded.primal_) > 1e-4 * plain.primal_


def test_files_pickles_and_clones_keep_it(digits, tmp_path):
    X, y = digits
    clf = TopwolfClassifier(center=True).fit(X.astype(np.float32), y)
    clf.save(tmp_path / "m.topwolf")
    for copy in (pickle.loads(pickle.dumps(clf)), topwolf.load(tmp_path / "m.topwolf")):
        assert copy.center is True
        assert (copy.primal_, copy.dual_) == (clf.primal_, clf.dual_)
        np.testing.assert_array_equal(copy.decision_function(X[:9].astype(np.float32)), clf.decision_function(X[:9].astype(np.float32)))
        copy.save(tmp_path / "again.topwolf")
        assert (tmp_path / "again.topwolf").read_bytes() == (tmp_path / "m.topwolf").read_bytes()
    assert clone(clf).center is True
    assert topwolf.load(tmp_path / "m.topwolf").fit(X.astype(np.float32), y).primal_ == clf.primal_
    TopwolfClassifier().fit(X, y).save(tmp_path / "plain.topwolf")
    assert topwolf.load(tmp_path / "plain.topwolf").center is False


def test_what_passes_show_is_of_rows_as_they_are(digits):
    X, y = digits
    clf = TopwolfClassifier(center=True, tol=1e-5)
    clf.fit(X, y, eval_set=[(X, y)])
    assert clf.evals_result_["validation_0"]["top_1_error"][-1] == pytest.approx(1 - clf.score(X, y), abs=2e-3)


def test_a_search_shares_the_mean_of_all_rows(digits):
    X, y = digits
    folds = list(StratifiedKFold(3).split(X, y))
    search = TopwolfClassifierCV([0.5, 5.0], cv=folds, center=True, tol=1e-5).fit(X, y)
    less = X - mean_of(X)
    by_hand = TopwolfClassifierCV([0.5, 5.0], cv=folds, tol=1e-5).fit(less, y)
    np.testing.assert_allclose(search.scores_, by_hand.scores_, atol=2e-3)
    assert search.C_ == by_hand.C_
    assert search.primal_ == pytest.approx(by_hand.primal_, rel=3e-5)


def test_a_warm_start_begins_where_the_last_fit_ended(digits):
    X, y = digits
    clf = TopwolfClassifier(center=True, warm_start=True, tol=1e-5).fit(X, y)
    first = clf.n_iter_
    assert clf.set_params(C=1.05).fit(X, y).n_iter_ <= first
    assert clf.primal_ == pytest.approx(TopwolfClassifier(C=1.05, center=True, tol=1e-5).fit(X, y).primal_, rel=3e-5)


def test_it_needs_an_intercept(digits):
    for clf in (TopwolfClassifier(center=True, fit_intercept=False), TopwolfClassifierCV(center=True, fit_intercept=False)):
        with pytest.raises(ValueError, match="center=True needs fit_intercept=True") as refused:
            clf.fit(*digits)
        assert "\n" not in str(refused.value)
    with pytest.raises(ValueError, match="'center' parameter"):
        TopwolfClassifier(center="yes").fit(*digits)
