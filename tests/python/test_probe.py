"""topwolf.probe: a path over C in one call."""

import warnings

import numpy as np
import pytest
import scipy.sparse as sp
from sklearn.datasets import make_classification
from sklearn.exceptions import ConvergenceWarning

import topwolf
from topwolf import TopwolfClassifier, TopwolfClassifierCV

pytestmark = pytest.mark.filterwarnings("ignore:The best C:UserWarning")

GRID = [0.01, 0.1, 1.0, 10.0]


@pytest.fixture(scope="module")
def rows():
    X, y = make_classification(400, 12, n_informative=8, n_classes=5, class_sep=0.8, random_state=0)
    y = np.array(["ant", "bee", "cat", "dog", "elk"])[y]
    return X[:250], y[:250], X[250:], y[250:]


@pytest.mark.parametrize("convert", [np.asarray, sp.csr_array, lambda X: X.astype(np.float16)])
def test_it_finds_what_single_fits_find(rows, convert):
    X, y, X_val, y_val = convert(rows[0]), rows[1], convert(rows[2]), rows[3]
    found = topwolf.probe(X, y, X_val, y_val, Cs=GRID, scoring="top1+top2", loss="usunier", k=2, tol=1e-4)
    np.testing.assert_array_equal(found.table["C"], GRID)
    for C, *errors, gap in zip(*(found.table[name] for name in ("C", "top_1_error", "error", "relative_gap"))):
        alone = TopwolfClassifier("usunier", k=2, C=C, tol=1e-4).fit(X, y)
        top1, top2 = (alone.top_k_error(X_val, y_val, k=k) for k in (1, 2))
        np.testing.assert_allclose(errors, [top1, (top1 + top2) / 2], atol=2 / len(y_val))  # within the tolerance
        assert gap <= 1e-4
    best = int(np.argmin(np.round(found.table["error"], 12)))
    assert found.C == GRID[best] and found.errors["top_1_error"] == found.table["top_1_error"][best]
    clf = found.estimator
    assert clf.C == found.C and clf.primal_ == found.table["primal"][best] and not found.refitted
    assert clf.top_k_error(X_val, y_val, k=1) == pytest.approx(found.errors["top_1_error"])
    assert found.status == clf.status_ == "converged" and (found.table["status"] == "converged").all()
    assert repr(found).startswith(f"<Probe: C={found.C:g} of 4, top1+top2 error")


def test_a_refit_has_all_rows(rows):
    X, y, X_val, y_val = rows
    found = topwolf.probe(X, y, X_val, y_val, Cs=GRID, refit=True)
    alone = TopwolfClassifier(C=found.C).fit(np.vstack([X, X_val]), np.append(y, y_val))
    np.testing.assert_array_equal(found.estimator.coef_, alone.coef_)
    assert found.refitted and found.estimator.primal_ == alone.primal_
    before = topwolf.probe(X, y, X_val, y_val, Cs=GRID)
    assert found.errors == before.errors and found.C == before.C


def test_without_validation_rows_it_is_a_search(rows):
    X, y = rows[:2]
    found = topwolf.probe(X, y, Cs=GRID, cv=4, scoring="top2")
    search = TopwolfClassifierCV(GRID, cv=4, scoring="top2").fit(X, y)
    assert found.C == search.C_ and found.refitted and found.errors["error"] == pytest.approx(1 - search.best_score_)
    np.testing.assert_allclose(found.table["error"], 1 - search.cv_results_["mean_test_score"])
    np.testing.assert_array_equal(found.estimator.coef_, search.coef_)
    auto = topwolf.probe(X, y, Cs=GRID, loss="auto")
    assert auto.estimator.loss_ in auto.table["loss"]


def test_labels_that_are_not_known_are_errors(rows):
    X, y, X_val, y_val = rows
    found = topwolf.probe(X, y, X_val, np.full(len(y_val), "zebra"), Cs=[1.0])
    assert found.errors["top_1_error"] == found.errors["error"] == 1.0


def test_two_classes_and_weights(rows):
    X, y, X_val, y_val = rows
    weights = np.random.default_rng(0).integers(0, 3, len(y)).astype(float)
    found = topwolf.probe(X, y == "ant", X_val, y_val == "ant", Cs=[0.1, 1.0], sample_weight=weights, tol=1e-6)
    alone = TopwolfClassifier(C=found.C, tol=1e-6).fit(X, y == "ant", sample_weight=weights)
    assert found.estimator.coef_.shape == (1, 12)
    np.testing.assert_allclose(found.estimator.coef_, alone.coef_, atol=1e-2)


@pytest.mark.parametrize("folds", [False, True])
def test_a_page(rows, tmp_path, folds):
    X, y, X_val, y_val = rows
    held_out = () if folds else (X_val, y_val)
    topwolf.probe(X, y, *held_out, Cs=GRID, report=tmp_path / "p.html", tol=1e-4)
    page = (tmp_path / "p.html").read_text()
    assert "topwolf.probe(Cs=[0.01" in page and "relative gap of at most" in page and "<svg" in page
    assert [path.name for path in tmp_path.iterdir()] == ["p.html"]


def test_a_time_limit_keeps_the_best_so_far():
    X, y = make_classification(4000, 40, n_informative=30, n_classes=20, class_sep=3.0, random_state=0)
    with pytest.warns(ConvergenceWarning, match="The probe ended with status time_limit: .* of 900 points were tried"):
        found = topwolf.probe(X[:3000], y[:3000], X[3000:], y[3000:], Cs=900, time_limit=0.3, tol=1e-6)
    missing = np.isnan(found.table["error"])
    assert missing.any() and not missing.all() and (found.table["status"][missing] == "not_tried").all()
    assert len(found.table["C"]) == 900 and found.estimator.dual_ <= found.estimator.primal_


def test_the_end_of_the_grid_is_warned_of(rows):
    with pytest.warns(UserWarning, match="The best C, 1e-0[56], is an end of Cs"):
        topwolf.probe(*rows, Cs=[1e-6, 1e-5])
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        topwolf.probe(*rows, Cs=[1.0])


@pytest.mark.parametrize(
    "options, error, saying",
    [
        ({"X_val": None}, ValueError, "belong together"),
        ({"C": 1.0}, ValueError, "takes no C"),
        ({"warm_start": True}, ValueError, "takes no warm_start"),
        ({"X_val": None, "y_val": None, "refit": False}, ValueError, "refit=False needs X_val"),
        ({"scoring": "cost"}, ValueError, "has costs"),
        ({"scoring": "accuracy"}, ValueError, "scoring is 'accuracy'"),
        ({"scoring": "top5"}, ValueError, "top5 error of 5 classes is always 0"),
        ({"Cs": [0.0]}, ValueError, "above 0"),
        ({"loss": "hinge"}, ValueError, "loss"),
        ({"kernel": "rbf"}, TypeError, "kernel"),
        ({"X_val": np.zeros((3, 2)), "y_val": ["ant"] * 3}, ValueError, "2 features"),
    ],
)
def test_what_is_refused(rows, options, error, saying):
    X, y, X_val, y_val = rows
    with pytest.raises(error, match=saying):
        topwolf.probe(X, y, **{"X_val": X_val, "y_val": y_val, **options})
