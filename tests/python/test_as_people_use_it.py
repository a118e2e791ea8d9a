"""What people try in their first hours: splitters, grids, labels of another kind, files that are not there, callbacks."""

import errno
import subprocess
import sys

import numpy as np
import pytest
from sklearn.datasets import load_digits, load_iris
from sklearn.model_selection import GridSearchCV, GroupKFold, PredefinedSplit

from topwolf import TopwolfClassifier, TopwolfClassifierCV, load


@pytest.fixture(scope="module")
def digits():
    X, y = load_digits(return_X_y=True)
    return X / 16.0, y


@pytest.fixture(scope="module")
def iris():
    return load_iris(return_X_y=True)


@pytest.fixture(scope="module")
def fitted(digits):
    return TopwolfClassifier("usunier", k=3).fit(*digits)


# ---- Searches


def test_one_fold_will_do(iris):
    X, y = iris
    fold = np.where(np.arange(len(y)) % 3 == 0, 0, -1)
    clf = TopwolfClassifierCV([0.1, 1.0, 10.0], cv=PredefinedSplit(fold)).fit(X, y)
    assert clf.scores_.shape == (3, 1)
    one = TopwolfClassifier(C=1.0).fit(X[fold < 0], y[fold < 0])
    assert clf.scores_[1, 0] == pytest.approx(one.score(X[fold == 0], y[fold == 0]), abs=0.03)
    best = TopwolfClassifierCV([0.1, 1.0, 10.0], cv=PredefinedSplit(fold), choose="one_se").fit(X, y)
    assert best.C_ == clf.C_  # of one fold no error is known


def test_groups_stay_together(iris):
    X, y = iris
    groups = np.random.default_rng(0).integers(0, 12, len(y))
    clf = TopwolfClassifierCV([0.1, 1.0], cv=GroupKFold(4)).fit(X, y, groups=groups)
    assert clf.scores_.shape == (2, 4)
    own = [(a, b) for a, b in GroupKFold(4).split(X, y, groups)]
    np.testing.assert_array_equal(clf.scores_, TopwolfClassifierCV([0.1, 1.0], cv=own).fit(X, y).scores_)
    with pytest.raises(ValueError, match="groups"):
        TopwolfClassifierCV([1.0], cv=GroupKFold(4)).fit(X, y)
    with pytest.raises(ValueError, match="inconsistent numbers of samples"):
        TopwolfClassifierCV([1.0], cv=GroupKFold(4)).fit(X, y, groups=groups[1:])


def test_groups_are_routed(iris):
    from sklearn import config_context
    from sklearn.pipeline import make_pipeline

    X, y = iris
    groups = np.arange(len(y)) % 7
    with config_context(enable_metadata_routing=True):
        clf = TopwolfClassifierCV([1.0], cv=GroupKFold(3)).set_fit_request(groups=True)
        pipe = make_pipeline(clf).fit(X, y, groups=groups)
        assert pipe[-1].scores_.shape == (1, 3)


def test_a_grid_goes_over_losses_and_their_parameters(digits):
    X, y = digits
    grid = {"loss": ["max_hinge", "usunier", "weighted_top_k", "softmax"], "k": [1, 3], "rho": [None, [2.0, 1.0]]}
    search = GridSearchCV(TopwolfClassifier(C=0.1, tol=0.1), grid, cv=2).fit(X[:300], y[:300])
    assert np.isfinite(search.cv_results_["mean_test_score"]).all()
    plain = TopwolfClassifier(C=0.1).fit(X[:300], y[:300])
    with_k = TopwolfClassifier(C=0.1, k=3, rho=[1.0], temperature=2.0).fit(X[:300], y[:300])
    np.testing.assert_array_equal(plain.coef_, with_k.coef_)
    assert with_k.k_ == 1 and with_k.get_params()["k"] == 3


def test_the_last_line_of_a_search_is_its_last_fit(iris, capsys):
    TopwolfClassifierCV([0.1, 1.0], cv=3, verbose=1).fit(*iris)
    assert capsys.readouterr().out.splitlines()[-1].startswith("7 of 7 fits")


# ---- Labels and weights


def test_labels_of_another_kind_are_an_error(digits, fitted):
    X, y = digits
    for call in (fitted.top_k_error, fitted.mean_cost, fitted.calibrate):
        with pytest.raises(ValueError, match="y holds text, but the classes are numbers"):
            call(X, y.astype(str))
        with pytest.raises(ValueError, match="y holds text, but the classes are numbers"):
            call(X, y.astype(str).astype(object))
    with pytest.raises(ValueError, match="y holds text"):
        TopwolfClassifier().fit(X, y, eval_set=[(X, y.astype(str))])
    text = TopwolfClassifier().fit(X, y.astype(str))
    with pytest.raises(ValueError, match="y holds numbers, but the classes are text"):
        text.top_k_error(X, y)
    assert text.top_k_error(X, y.astype(str).astype(object), k=1) == text.top_k_error(X, y.astype(str), k=1) < 0.05
    assert fitted.top_k_error(X, y.astype(float)) == fitted.top_k_error(X, y.astype(object)) == fitted.top_k_error(X, y)


@pytest.mark.parametrize("method", ["top_k_error", "mean_cost"])
def test_weights_of_another_length_are_said_so(digits, fitted, method):
    X, y = digits
    call = getattr(fitted, method)
    with pytest.raises(ValueError, match=r"sample_weight has 3 entries, but X has 1797 rows"):
        call(X, y, sample_weight=[1, 2, 3])
    with pytest.raises(ValueError, match="sample_weight must be at least 0"):
        call(X, y, sample_weight=np.zeros(len(y)))
    with pytest.raises(ValueError, match="NaN"):
        call(X, y, sample_weight=np.full(len(y), np.nan))
    assert call(X, y, sample_weight=np.ones(len(y))) == pytest.approx(call(X, y))


# ---- Files


def test_a_model_that_is_not_there(tmp_path):
    with pytest.raises(FileNotFoundError) as error:
        load(tmp_path / "nope")
    assert error.value.errno == errno.ENOENT and error.value.filename == str(tmp_path / "nope")
    with pytest.raises(IsADirectoryError):
        load(tmp_path)


def test_a_file_remembers_how_to_fit(digits, tmp_path):
    X, y = digits
    weights = {j: 1.0 + 0.1 * j for j in range(10)}
    clf = TopwolfClassifier("top_k", k=2, C=0.5, tol=1e-2, solver="apg", class_weight=weights, random_state=3, max_iter=5000)
    again = load(save(clf.fit(X, y), tmp_path / "a"))
    for name in ("loss", "k", "C", "tol", "solver", "class_weight", "random_state", "max_iter"):
        assert again.get_params()[name] == pytest.approx(clf.get_params()[name]), name
    many = TopwolfClassifier(class_weight={np.int64(j): 2.0 for j in range(200)})
    y = np.arange(len(y)) % 200
    assert load(save(many.set_params(tol=0.5).fit(X, y), tmp_path / "b")).class_weight == many.class_weight
    assert load(save(TopwolfClassifier(class_weight="balanced", tol=0.5).fit(X, y), tmp_path / "c")).class_weight == "balanced"
    plain = load(save(TopwolfClassifier(tol=0.5, random_state=np.random.RandomState(0)).fit(X, y), tmp_path / "d"))
    assert (plain.solver, plain.random_state, plain.tol) == ("auto", None, 0.5)


def save(clf, path):
    clf.save(path)
    return path


# ---- Callbacks, tables, notebooks


def test_callbacks_of_scikit_learn_see_every_pass(digits):
    X, y = digits

    class Watcher:
        def __init__(self, stop_after=None):
            self.seen, self.stop_after = [], stop_after

        def setup(self, estimator, context):
            self.seen.append("setup")

        def teardown(self, estimator, context):
            self.seen.append("teardown")

        def on_fit_task_begin(self, estimator, context):
            pass

        def on_fit_task_end(self, estimator, context, *, X, y, fitted_estimator):
            self.seen.append((context.task_name, fitted_estimator.score(X, y)))
            return self.stop_after is not None and context.task_id + 1 >= self.stop_after

    watcher = Watcher()
    clf = TopwolfClassifier(C=0.1).set_callbacks(watcher).fit(X, y)
    assert watcher.seen[0] == "setup" and watcher.seen[-1] == "teardown"
    passes = [score for name, score in watcher.seen[1:-1] if name == "pass"]
    assert len(passes) == len(clf.trace_["iteration"]) and passes[-1] > 0.9
    assert watcher.seen[-2] == ("fit", clf.score(X, y))
    stopper = Watcher(stop_after=2)
    assert TopwolfClassifier(C=0.1, tol=1e-9).set_callbacks(stopper).fit(X, y).status_ == "interrupted"
    plain = TopwolfClassifier(C=0.1).fit(X, y)
    np.testing.assert_array_equal(plain.coef_, clf.coef_)


def test_tables_of_polars_and_pyarrow(iris):
    X, y = iris
    expected = TopwolfClassifier().fit(X, y)
    names = ["a", "b", "c", "d"]
    import polars
    import pyarrow

    for table in (polars.DataFrame(X, schema=names), pyarrow.table(dict(zip(names, X.T)))):
        clf = TopwolfClassifier().fit(table, y)
        np.testing.assert_array_equal(clf.coef_, expected.coef_)
        assert list(clf.feature_names_in_) == names
        np.testing.assert_array_equal(clf.predict(table), expected.predict(X))


def test_notebooks_show_the_certificate(digits, fitted):
    page = fitted._repr_html_()
    assert "above the optimum" in page and "<svg" in page and "TopwolfClassifier" in page
    assert fitted._repr_mimebundle_()["text/html"] == page or "above the optimum" in fitted._repr_mimebundle_()["text/html"]
    assert "above the optimum" not in TopwolfClassifier()._repr_html_()
    searched = TopwolfClassifierCV([0.1], cv=2, tol=0.1).fit(*digits)
    assert "above the optimum" in searched._repr_html_()
    changed = TopwolfClassifier().fit(*digits)
    changed.coef_ = changed.coef_ * 2
    assert "above the optimum" not in changed._repr_html_()


def test_partial_fit_is_not_faked():
    assert not hasattr(TopwolfClassifier(), "partial_fit")
    assert "partial_fit" in TopwolfClassifier.__doc__
    with pytest.raises(AttributeError, match="warm_start"):
        TopwolfClassifier().partial_fit


# ---- Types

PROGRAM = """
from typing import assert_type
import numpy as np
from topwolf import IterationRecord, TopwolfClassifier, TopwolfClassifierCV

X, y = np.ones((4, 2)), np.array([0, 1, 0, 1])
clf = TopwolfClassifier("usunier", k=1).fit(X, y)
assert_type(clf, TopwolfClassifier)
assert_type(TopwolfClassifierCV([1.0]).fit(X, y), TopwolfClassifierCV)
assert_type(clf.predict_top_k(X, k=1), np.ndarray)
labels, scores = clf.predict_top_k(X, k=1, return_scores=True)
assert_type(scores, np.ndarray)
assert_type(clf.top_k_error(X, y), float)

def watch(record: IterationRecord) -> bool:
    return bool(record.weights().max() > 1e9)

clf.fit(X, y, callback=watch)
assert_type(TopwolfClassifier(memory="1G").fit(["a.npy", "b.npy"], "y.npy"), TopwolfClassifier)
assert_type(clf.fit_iter(lambda: [(X, y)], folder="."), TopwolfClassifier)
"""


@pytest.mark.parametrize("checker", [["mypy", "--ignore-missing-imports"], ["pyright", "--pythonpath", sys.executable]])
def test_type_checkers_agree(tmp_path, checker):
    program = tmp_path / "program.py"
    program.write_text(PROGRAM)
    done = subprocess.run([sys.executable, "-m", *checker, program.name], cwd=tmp_path, capture_output=True, text=True)
    assert done.returncode == 0, done.stdout + done.stderr
    program.write_text(PROGRAM + "clf.predict_top_k(X, k='one')\n")
    assert subprocess.run([sys.executable, "-m", *checker, program.name], cwd=tmp_path, capture_output=True).returncode == 1


# ---- Pages


def test_a_page_compares_with_others(digits, tmp_path):
    from sklearn.linear_model import LogisticRegression
    from sklearn.svm import LinearSVC

    X, y = digits
    train, test = slice(0, 1200), slice(1200, None)
    ours = TopwolfClassifier("usunier", k=3, C=0.1).fit(X[train], y[train])
    others = [clf.fit(X[train], y[train]) for clf in (LinearSVC(), LogisticRegression())]
    ours.report(X[test], y[test], tmp_path / "c.html", others=others)
    page = (tmp_path / "c.html").read_text()
    for part in ("LinearSVC", "LogisticRegression", "usunier, k = 3", "above the optimum", "Where they differ"):
        assert part in page
    for clf in (ours, *others):
        assert f"{100 * (1 - clf.score(X[test], y[test])):.2f} %" in page
    ours.report(X[test], y[test], tmp_path / "one.html", labels=["mine"])
    assert "mine" in (tmp_path / "one.html").read_text() and "Where they differ" not in (tmp_path / "one.html").read_text()
    with pytest.raises(ValueError, match="y holds text"):
        ours.report(X[test], y[test].astype(str), tmp_path / "x.html")
    with pytest.raises(ValueError, match="inconsistent numbers of samples"):
        ours.report(X[test], y[train], tmp_path / "x.html")
    assert not (tmp_path / "x.html").exists()
