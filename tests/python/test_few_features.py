"""Sparse rows with millions of features of which few occur: a sparse coef_, and the same classifier as without them."""

import copy
import pickle

import numpy as np
import pytest
from scipy import sparse
from sklearn.base import clone

import topwolf
from topwolf import TopwolfClassifier, TopwolfClassifierCV

WIDE = 5_000_000


@pytest.fixture(params=[2, 6])
def rows(request):
    """Narrow and wide rows, and labels: feature f of the one is column 3 + 400,000 f of the other."""
    rng = np.random.default_rng(0)
    m = request.param
    y = np.arange(90) % m
    X = rng.normal(size=(90, 12)) * (rng.random((90, 12)) < 0.3)
    X[np.arange(90), y] += 1
    narrow = sparse.csr_matrix(X)
    wide = sparse.csr_matrix((narrow.data, narrow.indices * 400_000 + 3, narrow.indptr), shape=(90, WIDE))
    return narrow, wide, y


def test_coef_is_sparse_and_the_rest_is_the_same(rows, tmp_path):
    narrow, wide, y = rows
    clf, small = TopwolfClassifier().fit(wide, y), TopwolfClassifier().fit(narrow, y)
    assert sparse.issparse(clf.coef_) and clf.coef_.shape == (small.coef_.shape[0], WIDE)
    assert np.array_equal(clf.coef_[:, 3 :: 400_000][:, :12].toarray(), small.coef_)
    assert clf.coef_.nnz == small.coef_.size
    assert (clf.primal_, clf.dual_) == (small.primal_, small.dual_)
    assert np.array_equal(clf.decision_function(wide), small.decision_function(narrow))
    clf.save(tmp_path / "few.topwolf")
    for other in (topwolf.load(tmp_path / "few.topwolf"), pickle.loads(pickle.dumps(clf)), clone(clf).fit(wide, y)):
        assert np.array_equal(other.predict(wide), small.predict(narrow))
        assert other.primal_ == clf.primal_
    assert (tmp_path / "few.topwolf").stat().st_size < 20_000


def test_evaluation_and_search_see_the_same_features(rows):
    narrow, wide, y = rows
    clf = TopwolfClassifier().fit(wide, y, eval_set=[(wide, y)])
    small = TopwolfClassifier().fit(narrow, y, eval_set=[(narrow, y)])
    assert clf.evals_result_ == small.evals_result_
    found = TopwolfClassifierCV([0.1, 1], cv=3, scoring="f1_macro").fit(wide, y)
    expected = TopwolfClassifierCV([0.1, 1], cv=3, scoring="f1_macro").fit(narrow, y)
    assert np.array_equal(found.scores_, expected.scores_)


def test_arrays_of_a_sparse_coef_cannot_be_replaced_under_the_certificate(rows, tmp_path):
    _, wide, y = rows
    clf = TopwolfClassifier().fit(wide, y)
    for fitted in (clf, pickle.loads(pickle.dumps(clf)), copy.deepcopy(clf)):
        coef = fitted.coef_
        for name in ("data", "indices", "indptr"):
            with pytest.raises(ValueError, match="read-only"):
                getattr(coef, name)[:] = 0
            frozen = getattr(coef, name) * 0
            frozen.flags.writeable = False
            with pytest.raises(ValueError, match="read-only"):
                setattr(coef, name, frozen)
        for change in (lambda: coef.__imul__(2.0), lambda: coef.resize(1, 1), lambda: setattr(coef, "shape", coef.shape[::-1])):
            with pytest.raises(ValueError, match="read-only"):
                change()
        assert coef.shape == clf.coef_.shape and (coef != clf.coef_).nnz == 0 and fitted.primal_ == clf.primal_
    mine = clf.coef_.copy()
    mine.data = mine.data * 2
    assert np.array_equal((clf.coef_ * 2).toarray()[:, 3], mine.toarray()[:, 3])
    clf.coef_ = mine
    assert not hasattr(clf, "primal_")


def test_onnx_is_refused(rows):
    _, wide, y = rows
    clf = TopwolfClassifier().fit(wide, y)
    with pytest.raises(ValueError, match="coef_ is sparse"):
        clf.to_onnx()
