"""The experiments on rows small enough to check by another way."""

import itertools

import experiments
import numpy as np
import pytest
from experiments import PAPER_LOSS, Loss
from sets import Rows
from sklearn.model_selection import StratifiedKFold
from topwolf import TopwolfClassifier


@pytest.fixture(scope="module")
def rows():
    rng = np.random.default_rng(3)
    y = np.arange(180) % 12
    X = (rng.normal(size=(12, 10))[y] + rng.normal(size=(180, 10))).astype(np.float32)
    return Rows("Toy", "generated", X / np.linalg.norm(X, axis=1, keepdims=True), y)


def weighted_usunier(W, rows):
    """P at C = 1 by its definition, without smoothing, in double."""
    every = np.arange(len(rows.y))
    scores = rows.X.astype(np.float64) @ W[:, :-1].T + W[:, -1]
    margins = scores + 1.0 - scores[every, rows.y][:, None]
    margins[every, rows.y] = 0.0
    best = np.sort(np.maximum(margins, 0.0), axis=1)[:, ::-1][:, :5]
    return (W**2).sum() / (2 * len(rows.y)) + (best @ experiments.RHO).mean()


def test_errors_count_ranks_and_classes_never_seen():
    W = np.array([[1.0, 0.0, 0.0], [0.0, 1.0, 0.0], [0.0, 0.0, 0.5]])  # the last column is the intercept
    X = np.array([[1.0, 0.2], [0.3, 0.6], [0.1, 0.4], [1.0, 0.0]], np.float32)
    classes, y = np.array([0, 2, 5]), np.array([0, 5, 0, 3])
    # ranks: 0 (1.0 first), 1 (0.6 before 0.5), 2 (0.5 and 0.4 before 0.1), never
    assert experiments.errors(W, classes, X, y, (1, 2, 3)) == [0.75, 0.5, 0.25]


@pytest.mark.parametrize("score, expected", [(0.0, [2 / 3, 1 / 3]), (np.nan, [1.0, 1.0])])
def test_of_equal_scores_the_first_class_is_best_and_no_number_is_worst(score, expected):
    W = np.full((3, 2), score)
    assert experiments.errors(W, np.arange(3), np.ones((3, 1), np.float32), np.arange(3), (1, 2)) == pytest.approx(expected)


@pytest.mark.parametrize("method", ["PG", "StdFW", "LSFW"])
def test_batch_methods_are_judged_at_their_last_iterate(rows, method):
    W, classes = experiments.train_with(method, PAPER_LOSS, 1.0, rows.X, rows.y, 7)
    assert W.shape == (12, 11) and list(classes) == list(range(12))
    curve = experiments.batch_curve(rows, method, 0.0, 9)
    assert curve["iteration"] == list(range(1, 9))
    assert curve["primal"][6] == pytest.approx(weighted_usunier(W, rows), rel=1e-5)


def test_a_method_that_has_nowhere_to_go_is_taken_where_it_stands():
    X, y = np.zeros((24, 3), np.float32), np.arange(24) % 12  # the intercept alone: solved after a few passes
    for C in (0.001, 1.0):
        W, _ = experiments.train_with("LSFW", Loss({"loss": "max_hinge"}), C, X, y, 2000)
        assert W.shape == (12, 4) and np.isfinite(W).all()


def test_a_point_on_blocks_curve_is_the_objective_after_that_pass(rows):
    curve = experiments.block_curve(rows, 0.0)
    seen = []
    clf = TopwolfClassifier(**PAPER_LOSS.parameters, solver="block", tol=experiments.OPTIMUM_GAP)
    clf.fit(rows.X.astype(np.float64), rows.y, callback=lambda record: seen.append((record.iterate_dual, record.weights())))
    dual, primal = zip(*((seen[t - 1][0], weighted_usunier(seen[t - 1][1], rows)) for t in curve["iteration"]))
    assert curve["primal"] == pytest.approx(primal, rel=1e-12) and curve["dual"] == pytest.approx(dual, rel=1e-12)
    assert curve["iteration"][:50] == list(range(1, 51)) and curve["iteration"][-1] >= 0.98 * len(seen) - 1
    assert len(curve["seconds"]) == len(curve["primal"]) and "cores of" in curve["machine"]


@pytest.mark.parametrize("smoothing", [0.0, 0.01])
@pytest.mark.parametrize("scale", [1.0, 30.0])
def test_all_methods_lie_above_the_optimum_and_block_reaches_it(rows, smoothing, scale):
    rows = rows._replace(X=rows.X * np.float32(scale))
    block = experiments.block_curve(rows, smoothing)
    best = block["optimum"]
    assert best["dual"] <= best["primal"] <= best["dual"] + 1e-9
    assert min(block["primal"]) == pytest.approx(best["primal"], abs=1e-6)
    for curve in (block, *(experiments.batch_curve(rows, method, smoothing, 100) for method in experiments.BATCH)):
        assert min(curve["primal"]) >= best["dual"] * (1 - 1e-5) and max(curve["dual"]) <= best["primal"] * (1 + 1e-5)


def test_without_the_optimum_there_is_no_curve(rows, monkeypatch):
    monkeypatch.setattr(experiments, "PATIENCE", 3)
    with pytest.raises(experiments.Unsolved, match="the optimum of Toy could be found only to a gap of 0"):
        experiments.block_curve(rows, 0.0)


def test_trials_of_all_methods_have_the_same_halves(rows):
    train, test = experiments.halves(rows, 4)
    np.testing.assert_array_equal(train, experiments.halves(rows, 4)[0])
    assert sorted([*train, *test]) == list(range(180)) and len(train) == 90
    assert not np.array_equal(train, experiments.halves(rows, 5)[0])


@pytest.mark.parametrize("method", ["PG", "StdFW", "LSFW"])
def test_where_features_are_many_the_span_of_the_rows_does(rows, method):
    turned = np.linalg.qr(np.random.default_rng(0).normal(size=(300, 300)))[0][:10]
    wide = rows._replace(X=(rows.X @ turned).astype(np.float32))  # the same inner products
    expected, _ = experiments.train_with(method, PAPER_LOSS, 1.0, rows.X, rows.y, 7)
    W, _ = experiments.train_with(method, PAPER_LOSS, 1.0, wide.X, wide.y, 7)
    np.testing.assert_allclose(W, np.column_stack([expected[:, :-1] @ turned, expected[:, -1]]), atol=2e-4)


@pytest.mark.parametrize("method", ["LSFW", "block"])
def test_held_out_errors_are_those_of_scikit_learns_folds(rows, method):
    train, _ = experiments.halves(rows, 0)
    X, y, wrong = rows.X[train], rows.y[train], []
    for a, b in StratifiedKFold(3, shuffle=True, random_state=0).split(X, y):
        W, classes = experiments.train_with(method, PAPER_LOSS, 2.0, X[a], y[a], 20)
        wrong.append(experiments.errors(W, classes, X[b], y[b], (1, 3)))
    found = experiments.held_out_errors(rows, method, PAPER_LOSS, (2.0,), (1, 3), 20)
    assert found.shape == (1, 2) and found[0] == pytest.approx(np.mean(wrong, axis=0), abs=1e-9)


def test_a_search_finds_what_fits_one_by_one_do(rows):
    Cs, splits, places = (0.1, 1.0, 10.0), [experiments.halves(rows, number) for number in range(4)], (1, 3, 5)
    found = experiments.block_errors(rows, PAPER_LOSS, Cs, splits, places, tol=1e-9)
    for (i, C), (j, (train, test)) in itertools.product(enumerate(Cs), enumerate(splits)):
        clf = TopwolfClassifier(**PAPER_LOSS.parameters, C=C, tol=1e-9, solver="block")
        clf.fit(rows.X[train].astype(np.float64), rows.y[train])
        assert found[i, j] == pytest.approx([clf.top_k_error(rows.X[test], rows.y[test], k) for k in places], abs=1e-9)


def test_costs_are_of_the_rows_to_train_on(rows):
    loss, splits = experiments.losses_for(1)["structured hinge"], [experiments.halves(rows, number) for number in range(3)]
    found = experiments.errors_in(rows, "block", loss, (1.0, 10.0), splits, (1, 3))
    for (i, C), (j, (train, test)) in itertools.product(enumerate((1.0, 10.0)), enumerate(splits)):
        X, y = rows.X[train], rows.y[train]
        clf = TopwolfClassifier("max_hinge", C=C, cost_matrix=experiments.distances(X, y), solver="block")
        clf.fit(X.astype(np.float64), y)
        assert found[i, j] == pytest.approx([clf.top_k_error(rows.X[test], rows.y[test], k) for k in (1, 3)], abs=1e-9)


def test_C_is_chosen_by_the_mean_of_the_four_errors(rows, monkeypatch):
    held_out = np.array([[0.5, 0.1, 0.1, 0.1], [0.4, 0.3, 0.2, 0.1], [0.3, 0.2, 0.15, 0.14]])
    monkeypatch.setattr(experiments, "held_out_errors", lambda *_: held_out)
    found = experiments.choose_C(rows, "block", PAPER_LOSS, (0.1, 1.0, 10.0))
    assert found == {"errors": pytest.approx([0.2, 0.25, 0.1975]), "C": 10.0, "error": pytest.approx(0.1975)}


def test_by_place_every_place_has_a_C_of_its_own(rows):
    loss, Cs, places = experiments.losses_for(3)["Usunier"], (0.3, 1.0, 3.0, 10.0, 30.0), [1, 3, 5]
    found = experiments.errors_by_place(rows, loss, Cs, places, 2)
    held_out = experiments.held_out_errors(rows, "block", loss, Cs, places)
    assert found["C"] == [Cs[best] for best in held_out.argmin(axis=0)] and len(set(found["C"])) > 1
    halves = [experiments.halves(rows, number) for number in range(2)]
    expected = experiments.block_errors(rows, loss, sorted(set(found["C"])), halves, places)
    for column, C in enumerate(found["C"]):
        assert [errors[column] for errors in found["errors"]] == list(expected[sorted(set(found["C"])).index(C), :, column])


def test_every_loss_trains_and_costs_are_distances(rows):
    for k in (1, 3, 5):
        for loss in experiments.losses_for(k).values():
            first, third, *_ = experiments.trial(rows, "block", loss, 1.0, 0)
            assert 0.0 < third < first < 0.9
    cost = experiments.distances(rows.X, rows.y)
    assert cost.shape == (12, 12) and (np.diag(cost) == 0).all() and cost.max() == pytest.approx(1.5)
    np.testing.assert_allclose(cost, cost.T)
    means = np.array([rows.X[rows.y == j].mean(axis=0) for j in range(12)])
    i, j = np.triu_indices(12, 1)
    apart = np.linalg.norm(means[i] - means[j], axis=1)
    np.testing.assert_allclose(cost[i, j], 0.5 + apart / apart.max(), rtol=1e-5)
