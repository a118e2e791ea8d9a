"""topwolf audit: the model's objective against a plain computation, the bracket against a tight optimum."""

import pathlib
import subprocess
from fractions import Fraction

import numpy as np
import pytest

import support

KEYS = (
    "status objective objective_at_least excess_at_least excess_at_most optimum_at_least optimum_at_most liblinear_scale iterations "
    "load_seconds train_seconds n d m loss k rho smoothing temperature lambda C bias center normalize tolerance precision threads seed "
    "model version warnings"
).split()


def blobs(**options):
    """In double, as LIBSVM text with its 9 digits holds them."""
    rows, y = support.blobs(**options)
    return np.vectorize(lambda x: float(f"{x:.9g}"))(rows), y


X, Y = blobs()
RNG = np.random.default_rng(5)
W = RNG.normal(size=(4, 6))
B = RNG.normal(size=4)


def with_bias(rows, value=1.0):
    return np.hstack([rows, np.full((len(rows), 1), value)])


def liblinear(folder, data, name, *options):
    subprocess.run(["liblinear-train", "-q", *options, data, folder / name], check=True, capture_output=True)
    return folder / name


def optimum(topwolf, data, *options):
    """Primal and dual of a tight run in double."""
    found = topwolf.json("train", "-q", "--precision", "float64", "--tolerance", "1e-7", *options, data, "tight.topwolf")
    return found["primal"], found["dual"]


def check_bracket(found, primal, dual):
    assert found["optimum_at_least"] <= primal and found["optimum_at_most"] >= dual
    assert found["excess_at_least"] <= found["objective"] / dual - 1
    most = found["excess_at_most"]  # null where nothing is known: before the first pass
    assert most is None or most >= found["objective"] / primal - 1


@pytest.mark.parametrize("bias", [-1, 1, 2.5])
@pytest.mark.parametrize("solver", [4, 1])
def test_a_model_of_liblinear(topwolf, train_svm, tmp_path, solver, bias):
    model = liblinear(tmp_path, train_svm, "m.liblinear", "-s", str(solver), "-c", "0.5", "-B", str(bias), "-e", "0.5")
    labels, _, weights = support.read_liblinear(model)
    weights = weights[np.argsort([int(label) for label in labels])]
    rows = X if bias < 0 else with_bias(X, bias)
    lam = 1 / (0.5 * len(Y))
    found = topwolf.json("audit", train_svm, model, "-c", "0.5")
    assert found["objective"] == pytest.approx(support.max_hinge_primal(weights, rows, Y - 1, lam), rel=1e-12)
    assert found["liblinear_scale"] == pytest.approx(0.5 * len(Y))
    assert (found["bias"], found["status"], found["precision"]) == (max(bias, 0), "converged", "float64")
    check_bracket(found, *optimum(topwolf, train_svm, "-c", "0.5", "--bias", max(bias, 0)))
    assert found["optimum_at_most"] - found["optimum_at_least"] <= 1e-4 * found["optimum_at_most"]
    if solver == 1:
        assert found["excess_at_least"] > 0.01, "one-vs-rest solves another problem"


@pytest.mark.parametrize("solver", [4, 3])
def test_two_classes_of_liblinear_whose_first_label_is_the_higher(topwolf, tmp_path, solver):
    rows, y = blobs(m=2)
    data = support.write_libsvm(tmp_path / "two.svm", rows[::-1], np.where(y == 1, -1, 1)[::-1])
    model = liblinear(tmp_path, data, "m.liblinear", "-s", str(solver), "-e", "1e-6")
    assert support.read_liblinear(model)[0] == ["1", "-1"]
    found = topwolf.json("audit", data, model)
    lam = 1 / len(y)
    _, _, w = support.read_liblinear(model)
    weights = np.array([-w[0] / 2, w[0] / 2]) if solver == 3 else w[::-1]
    assert found["objective"] == pytest.approx(support.max_hinge_primal(weights, rows, y - 1, lam), rel=1e-9)
    if solver == 4:
        assert found["excess_at_most"] < 1e-3


def test_a_matrix(topwolf, train_svm, tmp_path):
    lam = 1 / len(Y)
    np.save(tmp_path / "w.npy", W)
    expected = support.max_hinge_primal(W, X, Y - 1, lam)
    found = topwolf.json("audit", train_svm, "w.npy", "-c", "1")
    assert found["objective"] == pytest.approx(expected, rel=1e-12)
    assert (found["bias"], found["lambda"]) == (0, pytest.approx(lam))
    check_bracket(found, *optimum(topwolf, train_svm))
    np.save(tmp_path / "w.npy", np.asfortranarray(W))
    assert topwolf.json("audit", train_svm, "w.npy")["objective"] == found["objective"]


@pytest.mark.parametrize("bias", [None, 4])
def test_a_matrix_with_intercepts(topwolf, train_svm, tmp_path, bias):
    value = bias or 1
    expected = support.max_hinge_primal(np.column_stack([W, B / value]), with_bias(X, value), Y - 1, 1 / len(Y))
    np.save(tmp_path / "w.npy", np.column_stack([W, B]))
    np.savez(tmp_path / "w.npz", coef_=W, intercept_=B)
    for model in ("w.npy", "w.npz"):
        found = topwolf.json("audit", train_svm, model, *(["--bias", bias] if bias else []))
        assert found["objective"] == pytest.approx(expected, rel=1e-12)
        assert found["bias"] == value


def test_an_archive_names_its_classes(topwolf, train_svm, tmp_path):
    order = [2, 0, 3, 1]
    expected = support.max_hinge_primal(W, X, Y - 1, 1 / len(Y))
    for classes in (np.array([1, 2, 3, 4]), np.array([1.0, 2.0, 3.0, 4.0]), np.array(["1", "2", "3", "4"])):
        np.savez(tmp_path / "w.npz", coef=W[order], classes=classes[order])
        found = topwolf.json("audit", train_svm, "w.npz")
        assert found["objective"] == pytest.approx(expected, rel=1e-12), classes.dtype


def test_text_labels_are_matched(topwolf, tmp_path):
    names = np.array(["dog", "ant", "cow", "bee"])
    data = support.write_libsvm(tmp_path / "named.svm", X, names[Y - 1])
    np.savez(tmp_path / "w.npz", coef_=W, classes_=names)
    expected = support.max_hinge_primal(W, X, Y - 1, 1 / len(Y))
    assert topwolf.json("audit", data, "w.npz")["objective"] == pytest.approx(expected, rel=1e-12)


def test_one_row_for_two_classes_is_scikit_learns(topwolf, tmp_path):
    rows, y = blobs(m=2)
    data = support.write_libsvm(tmp_path / "two.svm", rows, y)
    w, b = RNG.normal(size=(1, 6)), RNG.normal(size=1)
    np.savez(tmp_path / "w.npz", coef_=w, intercept_=b)
    halves = np.column_stack([np.vstack([-w / 2, w / 2]), [-b[0] / 2, b[0] / 2]])
    expected = support.max_hinge_primal(halves, with_bias(rows), y - 1, 1 / len(y))
    assert topwolf.json("audit", data, "w.npz")["objective"] == pytest.approx(expected, rel=1e-12)


def test_our_own_model_is_audited_by_its_own_problem(topwolf, train_svm, tmp_path):
    costs = np.ones((4, 4)) - np.eye(4)
    costs[0, 1] = 3
    np.save(tmp_path / "costs.npy", costs)
    options = ["--loss", "usunier:2", "--cost-matrix", "costs.npy", "--smoothing", "0.2", "--bias", "2", "-c", "3", "--normalize", "maxabs"]
    trained = topwolf.json("train", "-q", *options, "--tolerance", "1e-5", train_svm, "m.topwolf")
    found = topwolf.json("audit", train_svm, "m.topwolf")
    for key in ("loss", "k", "smoothing", "lambda", "bias", "normalize", "precision"):
        assert found[key] == trained[key], key
    assert found["objective"] == pytest.approx(trained["primal"], rel=1e-12)
    assert found["objective"] <= trained["primal"], "a certificate is rounded up"
    assert found["excess_at_least"] <= 1e-5 and found["excess_at_most"] <= 2e-4
    assert found["warnings"] == []


def test_options_replace_the_models_problem(topwolf, train_svm, model):
    found = topwolf.json("audit", train_svm, model, "--loss", "usunier:2", "--lambda", "0.1", "--bias", "1", "--tolerance", "1e-3")
    assert (found["loss"], found["k"], found["lambda"], found["bias"], found["tolerance"]) == ("usunier", 2, 0.1, 1, 1e-3)
    held = topwolf.json("audit", train_svm, model, "-c", "7")
    assert (held["C"], held["loss"]) == (pytest.approx(7), "max-hinge")


def test_the_document_has_every_key_and_the_text_the_bracket(topwolf, train_svm, tmp_path):
    np.save(tmp_path / "w.npy", W)
    done = topwolf("audit", train_svm, "w.npy", "--json")
    found = support.parse_strict(done.stdout)
    assert list(found) == KEYS
    assert (found["n"], found["d"], found["m"], found["model"]) == (120, 6, 4, "w.npy")
    assert "relative gap" in done.stderr
    done = topwolf("audit", "-q", train_svm, "w.npy")
    assert done.stderr == ""
    line = done.stdout.splitlines()[-1]
    least, most = (float(word) for word in line.split() if word[0].isdigit())
    assert line == f"the model is at least {line.split()[5]} % and at most {line.split()[10]} % above the optimum"
    assert least <= 100 * found["excess_at_least"] + 1e-6 and most >= 100 * found["excess_at_most"] - 1e-6
    assert most - least < 1.3 * 100 * (found["excess_at_most"] - found["excess_at_least"])
    assert f"{found['objective']:.9g}" in done.stdout
    assert f"{found['objective'] * 120:.9g}" in done.stdout


def test_stopping_early_exits_5_and_still_tells_the_truth(topwolf, train_svm, tmp_path):
    np.save(tmp_path / "w.npy", W)
    found = topwolf.json("audit", train_svm, "w.npy", "--tolerance", "0", "--time-limit", "1e-9", code=5)
    assert found["status"] == "time_limit"
    check_bracket(found, *optimum(topwolf, train_svm))


@pytest.mark.parametrize(
    "shape, saying",
    [
        ((4, 5), "w.npy: the matrix of weights is 4 x 5, but 4 classes and 6 features need 4 x 6, or 4 x 7"),
        ((3, 6), "w.npy: the matrix of weights is 3 x 6, but 4 classes and 6 features need 4 x 6"),
        ((1, 6), "w.npy: the matrix of weights is 1 x 6, but 4 classes"),
        ((6,), "w.npy: two dimensions are needed, none of them 0, but the shape is (6)"),
    ],
)
def test_wrong_shapes_are_named(topwolf, train_svm, tmp_path, shape, saying):
    np.save(tmp_path / "w.npy", np.zeros(shape))
    topwolf.refuses("audit", train_svm, "w.npy", code=3, saying=saying)


def test_what_is_not_a_model_exits_3(topwolf, train_svm, tmp_path):
    np.save(tmp_path / "w.npy", np.where(np.eye(4, 6) > 0, np.nan, 0.0))
    topwolf.refuses("audit", train_svm, "w.npy", code=3, saying="row 1, column 1 (counted from 1): the value nan")
    np.savez(tmp_path / "w.npz", weights=W)
    topwolf.refuses("audit", train_svm, "w.npz", code=3, saying="w.npz: holds neither an array coef nor coef_")
    np.savez(tmp_path / "o.npz", coef_=W, classes_=np.array([1, "a", None, 2.0], dtype=object))
    topwolf.refuses("audit", train_svm, "o.npz", code=3, saying="o.npz: classes_: arrays of Python objects")
    topwolf.refuses("audit", train_svm, train_svm, code=3, saying="is not a model")
    topwolf.refuses("audit", train_svm, "nowhere.npy", code=4, saying="nowhere.npy")
    np.save(tmp_path / "big.npy", np.full((4, 6), 1e200))
    topwolf.refuses("audit", train_svm, "big.npy", code=3, saying="too large")


def test_a_class_of_the_data_that_the_model_lacks_exits_3(topwolf, train_svm, tmp_path):
    fewer = support.write_libsvm(tmp_path / "fewer.svm", X[Y < 4], Y[Y < 4])
    model = liblinear(tmp_path, fewer, "m.liblinear", "-s", "4")
    topwolf.refuses("audit", train_svm, model, code=3, saying="the class '4' of the data is none of the model's 3 classes")
    np.savez(tmp_path / "w.npz", coef=W, classes=np.array([1, 2, 3, 5]))
    topwolf.refuses("audit", train_svm, "w.npz", code=3, saying="the class '4' of the data")


def test_a_class_of_the_model_without_rows_stays_a_class(topwolf, train_svm, tmp_path):
    model = liblinear(tmp_path, train_svm, "m.liblinear", "-s", "4")
    fewer = support.write_libsvm(tmp_path / "fewer.svm", X[Y < 4], Y[Y < 4])
    found = topwolf.json("audit", fewer, model)
    labels, _, weights = support.read_liblinear(model)
    weights = weights[np.argsort([int(label) for label in labels])]
    assert found["objective"] == pytest.approx(support.max_hinge_primal(weights, X[Y < 4], Y[Y < 4] - 1, 1 / np.sum(Y < 4)))
    assert found["m"] == 4 and "1 of the model's 4 classes have no rows" in found["warnings"][0]


def test_sparse_rows_may_be_wider_or_narrower_than_the_model(topwolf, train_svm, tmp_path):
    narrow = support.write_libsvm(tmp_path / "narrow.svm", X[:, :4], Y)
    _, _, weights = support.read_liblinear(liblinear(tmp_path, narrow, "m.liblinear", "-s", "4"))
    found = topwolf.json("audit", train_svm, "m.liblinear")
    labels = [int(label) for label in support.read_liblinear(tmp_path / "m.liblinear")[0]]
    padded = np.hstack([weights[np.argsort(labels)], np.zeros((4, 2))])
    assert found["objective"] == pytest.approx(support.max_hinge_primal(padded, X, Y - 1, 1 / len(Y)), rel=1e-12)
    assert found["d"] == 6 and "the rows have 6 features, the model 4" in found["warnings"][0]
    check_bracket(found, *optimum(topwolf, train_svm))
    liblinear(tmp_path, train_svm, "wide.liblinear", "-s", "4")
    assert topwolf.json("audit", narrow, "wide.liblinear")["d"] == 6
    np.savez(tmp_path / "dense.npz", X=X, y=Y)
    topwolf.refuses("audit", "dense.npz", "m.liblinear", code=3, saying="the rows have 6 features, but 4 are expected")


def test_rows_of_unit_length_that_are_wider_than_the_model_are_refused(topwolf, train_svm, tmp_path):
    """predict leaves out what the model does not know before it scales a row."""
    narrow = support.write_libsvm(tmp_path / "narrow.svm", X[:, :4], Y)
    topwolf("train", "-q", narrow, "m.topwolf", "--normalize", "unit")
    saying = "the data has 6 features, but the model scales rows of 4 to unit length; wider ones would be other rows"
    topwolf.refuses("audit", "-q", train_svm, "m.topwolf", code=3, saying=saying)
    assert topwolf.json("audit", narrow, "m.topwolf")["d"] == 4


def test_a_model_file_that_names_no_problem_is_bad_data(topwolf):
    """It predicts all the same; with a loss from the arguments it can be audited."""
    files = pathlib.Path(__file__).parents[1] / "files"
    model, data = files / "model_smoothing_1e200.topwolf", files / "toy.svm"
    stderr = topwolf.refuses("audit", "-q", data, model, code=3, saying="smoothing is 1e+200, but it must be 0, or between")
    assert str(model) in stderr and "--smoothing" not in stderr
    assert topwolf("predict", "-q", data, model).stdout.count("\n") == 9
    topwolf("audit", "-q", data, model, "--loss", "max-hinge")
    topwolf.refuses("audit", "-q", data, model, "--smoothing", "1e200", code=2, saying="--smoothing is 1e+200")


def test_other_rows_than_the_models_are_mentioned(topwolf, test_svm, model):
    found = topwolf.json("audit", test_svm, model)
    assert "not the rows that the model was trained on" in found["warnings"][0]


def test_intercepts_need_a_bias(topwolf, train_svm, tmp_path):
    np.savez(tmp_path / "w.npz", coef=W, intercept=B)
    topwolf.refuses("audit", train_svm, "w.npz", "--bias", "0", code=3, saying="the model has intercepts")
    np.savez(tmp_path / "w.npz", coef=W, intercept=0.0)
    assert topwolf.json("audit", train_svm, "w.npz")["bias"] == 0


@pytest.mark.parametrize(
    "options, saying",
    [
        (["-c", "1", "--lambda", "1"], "--lambda and --C"),
        (["-c", "0"], "C is 0"),
        (["--tolerance", "-1"], "tolerance is -1"),
        (["--loss", "usunier:3", "-k", "3"], "k is given twice"),
        (["--bias", "-1"], "bias is -1"),
        (["--normalize", "unit"], "--normalize is an option of train, not of audit"),
    ],
)
def test_wrong_options_exit_2_before_a_file_is_read(topwolf, options, saying):
    topwolf.refuses("audit", "nowhere.svm", "nowhere.model", *options, code=2, saying=saying)


def test_the_help_names_the_formats_and_liblinears_scale(topwolf):
    text = " ".join(topwolf("audit", "--help").stdout.split())
    for words in ("LIBLINEAR model", ".npy", ".npz", "C N = 1/lambda times ours", "scikit-learn", "[1e-4]"):
        assert words in text, words


def test_scores_that_cancel_are_not_believed(topwolf, tmp_path):
    """1e17 - 1e17 - 7: the model's objective is 2.50125 and the optimum 0.5, which double does not see."""
    rows = np.array([[-7.0, 1e17, -1e17, 5.0, -1.0], [0.0] * 5])
    weights = np.array([[0.5] * 5, [-0.5] * 5])
    for name, array in {"d": rows, "l": np.array([0, 1]), "w": weights}.items():
        np.save(tmp_path / f"{name}.npy", array)
    words = ["audit", "-q", "d.npy", "--labels", "l.npy", "w.npy", "--lambda", "1e-3", "--precision", "float64"]
    found = topwolf.json(*words)
    s = [[sum(Fraction(float(x)) * Fraction(float(w)) for x, w in zip(row, of)) for of in weights] for row in rows]
    truth = Fraction(1, 1000) / 2 * Fraction(10, 4) + sum(max(0, 1 + s[i][1 - i] - s[i][i]) for i in range(2)) / 2
    assert float(truth) == pytest.approx(2.50125)
    assert found["objective_at_least"] <= truth <= found["objective"]
    assert found["excess_at_least"] <= truth / Fraction(found["optimum_at_least"]) - 1
    assert found["excess_at_most"] >= truth / Fraction(found["optimum_at_most"]) - 1
    assert "double cannot tell its objective closer" in topwolf(*words).stdout
