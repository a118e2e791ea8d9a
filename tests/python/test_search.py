"""TopwolfClassifierCV against GridSearchCV, which makes every fit by itself."""
import os
import pickle
import signal
import threading
import time
import warnings

import numpy as np
import pytest
import scipy.sparse as sp
from sklearn.base import clone
from sklearn.datasets import make_classification
from sklearn.exceptions import ConvergenceWarning, NotFittedError
from sklearn.model_selection import GridSearchCV, ShuffleSplit, StratifiedKFold

import topwolf
from topwolf import TopwolfClassifier, TopwolfClassifierCV

pytestmark = pytest.mark.filterwarnings("ignore:The best C:UserWarning")

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
    made = ~np.isnan(search.scores_)
    for f in range(4):
        np.testing.assert_allclose(search.scores_[made[:, f], f], grid.cv_results_[f"split{f}_test_score"][made[:, f]], atol=1e-12)
        np.testing.assert_allclose(search.cv_results_[f"split{f}_test_score"], search.scores_[:, f])
    means = np.round(grid.cv_results_["mean_test_score"], 12)
    assert search.C_ == GRID[np.argmax(means)]
    assert search.best_score_ == pytest.approx(grid.best_score_)
    whole = made.all(axis=1)
    np.testing.assert_array_equal(search.cv_results_["rank_test_score"][whole], 1 + (means[None, whole] > means[whole, None]).sum(axis=1))
    np.testing.assert_allclose(search.cv_results_["std_test_score"][whole], grid.cv_results_["std_test_score"][whole])
    alone = TopwolfClassifier(C=search.C_, **options, **PRECISE).fit(X, y)
    np.testing.assert_array_equal(search.coef_, alone.coef_)
    assert (search.cv_results_["relative_gap"][made] <= 1e-7).all()
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


def test_a_mix_of_scores(data):
    X, y = data
    options = {"Cs": [0.1, 1.0], "cv": 3, "choose": "one_se"}  # one_se drops nothing
    top1, top3 = (TopwolfClassifierCV(**options, scoring=name).fit(X, y).scores_ for name in ("top1", "top3"))
    mix = TopwolfClassifierCV(**options, scoring="0.7*top1+0.3*top3").fit(X, y)
    np.testing.assert_allclose(mix.scores_, 0.7 * top1 + 0.3 * top3)
    alike = TopwolfClassifierCV(**options, scoring="top1+top3").fit(X, y)
    np.testing.assert_allclose(alike.scores_, (top1 + top3) / 2)
    costs = 2.0 * (1 - np.eye(5))
    with_costs = TopwolfClassifierCV(**options, scoring="top1+cost", cost_matrix=costs).fit(X, y)
    only_costs = TopwolfClassifierCV(**options, scoring="cost", cost_matrix=costs).fit(X, y)
    np.testing.assert_allclose(with_costs.scores_, 0.75 * only_costs.scores_)


@pytest.mark.parametrize(
    "scoring, saying",
    [
        ("top0", "scoring is 'top0', but it must be top1, .* or the name of one of scikit-learn's scorers"),
        ("top1+", "or a mix of them such as 0.7"),
        ("-1*top1+top3", "scoring gives top1 the weight -1"),
        ("top3+top3", "names top3 twice"),
        ("top9", "top9 error of 5 classes is always 0"),
        (3, "scoring"),
    ],
)
def test_scores_that_are_none(data, scoring, saying):
    with pytest.raises(ValueError, match=saying):
        TopwolfClassifierCV([1.0], scoring=scoring).fit(*data)


def test_one_standard_error(data):
    X, y = data
    grid = np.logspace(-3, 1, 9)
    search = TopwolfClassifierCV(grid, choose="one_se").fit(X, y)
    mean = search.scores_.mean(axis=1)
    best = np.argmax(np.round(mean, 12))
    reach = search.scores_[best].std(ddof=1) / np.sqrt(5)
    assert search.C_ == grid[mean >= mean[best] - reach].min() < grid[best]
    assert search.Cs_[search.best_index_] == search.C_ and search.best_score_ == pytest.approx(mean[search.best_index_])
    alone = TopwolfClassifier(C=search.C_).fit(X, y)
    np.testing.assert_array_equal(search.coef_, alone.coef_)


def test_the_end_of_the_grid_is_warned_of(data):
    with pytest.warns(UserWarning, match="The best C, 1e-05, is an end of Cs"):
        TopwolfClassifierCV([1e-6, 1e-5]).fit(*data)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        TopwolfClassifierCV([1.0]).fit(*data)  # one value has no ends


def test_a_fold_of_one_class(data):
    X, y = data
    folds = [(np.arange(120), np.arange(120, 240)), (np.flatnonzero(y == "bee"), np.flatnonzero(y != "bee"))]
    with pytest.raises(ValueError, match="fold 2 trains on rows of a single class"):
        TopwolfClassifierCV([1.0], cv=folds).fit(X, y)


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


def test_masks_are_folds_too(data):
    X, y = data
    folds = list(StratifiedKFold(3).split(X, y))
    masks = [tuple(np.isin(np.arange(len(y)), part) for part in pair) for pair in folds]
    expected = TopwolfClassifierCV([0.1, 1.0], cv=folds).fit(X, y)
    for cv in (masks, [tuple(part.tolist() for part in pair) for pair in masks]):
        np.testing.assert_array_equal(TopwolfClassifierCV([0.1, 1.0], cv=cv).fit(X, y).scores_, expected.scores_)
    for part, words in [(masks[0][0][:-1], "mask of shape"), (folds[0][0] + 0.5, "row numbers or masks, not float64")]:
        with pytest.raises(ValueError, match=words):
            TopwolfClassifierCV([1.0], cv=[(part, folds[0][1])] * 2).fit(X, y)


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
    [({"Cs": []}, ValueError), ({"Cs": [0.0, 1.0]}, ValueError), ({"Cs": [np.nan]}, ValueError), ({"Cs": [1, 10**400]}, ValueError), ({"Cs": 0}, ValueError),
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


# ---- A choice among all losses


def test_auto_chooses_the_loss_with_its_k(data):
    X, y = data
    search = TopwolfClassifierCV(GRID, loss="auto", scoring="top2").fit(X, y)
    table = search.cv_results_
    names = [(str(loss), k) for loss, k in zip(table["param_loss"][::4], table["param_k"][::4])]
    assert names == [("max_hinge", None), ("weighted_usunier", None), ("softmax", None), ("usunier", 4), ("top_k", 4)]
    assert search.scores_.shape == (20, 5) and not np.isnan(search.scores_[:, 0]).any() and np.isnan(search.scores_).any()
    at = search.best_index_
    assert (search.loss_, search.C_) == (table["param_loss"][at], table["param_C"][at]) and table["rank_test_score"][at] == 1
    whole = ~np.isnan(search.scores_).any(axis=1)
    assert search.best_score_ == pytest.approx(search.scores_[whole].mean(axis=1).max())
    alone = TopwolfClassifier(search.loss_, k=table["param_k"][at], C=search.C_).fit(X, y)
    np.testing.assert_array_equal(search.coef_, alone.coef_)
    assert search.relative_gap_ <= 1e-3 and search.status_ == "converged" and search.k_ == alone.k_
    assert hasattr(search, "predict_proba") == (search.loss_ == "softmax")
    one = TopwolfClassifierCV(GRID, loss="auto", scoring="top2", n_jobs=1).fit(X, y)
    np.testing.assert_array_equal(one.scores_, search.scores_)
    assert clone(search).loss == "auto"


def test_auto_with_another_scorer_and_with_two_classes(data):
    X, y = data
    search = TopwolfClassifierCV(GRID, loss="auto", scoring="f1_macro", cv=3).fit(X, y)
    assert set(search.cv_results_["param_k"]) == {None, 2, 4}
    two = TopwolfClassifierCV(GRID, loss="auto", scoring="neg_log_loss", cv=3)
    with pytest.raises(AttributeError, match="predict_proba"):  # the hinges' models have none
        two.fit(X, y)
    two.set_params(scoring=None).fit(X, np.isin(y, ["ant", "bee"]))
    assert list(two.cv_results_["param_loss"][::4]) == ["max_hinge", "softmax"] and two.coef_.shape == (1, 12)


@pytest.mark.parametrize("parameters", [{"k": 2}, {"rho": [2, 1]}, {"smoothing": 0.1}, {"temperature": 2.0}])
def test_auto_takes_no_parameters_of_one_loss(data, parameters):
    with pytest.raises(ValueError, match=f"takes no {list(parameters)[0]}"):
        TopwolfClassifierCV(loss="auto", **parameters).fit(*data)
    with pytest.raises(ValueError, match="loss"):
        TopwolfClassifier(loss="auto").fit(*data)


def test_auto_minds_a_time_limit():
    X, y = make_classification(4000, 40, n_informative=30, n_classes=20, random_state=0)
    with pytest.warns(ConvergenceWarning, match="time_limit=2 s ended the search after .* fits. loss_='.*', C_=.* is the best"):
        search = TopwolfClassifierCV(loss="auto", scoring="top3", time_limit=2, tol=1e-5).fit(X, y)
    assert np.isnan(search.scores_[-1, 0]) and search.status_ == "time_limit"
    assert search.dual_ <= search.primal_ and search.predict(X[:3]).shape == (3,)
    with pytest.raises(TimeoutError, match="before a fit was finished"):
        TopwolfClassifierCV(loss="auto", time_limit=1e-6).fit(X, y)


# ---- Searches that do not come to their end

# The first C is found in one step, the second in no time that a test has.
ENDLESS = {"Cs": [1e-12, 1e6], "cv": 3, "solver": "lsfw", "tol": 1e-9, "max_iter": 10**9}


@pytest.fixture
def ctrl_c():
    """Presses it, as a callable; pytest's own handler is put aside."""
    previous = signal.signal(signal.SIGINT, signal.default_int_handler)
    yield lambda: os.kill(os.getpid(), signal.SIGINT)
    signal.signal(signal.SIGINT, previous)


def calls_when_finished(search, fits, call):
    """Once: the fit to all rows, too, is told when it is finished, and a second Ctrl-C means something else."""
    calls = iter([call])
    search._narrator = lambda: lambda finished, *rest: next(calls, lambda: None)() if finished >= fits else None
    return search


def check_finished_part(search, X, y):
    assert search.scores_.shape == (2, 3)
    assert not np.isnan(search.scores_[0]).any() and np.isnan(search.scores_[1]).all()
    assert search.C_ == 1e-12 and search.best_score_ == pytest.approx(search.scores_[0].mean())
    assert np.isnan(search.cv_results_["mean_test_score"][1])
    np.testing.assert_array_equal(search.cv_results_["rank_test_score"], [1, 2])
    alone = TopwolfClassifier(C=1e-12, solver="lsfw", tol=1e-9).fit(X, y)
    np.testing.assert_array_equal(search.coef_, alone.coef_)
    assert search.relative_gap_ <= 1e-9


def test_a_time_limit_keeps_what_was_finished(data):
    with pytest.warns(ConvergenceWarning, match="time_limit=2 s ended the search after 3 of 6 fits"):
        search = TopwolfClassifierCV(**ENDLESS, time_limit=2).fit(*data)
    check_finished_part(search, *data)
    assert search.status_ == "time_limit"


def test_a_time_limit_that_is_too_short(data):
    with pytest.raises(TimeoutError, match="before a fit was finished"):
        TopwolfClassifierCV(**{**ENDLESS, "Cs": [1e6]}, time_limit=0.2).fit(*data)


def test_ctrl_c_keeps_what_was_finished(data, ctrl_c):
    search = calls_when_finished(TopwolfClassifierCV(**ENDLESS), 3, ctrl_c)
    with pytest.warns(ConvergenceWarning, match="Ctrl-C ended the search after 3 of 6 fits"):
        search.fit(*data)
    check_finished_part(search, *data)
    assert search.status_ == "interrupted"


def test_ctrl_c_before_a_fit_is_finished(data, ctrl_c):
    timer = threading.Timer(0.3, ctrl_c)
    timer.start()
    with pytest.raises(KeyboardInterrupt):
        TopwolfClassifierCV(**{**ENDLESS, "Cs": [1e6]}).fit(*data)


@pytest.fixture(scope="module")
def hard():
    """Folds of a few rows that are fitted at once, and all rows, which are not."""
    rng = np.random.default_rng(0)
    X, y = rng.normal(size=(4000, 30)), np.arange(4000) % 5
    folds = [(np.arange(f, f + 10), np.arange(100, 200)) for f in (0, 20, 40)]
    return X, y, folds


def test_ctrl_c_ends_the_last_fit_too(hard, ctrl_c):
    X, y, folds = hard
    search = calls_when_finished(TopwolfClassifierCV([1e4], cv=folds, tol=1e-10, max_iter=10**8), 3, ctrl_c)
    with pytest.warns(ConvergenceWarning, match="Ctrl-C ended the fit to all rows"):
        search.fit(X, y)
    assert search.status_ == "interrupted" and not np.isnan(search.scores_).any()
    assert search.predict(X[:3]).shape == (3,)


def test_a_second_ctrl_c_abandons(hard, ctrl_c):
    X, y, folds = hard

    def twice():
        timer = threading.Timer(1.0, ctrl_c)
        timer.start()
        ctrl_c()

    search = calls_when_finished(TopwolfClassifierCV([1e4, 1e5, 1e6, 1e7], cv=folds, tol=1e-10, max_iter=10**8, n_jobs=1), 1, twice)
    start = time.perf_counter()
    with pytest.raises(KeyboardInterrupt):
        search.fit(X, y)
    assert time.perf_counter() - start < 60
    assert not hasattr(search, "coef_")


def test_an_error_of_another_kind_ends_everything(data):
    def fail():
        raise RuntimeError("no more paper")

    with pytest.raises(RuntimeError, match="no more paper"):
        calls_when_finished(TopwolfClassifierCV(**ENDLESS), 1, fail).fit(*data)


def test_values_that_cannot_win_are_dropped():
    X, y = make_classification(200, 30, n_informative=6, n_classes=4, class_sep=1.5, random_state=1)
    grid = np.logspace(-4, 3, 8)
    search = TopwolfClassifierCV(grid, cv=5).fit(X, y)
    whole = TopwolfClassifierCV(grid, cv=5, scoring=lambda clf, X, y: clf.score(X, y)).fit(X, y)
    dropped = np.isnan(search.scores_)
    assert dropped.any() and not np.isnan(whole.scores_).any()
    assert search.C_ == whole.C_ and search.status_ == "converged"
    np.testing.assert_allclose(search.scores_[~dropped], whole.scores_[~dropped])
    assert (search.cv_results_["rank_test_score"][dropped.any(axis=1)] > 1).all()
    assert not np.isnan(search.cv_results_["mean_test_score"]).any()


def test_verbose_counts_the_fits(data, capsys):
    TopwolfClassifierCV(np.logspace(-2, 3, 12), cv=5, verbose=1, tol=1e-6, max_iter=100000).fit(*data)
    assert " fits, " in capsys.readouterr().out
