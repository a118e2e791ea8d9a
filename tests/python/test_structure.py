"""Margins, class features, taxonomies and joint feature maps from Python."""

import copy
import pickle

import numpy as np
import pytest
from scipy import sparse
from sklearn.base import clone
from sklearn.datasets import make_blobs
from sklearn.exceptions import ConvergenceWarning
from sklearn.model_selection import StratifiedKFold, cross_val_score

import topwolf
from topwolf import TopwolfClassifier, TopwolfClassifierCV, TopwolfJointClassifier


@pytest.fixture(scope="module")
def rows():
    X, y = make_blobs(120, n_features=5, centers=6, cluster_std=3.0, random_state=0)
    return X / 10, np.array(["ant", "bee", "cat", "cod", "dog", "elk"])[y]


TREE = {"ant": "insect", "bee": "insect", "cat": "mammal", "dog": "mammal", "elk": "mammal", "cod": "animal", "insect": "animal", "mammal": "animal"}


def naive_primal(clf, X, y, V, phi, margins):
    """Of the max hinge, by its definition."""
    X = np.column_stack([X, np.ones(len(X))])
    S = X @ V.T @ phi.T
    losses = (margins + S - S[np.arange(len(y)), y][:, None]).max(axis=1)
    return 0.5 / (clf.C * len(X)) * np.sum(V**2) + losses.mean()


# ---- margins


def test_margins_of_a_cost_matrix_are_the_cost_matrix(rows):
    X, y = rows
    cost = np.random.default_rng(0).uniform(0.5, 2, (6, 6)) * (1 - np.eye(6))
    numbers = np.unique(y, return_inverse=True)[1]
    by_matrix = TopwolfClassifier(cost_matrix=cost).fit(X, y)
    by_margins = TopwolfClassifier().fit(X, y, margins=cost[numbers])
    assert np.array_equal(by_matrix.coef_, by_margins.coef_)
    assert by_matrix.mean_cost(X, y) == pytest.approx(by_margins.mean_cost(X, y, margins=cost[numbers]))
    wrong = by_matrix.predict(X) != y
    chosen = np.searchsorted(by_matrix.classes_, by_matrix.predict(X))
    assert by_matrix.mean_cost(X, y) == pytest.approx(cost[numbers, chosen].mean())
    assert TopwolfClassifier().fit(X, y).mean_cost(X, y) == pytest.approx(1 - TopwolfClassifier().fit(X, y).score(X, y))
    assert wrong.any()


def test_sparse_margins_have_a_default(rows):
    X, y = rows
    numbers = np.unique(y, return_inverse=True)[1]
    dense = np.where(np.eye(6)[numbers] > 0, 0.0, 0.25)
    other = (numbers + 1) % 6
    dense[np.arange(len(y)), other] = 3.0
    few = sparse.csr_array((np.full(len(y), 3.0), (np.arange(len(y)), other)), shape=dense.shape)
    full = TopwolfClassifier("usunier", k=2, tol=1e-6).fit(X, y, margins=dense)
    part = TopwolfClassifier("usunier", k=2, tol=1e-6).fit(X, y, margins=few, margin_default=0.25)
    assert part.primal_ == pytest.approx(full.primal_, rel=2e-6)
    assert part.mean_cost(X, y, margins=few, margin_default=0.25) == pytest.approx(part.mean_cost(X, y, margins=dense), rel=1e-12)
    searched = TopwolfClassifierCV([0.1, 1], cv=3, tol=1e-6, scoring="cost").fit(X, y, margins=few, margin_default=0.25)
    alone = TopwolfClassifier(C=searched.C_, tol=1e-6).fit(X, y, margins=dense)
    assert searched.primal_ == pytest.approx(alone.primal_, rel=2e-6)
    for fold, (train, held) in enumerate(StratifiedKFold(3).split(X, y)):
        for C, scores in zip((0.1, 1), searched.scores_):
            fitted = TopwolfClassifier(C=C, tol=1e-6).fit(X[train], y[train], margins=dense[train])
            assert scores[fold] == pytest.approx(-fitted.mean_cost(X[held], y[held], margins=dense[held]), abs=1e-9)


def test_margins_that_are_none_are_refused(rows):
    X, y = rows
    good = 1 - np.eye(6)[np.unique(y, return_inverse=True)[1]]
    with pytest.raises(ValueError, match="shape"):
        TopwolfClassifier().fit(X, y, margins=good[:, :5])
    with pytest.raises(ValueError, match="at least 0, but row 1"):
        TopwolfClassifier().fit(X, y, margins=-good)
    with pytest.raises(ValueError, match="own class"):
        TopwolfClassifier().fit(X, y, margins=good + 1)
    with pytest.raises(ValueError, match="give one of them"):
        TopwolfClassifier(cost_matrix=1 - np.eye(6)).fit(X, y, margins=good)


# ---- class features


@pytest.mark.parametrize("kind", [np.asarray, sparse.csr_array, sparse.csr_matrix])
def test_class_features_are_the_model_that_was_asked_for(rows, kind):
    X, y = rows
    phi = np.random.default_rng(1).normal(size=(6, 4))
    phi[0, 2] = phi[3, 1] = 0
    clf = TopwolfClassifier(class_features=kind(phi), tol=1e-6).fit(X, y)
    assert clf.class_coef_.shape == (4, 6)
    assert np.allclose(clf.coef_, phi @ clf.class_coef_[:, :5])
    assert np.allclose(clf.intercept_, phi @ clf.class_coef_[:, 5])
    numbers = np.unique(y, return_inverse=True)[1]
    assert clf.primal_ == pytest.approx(naive_primal(clf, X, numbers, clf.class_coef_, phi, 1 - np.eye(6)[numbers]), rel=1e-9)
    again = pickle.loads(pickle.dumps(clf))
    assert np.array_equal(again.predict(X), clf.predict(X))
    assert clone(clf).fit(X, y).primal_ == clf.primal_


def test_the_identity_gives_the_same_bits(rows):
    X, y = rows
    assert np.array_equal(TopwolfClassifier(class_features=np.eye(6)).fit(X, y).coef_, TopwolfClassifier().fit(X, y).coef_)


def test_two_classes_are_the_model_that_was_asked_for(rows):
    X, y = rows
    kept = np.isin(y, ["ant", "bee"])
    X, numbers = X[kept], (y[kept] == "bee").astype(int)
    phi = np.array([[1.0, 0.5, 0.0], [0.2, 0.0, 2.0]])
    clf = TopwolfClassifier(class_features=phi, tol=1e-6).fit(X, y[kept])
    V = clf.class_coef_
    assert clf.primal_ == pytest.approx(naive_primal(clf, X, numbers, V, phi, 1 - np.eye(2)[numbers]), rel=1e-9)
    S = np.column_stack([X, np.ones(len(X))]) @ V.T @ phi.T
    assert np.allclose(clf.decision_function(X), S[:, 1] - S[:, 0])


def test_what_was_fitted_is_what_is_saved(rows, tmp_path):
    X, y = rows
    phi = np.random.default_rng(1).normal(size=(6, 4))
    clf = TopwolfClassifier(class_features=phi).fit(X, y)
    before = clf.decision_function(X)
    phi *= 10  # the caller's, not the classifier's
    clf.save(tmp_path / "a.topwolf")
    again = topwolf.load(tmp_path / "a.topwolf")
    assert np.allclose(again.decision_function(X), before) and again.primal_ == clf.primal_
    with pytest.raises(ValueError, match="read-only"):
        clf.class_coef_[:] = 0
    clf.class_coef_ = np.zeros_like(clf.class_coef_)
    clf.save(tmp_path / "b.topwolf")
    changed = topwolf.load(tmp_path / "b.topwolf")
    assert not hasattr(changed, "primal_") and np.allclose(changed.decision_function(X), before)
    clf.set_params(class_features=None).fit(X, y)
    assert not hasattr(clf, "class_coef_")


def test_other_classes(rows, tmp_path):
    X, y = rows
    phi = np.random.default_rng(1).normal(size=(6, 4))
    clf = TopwolfClassifier("usunier", k=3, class_features=phi).fit(X, y)
    scores = clf.decision_function(X)
    other = clf.with_classes(["zebra", "yak", "owl"], phi[[0, 1, 2]])
    assert other.classes_.tolist() == ["owl", "yak", "zebra"]
    assert np.allclose(other.decision_function(X), scores[:, [2, 1, 0]])
    assert not hasattr(other, "primal_") and clf.primal_ > 0
    two = clf.with_classes(["a", "b"], sparse.csr_array(phi[:2]))
    assert np.allclose(two.decision_function(X), scores[:, 1] - scores[:, 0])
    other.save(tmp_path / "other.topwolf")
    again = topwolf.load(tmp_path / "other.topwolf")
    assert again.predict_top_k(X).tolist() == other.predict_top_k(X).tolist()
    assert (again.loss, again.k_) == (other.loss, other.k_) == ("max_hinge", 1)
    assert not hasattr(other, "trace_")
    with pytest.raises(ValueError, match="fitted with class_features"):
        TopwolfClassifier().fit(X, y).with_classes(["a", "b"], phi[:2])
    with pytest.raises(ValueError, match="columns"):
        clf.with_classes(["a", "b"], phi[:2, :3])
    with pytest.raises(ValueError, match="each once"):
        clf.with_classes(["a", "a"], phi[:2])


@pytest.mark.parametrize("classes", [2, 6])
@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_files_keep_class_features(rows, tmp_path, classes, dtype):
    X, y = rows
    kept = np.isin(y, np.unique(y)[:classes])
    X, y = X[kept].astype(dtype), y[kept]
    clf = TopwolfClassifier(class_features=np.random.default_rng(1).normal(size=(classes, 3))).fit(X, y)
    clf.save(tmp_path / "m.topwolf")
    again = topwolf.load(tmp_path / "m.topwolf")
    assert np.array_equal(again.predict(X), clf.predict(X))
    assert np.allclose(again.decision_function(X), clf.decision_function(X))
    assert again.primal_ == clf.primal_ and np.array_equal(again.class_coef_, clf.class_coef_)
    assert np.array_equal(again.class_features, clf.class_features)
    again.coef_ = again.coef_ * 2  # no longer what the class features say
    again.save(tmp_path / "changed.topwolf")
    assert topwolf.load(tmp_path / "changed.topwolf").class_features is None


def test_class_features_go_through_a_search(rows):
    X, y = rows
    phi = np.random.default_rng(1).normal(size=(6, 4))
    clf = TopwolfClassifierCV([0.1, 1, 10], cv=3, class_features=phi, scoring="f1_macro").fit(X, y)
    by_hand = [cross_val_score(TopwolfClassifier(class_features=phi, C=C), X, y, cv=3, scoring="f1_macro").mean() for C in (0.1, 1, 10)]
    assert np.allclose(clf.scores_.mean(axis=1), by_hand, atol=0.02)
    assert np.allclose(clf.coef_, phi @ clf.class_coef_[:, :5])


def test_class_features_are_checked(rows):
    X, y = rows
    with pytest.raises(ValueError, match="5 rows, but there are 6 classes"):
        TopwolfClassifier(class_features=np.ones((5, 2))).fit(X, y)
    with pytest.raises(ValueError, match="NaN"):
        TopwolfClassifier(class_features=np.full((6, 2), np.nan)).fit(X, y)


# ---- taxonomies


def test_a_taxonomy(rows, tmp_path):
    X, y = rows
    phi, cost = topwolf.taxonomy(TREE, np.unique(y))
    assert phi.shape == (6, 8) and np.array_equal(phi.sum(axis=1), [2, 2, 2, 1, 2, 2])
    assert cost[0].tolist() == [0, 1, 2, 1.5, 2, 2]
    (tmp_path / "tree").write_text("".join(f"{child} {parent}\n" for child, parent in TREE.items()))
    phi_of_file, cost_of_file = topwolf.taxonomy(tmp_path / "tree", np.unique(y))
    assert (phi != phi_of_file).nnz == 0 and np.array_equal(cost, cost_of_file)
    clf = TopwolfClassifier(class_features=phi, cost_matrix=cost).fit(X, y)
    apart = TopwolfClassifier(cost_matrix=cost).fit(X, y)
    assert clf.status_ == "converged" and clf.primal_ < apart.primal_


def test_a_flat_taxonomy_is_the_plain_problem(rows):
    X, y = rows
    phi, cost = topwolf.taxonomy({name: "all" for name in np.unique(y)}, np.unique(y))
    assert np.array_equal(TopwolfClassifier(class_features=phi, cost_matrix=cost).fit(X, y).coef_, TopwolfClassifier().fit(X, y).coef_)


def test_a_bad_taxonomy_names_the_edge(rows):
    _, y = rows
    with pytest.raises(ValueError, match=r"^edge 9: 'animal' is its own ancestor"):
        topwolf.taxonomy({**TREE, "animal": "insect"}, np.unique(y))
    with pytest.raises(ValueError, match="is not in the taxonomy"):
        topwolf.taxonomy({"ant": "all", "bee": "all"}, np.unique(y))
    with pytest.raises(ValueError, match="^edge 2: a name is empty"):
        topwolf.taxonomy({"ant": "all", "bee": ""}, ["ant", "bee"])
    with pytest.raises(ValueError, match="sorted, each once"):
        topwolf.taxonomy(TREE, ["bee", "ant"])


def test_any_text_is_a_name():
    phi, cost = topwolf.taxonomy({"# ant": "a\tb\n", "bee": "a\tb\n"}, ["# ant", "bee"])
    assert phi.toarray().tolist() == [[1, 0], [0, 1]]
    assert cost.tolist() == [[0, 1], [1, 0]]


def test_numbers_are_names_too():
    phi, cost = topwolf.taxonomy({0: "even", 2: "even", 1: "odd", "even": "all", "odd": "all"}, [0, 1, 2])
    assert phi.toarray().tolist() == [[1, 0, 0, 1, 0], [0, 1, 0, 0, 1], [0, 0, 1, 1, 0]]
    assert cost[0].tolist() == [0, 2, 1]


# ---- any psi


def kronecker(X, m):
    return np.einsum("if,jc->ijcf", X, np.eye(m)).reshape(len(X), m, -1)


@pytest.mark.parametrize("loss", ["max_hinge", "top_k", "usunier", "weighted_top_k", "weighted_usunier"])
@pytest.mark.parametrize("form", ["tensor", "rows", "sparse"])
def test_kronecker_is_the_plain_problem(rows, loss, form):
    X, y = rows
    numbers = np.unique(y, return_inverse=True)[1]
    psi = kronecker(X, 6)
    if form != "tensor":
        psi = psi.reshape(-1, psi.shape[2])
    if form == "sparse":
        psi = sparse.csr_array(psi)
    plain = TopwolfClassifier(loss, fit_intercept=False, tol=1e-6).fit(X, y)
    joint = TopwolfJointClassifier(loss, tol=1e-6).fit(psi, numbers)
    other = copy.copy(joint)
    other.coef_ = 2 * other.coef_
    assert not hasattr(other, "primal_") and not hasattr(other, "status_")
    assert joint.status_ == "converged" and joint.relative_gap_ <= 1e-6
    assert joint.primal_ == pytest.approx(plain.primal_, rel=2e-6)
    assert np.allclose(joint.coef_.reshape(6, -1), plain.coef_, atol=0.02)
    assert joint.score(psi, numbers) == pytest.approx(plain.score(X, y), abs=0.02)


def test_other_candidates_than_in_fitting(rows):
    rng = np.random.default_rng(0)
    psi = rng.normal(size=(50, 5, 7))
    y = psi[:, :, 0].argmax(axis=1)
    clf = TopwolfJointClassifier(C=10, verbose=0).fit(psi, y)
    assert clf.score(psi, y) > 0.9
    more = rng.normal(size=(20, 9, 7))
    assert clf.decision_function(more).shape == (20, 9)
    assert np.allclose(clf.decision_function(more.reshape(-1, 7), n_classes=9), clf.decision_function(more))
    assert (clf.predict(more) == more[:, :, 0].argmax(axis=1)).mean() > 0.6
    assert clone(clf).fit(psi, y).primal_ == clf.primal_
    assert np.array_equal(pickle.loads(pickle.dumps(clf)).predict(psi), clf.predict(psi))
    assert clf.score(more.reshape(-1, 7), clf.predict(more), n_classes=9) == 1
    with pytest.warns(ConvergenceWarning, match="max_iter=1 passes"):
        TopwolfJointClassifier(max_iter=1, tol=1e-8).fit(psi, y)


def test_joint_weights_margins_and_refusals():
    rng = np.random.default_rng(0)
    psi, y = rng.normal(size=(30, 4, 5)), rng.integers(4, size=30)
    weights = rng.integers(0, 3, size=30).astype(float)
    repeated = np.repeat(np.arange(30), weights.astype(int))
    weighted = TopwolfJointClassifier(tol=1e-6).fit(psi, y, sample_weight=weights)
    twice = TopwolfJointClassifier(tol=1e-6).fit(psi[repeated], y[repeated])
    assert weighted.primal_ == pytest.approx(twice.primal_, rel=2e-6)
    margins = 2.0 * (1 - np.eye(4)[y])
    assert TopwolfJointClassifier().fit(psi, y, margins=margins).primal_ > TopwolfJointClassifier().fit(psi, y).primal_
    records = []
    TopwolfJointClassifier().fit(psi, y, callback=lambda record: records.append((record.iteration, record.weights())))
    assert records[0][0] == 1 and records[0][1].shape == (5,)
    for bad, match in [
        (lambda: TopwolfJointClassifier().fit(psi[:10], y), "10 samples, but y has 30"),
        (lambda: TopwolfJointClassifier().fit(psi.reshape(-1, 5)[:-1], y), "not a multiple"),
        (lambda: TopwolfJointClassifier().fit(psi.reshape(-1, 5), y[:15], n_classes=4), "need 60"),
        (lambda: TopwolfJointClassifier().fit(psi, y).score(psi, y[:3]), "30 samples, but y has 3"),
        (lambda: TopwolfJointClassifier().fit(psi, y + 0.5), "class numbers"),
        (lambda: TopwolfJointClassifier().fit(psi, y + 2), "outside 0 .. 3"),
        (lambda: TopwolfJointClassifier().fit(psi, y).predict(psi[:, :, :3]), "3 features"),
    ]:
        with pytest.raises(ValueError, match=match):
            bad()
