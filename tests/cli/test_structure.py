"""Margins, class features and taxonomies from the command line."""

import numpy as np
import pytest
import support

CLASSES = 6


@pytest.fixture
def rows():
    return support.blobs(n=150, d=6, m=CLASSES, seed=5, spread=1.2)


@pytest.fixture
def data(tmp_path, rows):
    return support.write_libsvm(tmp_path / "train.svm", *rows)


@pytest.fixture
def labels(rows):
    return np.unique(rows[1])


@pytest.fixture
def tree(tmp_path, labels):
    """Two groups of three under one root."""
    lines = [f"{label} {'left' if j < 3 else 'right'}" for j, label in enumerate(labels)]
    (tmp_path / "tree").write_text("\n".join([*lines, "left all", "right all"]) + "\n")
    return "tree"


def costs_of_tree():
    group = np.arange(CLASSES) // 3
    return np.where(np.eye(CLASSES), 0.0, np.where(group[:, None] == group, 1.0, 2.0))


# ---- margins


def test_margins_of_a_cost_matrix_are_the_cost_matrix(topwolf, tmp_path, data, rows, labels):
    cost = np.random.default_rng(1).uniform(0.2, 3, (CLASSES, CLASSES)) * (1 - np.eye(CLASSES))
    np.save(tmp_path / "cost.npy", cost)
    y = np.searchsorted(labels, rows[1])
    np.save(tmp_path / "margins.npy", cost[y])
    by_matrix = topwolf.json("train", data, "a.topwolf", "--cost-matrix", "cost.npy")
    by_margins = topwolf.json("train", data, "b.topwolf", "--margins", "margins.npy", "--dual", "b.dual")
    assert by_margins["primal"] == by_matrix["primal"]
    assert topwolf.json("verify", data, "b.topwolf", "--dual", "b.dual", "--margins", "margins.npy")["holds"]
    assert topwolf.json("verify", data, "b.topwolf", "--dual", "b.dual", code=3)["holds"] is False
    assert topwolf.json("audit", data, "b.topwolf", "--margins", "margins.npy")["objective"] == pytest.approx(by_margins["primal"])
    matrix, margins = (
        topwolf.json("evaluate", data, "a.topwolf")["mean_cost"],
        topwolf.json("evaluate", data, "b.topwolf", "--margins", "margins.npy")["mean_cost"],
    )
    assert matrix == pytest.approx(margins) and matrix > 0
    assert f"mean cost{matrix:>15.4f}" in topwolf("evaluate", data, "a.topwolf").stdout
    assert f"mean cost {matrix:.4f}" in topwolf("predict", data, "a.topwolf").stderr
    assert "mean cost" not in topwolf("predict", data, "b.topwolf").stderr


def test_sparse_margins_have_a_default(topwolf, tmp_path, data, rows, labels):
    y = np.searchsorted(labels, rows[1])
    dense = np.where(np.eye(CLASSES)[y] > 0, 0.0, 0.5)
    lines = []
    for i, own in enumerate(y):
        other = (own + 1 + i % 3) % CLASSES
        dense[i, other] = 2.5
        lines.append(f"0 {other + 1}:2.5")
    np.save(tmp_path / "dense.npy", dense)
    (tmp_path / "sparse.svm").write_text("\n".join(lines) + "\n")
    full = topwolf.json("train", data, "a.topwolf", "--margins", "dense.npy", "--tolerance", "1e-6")
    few = topwolf.json("train", data, "b.topwolf", "--margins", "sparse.svm", "--margin-default", "0.5", "--tolerance", "1e-6")
    assert few["primal"] == pytest.approx(full["primal"], rel=2e-6)
    assert "with margins row by row" in topwolf("train", "-q", data, "d.topwolf", "--margins", "dense.npy").stdout
    unit = topwolf.json("train", data, "c.topwolf", "--margins", "sparse.svm", "--tolerance", "1e-6")
    assert unit["primal"] > few["primal"]


@pytest.mark.parametrize(
    "change, saying",
    [
        (lambda M, y: M.__setitem__((3, (y[3] + 1) % CLASSES), -1), "row 4"),
        (lambda M, y: M.__setitem__((3, (y[3] + 1) % CLASSES), np.nan), "row 4"),
        (lambda M, y: M.__setitem__((3, y[3]), 0.5), "its own class must be 0, but row 4"),
    ],
)
def test_margins_that_are_none_are_refused(topwolf, tmp_path, data, rows, labels, change, saying):
    y = np.searchsorted(labels, rows[1])
    margins = 1.0 - np.eye(CLASSES)[y]
    change(margins, y)
    np.save(tmp_path / "m.npy", margins)
    topwolf.refuses("train", data, "--margins", "m.npy", code=3, saying=saying)


def test_margins_of_another_shape_are_refused(topwolf, tmp_path, data):
    np.save(tmp_path / "m.npy", np.zeros((10, CLASSES)))
    topwolf.refuses("train", data, "--margins", "m.npy", code=3, saying="margins of 10 rows, but 150 rows")
    np.save(tmp_path / "m.npy", np.zeros((150, 4)))
    topwolf.refuses("train", data, "--margins", "m.npy", code=3, saying="m.npy")


# ---- class features


def write_classes(path, labels, phi):
    lines = [f"{label} " + " ".join(f"{c + 1}:{value:.17g}" for c, value in enumerate(row)) for label, row in zip(labels, phi)]
    path.write_text("\n".join(lines) + "\n")


def test_the_identity_gives_the_bits_of_the_plain_model(topwolf, tmp_path, data):
    np.save(tmp_path / "phi.npy", np.eye(CLASSES))
    plain = topwolf.json("train", data, "a.topwolf")
    mapped = topwolf.json("train", data, "b.topwolf", "--class-features", "phi.npy")
    assert (mapped["primal"], mapped["dual"]) == (plain["primal"], plain["dual"])
    scores = [topwolf("predict", "-q", data, model, "--scores", "-k", CLASSES).stdout for model in ("a.topwolf", "b.topwolf")]
    assert scores[0] == scores[1]


def test_classes_that_were_never_seen_can_be_scored(topwolf, tmp_path, data, rows, labels):
    phi = np.random.default_rng(2).normal(size=(CLASSES, 4))
    write_classes(tmp_path / "phi.svm", labels[::-1], phi[::-1])
    found = topwolf.json("train", data, "m.topwolf", "--class-features", "phi.svm", "--dual", "m.dual", "--loss", "usunier:2")
    assert found["status"] == "converged"
    assert topwolf.json("verify", data, "m.topwolf", "--dual", "m.dual")["holds"]
    assert topwolf.json("inspect", "m.topwolf")["class_features"] == found["class_features"] == 4
    said = topwolf("train", "-q", data, "n.topwolf", "--class-features", "phi.svm").stdout
    assert "max-hinge, 4 class features\n" in said
    own = topwolf("predict", "-q", data, "m.topwolf", "-k", CLASSES, "--scores").stdout
    assert topwolf("predict", "-q", data, "m.topwolf", "-k", CLASSES, "--scores", "--class-features", "phi.svm").stdout == own
    # A class with the features of the second, and one with those of the third.
    write_classes(tmp_path / "new.svm", ["late", "later"], phi[[1, 2]])
    first = topwolf("predict", "-q", data, "m.topwolf", "--class-features", "new.svm", "-k", 2, "--scores").stdout.splitlines()
    for line, whole in zip(first, own.splitlines()):
        new, old = line.split("\t"), whole.split("\t")
        score = dict(zip(old[::2], old[1::2]))
        assert dict(zip(new[::2], new[1::2])) == {"late": score[str(labels[1])], "later": score[str(labels[2])]}
    topwolf.refuses("predict", data, "m.topwolf", "--class-features", "train.svm", code=3, saying="beyond the 4 that there are")
    topwolf.refuses("predict", data, "m.topwolf", "--class-features", "new.svm", "-o", "new.svm", code=2, saying="would be written over")


def test_other_classes_have_no_probabilities(topwolf, tmp_path, data, labels):
    """As in Python: a model's are those of the classes it was trained with."""
    phi = np.random.default_rng(2).normal(size=(CLASSES, 4))
    write_classes(tmp_path / "phi.svm", labels, phi)
    write_classes(tmp_path / "new.svm", ["late", "later"], phi[[1, 2]])
    topwolf("train", data, "m.topwolf", "--class-features", "phi.svm", "--loss", "softmax", "-q")
    predict = ["predict", "-q", data, "m.topwolf", "--probabilities"]
    topwolf(*predict)
    said = topwolf.refuses(*predict, "--class-features", "new.svm", code=3, saying="gives no probabilities")
    assert "for other classes than its own none does" in said


def test_other_classes_need_a_model_with_class_features(topwolf, tmp_path, data):
    topwolf.json("train", data, "m.topwolf")
    (tmp_path / "new.svm").write_text("a 1:1\nb 2:1\n")
    topwolf.refuses("predict", data, "m.topwolf", "--class-features", "new.svm", code=3, saying="trained with class features")


def test_class_features_are_checked(topwolf, tmp_path, data, labels):
    write_classes(tmp_path / "few.svm", labels[:-1], np.ones((CLASSES - 1, 2)))
    topwolf.refuses("train", data, "--class-features", "few.svm", code=3, saying=f"the class '{labels[-1]}' has no row")
    np.save(tmp_path / "few.npy", np.ones((3, 2)))
    topwolf.refuses("train", data, "--class-features", "few.npy", code=3, saying="3 rows without labels, but 6 classes")
    topwolf.refuses("train", data, "--class-features", "nowhere.npy", code=4, saying="nowhere.npy")


# ---- taxonomies


def test_costs_only_are_those_of_the_cost_matrix(topwolf, tmp_path, data, tree):
    np.save(tmp_path / "cost.npy", costs_of_tree())
    by_tree = topwolf.json("train", data, "a.topwolf", "--taxonomy", tree, "--taxonomy-costs-only")
    by_matrix = topwolf.json("train", data, "b.topwolf", "--cost-matrix", "cost.npy")
    assert by_tree["primal"] == by_matrix["primal"]
    assert "class_features" not in topwolf.json("inspect", "a.topwolf")


def test_a_taxonomy_shares_the_weights_of_ancestors(topwolf, tmp_path, data, tree):
    found = topwolf.json("train", data, "a.topwolf", "--taxonomy", tree, "--dual", "a.dual")
    apart = topwolf.json("train", data, "b.topwolf", "--taxonomy", tree, "--taxonomy-costs-only")
    assert found["status"] == "converged" and found["primal"] < apart["primal"]
    assert topwolf.json("inspect", "a.topwolf")["class_features"] == CLASSES + 2
    assert topwolf.json("verify", data, "a.topwolf", "--dual", "a.dual")["holds"]
    assert topwolf.json("audit", data, "a.topwolf")["objective"] == pytest.approx(found["primal"])
    chosen = topwolf.json("cv", data, "c.topwolf", "-c", "1", "--folds", "3", "--metric", "cost", "--taxonomy", tree)
    assert chosen["primal"] == pytest.approx(found["primal"], rel=2e-3)
    swept = topwolf.json("sweep", data, "-c", "0.1,1", "--taxonomy", tree)["points"]
    assert swept[1]["primal"] == pytest.approx(found["primal"], rel=2e-3) and swept[0]["primal"] > swept[1]["primal"]


def test_depth_one_is_the_plain_problem_to_the_last_bit(topwolf, tmp_path, data, labels):
    (tmp_path / "flat").write_text("".join(f"{label} root\n" for label in labels))
    plain, flat = topwolf.json("train", data, "a.topwolf"), topwolf.json("train", data, "b.topwolf", "--taxonomy", "flat")
    assert (flat["primal"], flat["dual"]) == (plain["primal"], plain["dual"])


def test_a_bad_taxonomy_is_refused_with_its_line(topwolf, tmp_path, data, labels):
    good = "".join(f"{label} all\n" for label in labels)
    for more, saying in [
        ("all all\n", "tree:7: 'all' is its own ancestor"),
        ("extra other\n", "tree:7: 'other' has no parent"),
        ("extra all\n", "tree:7: 'extra' is no class"),
        (f"{labels[0]} all\n", "tree:7:"),
        ("one two three\n", "tree:7: a line has a child and its parent"),
    ]:
        (tmp_path / "tree").write_text(good + more)
        topwolf.refuses("train", data, "--taxonomy", "tree", code=3, saying=saying)


def test_options_that_contradict_each_other_are_refused(topwolf, tmp_path, data, tree):
    np.save(tmp_path / "x.npy", np.eye(CLASSES))
    topwolf.refuses("train", data, "--taxonomy", tree, "--cost-matrix", "x.npy", code=2, saying="give one of them")
    topwolf.refuses("train", data, "--margins", "x.npy", "--cost-matrix", "x.npy", code=2, saying="give one of them")
    topwolf.refuses("train", data, "--taxonomy", tree, "--class-features", "x.npy", code=2, saying="--taxonomy-costs-only")
    topwolf.refuses("train", data, "--taxonomy-costs-only", code=2, saying="--taxonomy, which is not given")
    topwolf.refuses("train", data, "--margin-default", "2", code=2, saying="--margins, which is not given")
    topwolf.refuses("train", data, tree, "--taxonomy", tree, code=2, saying="would be written over")


def test_checkpoints_know_their_structure(topwolf, tmp_path, data, tree):
    topwolf("train", data, "a.topwolf", "--taxonomy", tree, "--checkpoint", "c", "--max-iterations", "3", "--tolerance", "1e-9", code=5)
    topwolf.refuses("train", data, "--resume", "c", "--tolerance", "1e-9", code=3, saying="another job")
    resumed = topwolf.json("train", data, "b.topwolf", "--taxonomy", tree, "--resume", "c", "--tolerance", "1e-6")
    whole = topwolf.json("train", data, "c.topwolf", "--taxonomy", tree, "--tolerance", "1e-6")
    assert resumed["primal"] == whole["primal"]


def test_predict_judges_rows_that_have_a_label(topwolf, tmp_path, data):
    topwolf.json("train", data, "m.topwolf")
    lines = data.read_text().splitlines()
    bare = [line if i < 10 else line.split(" ", 1)[1] for i, line in enumerate(lines)]
    (tmp_path / "some.svm").write_text("\n".join(bare) + "\n")
    (tmp_path / "first.svm").write_text("\n".join(lines[:10]) + "\n")
    some, first = topwolf("predict", "some.svm", "m.topwolf").stderr, topwolf("predict", "first.svm", "m.topwolf").stderr
    assert some == first and some.startswith("by the labels of 10 rows: top-1 error")
    (tmp_path / "none.svm").write_text("\n".join(line.split(" ", 1)[1] for line in lines) + "\n")
    assert topwolf("predict", "none.svm", "m.topwolf").stderr == ""
