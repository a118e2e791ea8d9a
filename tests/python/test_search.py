"""TopwolfClassifierCV against GridSearchCV, which makes every fit by itself."""
import os
import pickle
import signal
import threading
import time

import numpy as np
import pytest
import scipy.sparse as sp
from sklearn.base import clone
from sklearn.datasets import make_classification
from sklearn.exceptions import NotFittedError
from sklearn.model_selection import GridSearchCV, ShuffleSplit, StratifiedKFold

import topwolf
from topwolf import TopwolfClassifier, TopwolfClassifierCV

GRID = [0.01, 0.1, 1.0, 10.0]
PRECISE = {"tol": 1e-7, "max_iter": 100000}


@pytest.fixture(scope="module")
def data():
    X, y = make_classification(240, 12, n_informative=8, n_classes=5, class_sep=0.8, random_state=0)
    return X, np.array(["ant", "bee", "cat", "dog", "elk"])[y]


@pytest.mark.parametrize("options", [{}, {"loss": "usunier", "k": 2}, {"loss": "top_k", "fit_intercept": False}])
@pytest.mark.parametrize("convert", [np.asarray, sp.csr_array])
def test_finds_what_grid_search_finds(data, options, convert):
    X, y = convert(data[0]), data[1]
    grid = GridSearchCV(TopwolfClassifier(**options, **PRECISE), {"C": GRID}, cv=4).fit(X, y)
    search = TopwolfClassifierCV(GRID, cv=4, **options, **PRECISE).fit(X, y)
    for f in range(4):
        np.testing.assert_allclose(search.scores_[:, f], grid.cv_results_[f"split{f}_test_score"], atol=1e-12)
        np.testing.assert_allclose(search.cv_results_[f"split{f}_test_score"], search.scores_[:, f])
    means = np.round(grid.cv_results_["mean_test_score"], 12)
    assert search.C_ == GRID[np.argmax(means)]
    assert search.best_score_ == pytest.approx(grid.best_score_)
    np.testing.assert_array_equal(search.cv_results_["rank_test_score"], 1 + (means[None, :] > means[:, None]).sum(axis=1))
    np.testing.assert_allclose(search.cv_results_["std_test_score"], grid.cv_results_["std_test_score"])
    alone = TopwolfClassifier(C=search.C_, **options, **PRECISE).fit(X, y)
    np.testing.assert_array_equal(search.coef_, alone.coef_)
    assert (search.cv_results_["relative_gap"] <= 1e-7).all()
    assert search.status_ == "converged"


@pytest.mark.parametrize("scoring", ["f1_macro", "balanced_accuracy", lambda clf, X, y: -clf.top_k_error(X, y, k=2)])
def test_other_scorers(data, scoring):
    X, y = data
    grid = GridSearchCV(TopwolfClassifier(**PRECISE), {"C": GRID}, cv=3, scoring=scoring).fit(X, y)
    search = TopwolfClassifierCV(GRID, cv=3, scoring=scoring, **PRECISE).fit(X, y)
    np.testing.assert_allclose(search.cv_results_["mean_test_score"], grid.cv_results_["mean_test_score"], atol=1e-12)


def test_top_k_scores(data):
    X, y = data
    search = TopwolfClassifierCV([1.0], cv=3, scoring="top3", **PRECISE).fit(X, y)
    folds = StratifiedKFold(3).split(X, y)
    want = [1 - TopwolfClassifier(**PRECISE).fit(X[a], y[a]).top_k_error(X[b], y[b], k=3) for a, b in folds]
    np.testing.assert_allclose(search.scores_[0], want)


def test_two_classes_and_scorers_of_thresholds(data):
    X, y = data[0], np.isin(data[1], ["ant", "bee", "cat"])
    grid = GridSearchCV(TopwolfClassifier(**PRECISE), {"C": GRID}, cv=3, scoring="roc_auc").fit(X, y)
    search = TopwolfClassifierCV(GRID, cv=3, scoring="roc_auc", **PRECISE).fit(X, y)
    np.testing.assert_allclose(search.cv_results_["mean_test_score"], grid.cv_results_["mean_test_score"], atol=1e-6)
    assert search.coef_.shape == (1, 12)


def test_any_splitter(data):
    X, y = data
    splitter = ShuffleSplit(3, test_size=0.3, random_state=0)
    search = TopwolfClassifierCV([0.1, 1.0], cv=splitter).fit(X, y)
    assert search.scores_.shape == (2, 3)
    again = TopwolfClassifierCV([0.1, 1.0], cv=list(splitter.split(X, y))).fit(X, y)
    np.testing.assert_array_equal(search.scores_, again.scores_)


def test_weights_count_in_training_and_in_scores(data):
    X, y = data
    weights = np.random.default_rng(0).integers(0, 3, len(y)).astype(float)
    search = TopwolfClassifierCV([1.0], cv=3, **PRECISE).fit(X, y, sample_weight=weights)
    want = []
    for a, b in StratifiedKFold(3).split(X, y):
        clf = TopwolfClassifier(**PRECISE).fit(X[a], y[a], sample_weight=weights[a])
        want.append(clf.score(X[b], y[b], sample_weight=weights[b]))
    np.testing.assert_allclose(search.scores_[0], want)


def test_without_refit_there_is_nothing_to_predict_with(data):
    search = TopwolfClassifierCV([0.1, 1.0], cv=3, refit=False).fit(*data)
    assert search.C_ in (0.1, 1.0)
    with pytest.raises(NotFittedError):
        search.predict(data[0])


def test_files_and_pickles(data, tmp_path):
    X, y = data
    search = TopwolfClassifierCV([0.1, 1.0], cv=3).fit(X, y)
    search.save(tmp_path / "m.topwolf")
    np.testing.assert_array_equal(topwolf.load(tmp_path / "m.topwolf").predict(X), search.predict(X))
    np.testing.assert_array_equal(pickle.loads(pickle.dumps(search)).predict(X), search.predict(X))
    assert clone(search).get_params() == search.get_params()
    assert "C" not in search.get_params()


@pytest.mark.parametrize(
    "parameters, error",
    [({"Cs": []}, ValueError), ({"Cs": [0.0, 1.0]}, ValueError), ({"Cs": [np.nan]}, ValueError), ({"Cs": 0}, ValueError),
     ({"scoring": "nothing"}, ValueError), ({"cv": 1}, ValueError), ({"refit": "yes"}, ValueError), ({"k": 7, "loss": "top_k"}, ValueError)],
)
def test_bad_parameters(data, parameters, error):
    with pytest.raises(error):
        TopwolfClassifierCV(**parameters).fit(*data)


def test_a_judge_that_fails_is_heard(data):
    def scorer(clf, X, y):
        raise RuntimeError("no score today")

    with pytest.raises(RuntimeError, match="no score today"):
        TopwolfClassifierCV([1.0], cv=3, scoring=scorer).fit(*data)


def test_a_time_limit_that_is_too_short(data):
    with pytest.raises(TimeoutError):
        TopwolfClassifierCV(9, tol=1e-14, max_iter=10**8, time_limit=0.01).fit(*data)


def test_ctrl_c(data):
    previous = signal.signal(signal.SIGINT, signal.default_int_handler)
    try:
        timer = threading.Timer(0.3, lambda: os.kill(os.getpid(), signal.SIGINT))
        timer.start()
        start = time.perf_counter()
        with pytest.raises(KeyboardInterrupt):
            TopwolfClassifierCV(9, tol=1e-15, max_iter=10**8).fit(*data)
        assert time.perf_counter() - start < 60
    finally:
        timer.cancel()
        signal.signal(signal.SIGINT, previous)


def test_verbose_counts_the_fits(data, capsys):
    TopwolfClassifierCV(np.logspace(-2, 3, 12), cv=5, verbose=1, tol=1e-6, max_iter=100000).fit(*data)
    assert "of 61 fits" in capsys.readouterr().out
