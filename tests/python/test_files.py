"""One model file for Python and the command line, and exports."""
import os
import pathlib
import subprocess

import numpy as np
import onnxruntime
import pytest
from sklearn.datasets import load_digits

import topwolf
from topwolf import TopwolfClassifier, TopwolfClassifierCV

PROGRAM = os.environ.get("TOPWOLF_BIN", "topwolf")

LABELS = {
    "integer": np.array([-1, 3, 12]),
    "real": np.array([-1.0, 1.0, 3.0]),
    "text": np.array(["ant", "bee", "ölkäfer"]),
    "object": np.array(["ant", "bee", "cat"], dtype=object),
}


@pytest.fixture(scope="module")
def digits():
    X, y = load_digits(return_X_y=True)
    return X / np.linalg.norm(X, axis=1, keepdims=True), y


@pytest.mark.parametrize("kind", LABELS)
@pytest.mark.parametrize("dtype", [np.float32, np.float64])
@pytest.mark.parametrize("intercept", [0.0, 1.0, 0.3])
def test_save_and_load(digits, tmp_path, kind, dtype, intercept):
    X, y = digits
    X, y = X[y < 3].astype(dtype), LABELS[kind][y[y < 3]]
    clf = TopwolfClassifier("usunier", k=2, C=3.0, fit_intercept=intercept > 0, intercept_scaling=intercept or 1.0).fit(X, y)
    clf.save(tmp_path / "m.topwolf")
    again = topwolf.load(tmp_path / "m.topwolf")
    np.testing.assert_array_equal(again.classes_, clf.classes_)
    np.testing.assert_array_equal(again.decision_function(X), clf.decision_function(X))
    np.testing.assert_array_equal(again.predict(X), clf.predict(X))
    assert again.coef_.dtype == dtype
    assert (again.primal_, again.dual_, again.status_, again.n_iter_) == (clf.primal_, clf.dual_, clf.status_, clf.n_iter_)
    assert again.get_params()["k"] == 2 and again.C == pytest.approx(3.0) and again.fit_intercept == (intercept > 0)
    again.save(tmp_path / "n.topwolf")
    np.testing.assert_array_equal(topwolf.load(tmp_path / "n.topwolf").coef_, clf.coef_)


def test_booleans_and_two_classes(digits, tmp_path):
    X, y = digits
    X, y = X[y < 2], y[y < 2] == 1
    clf = TopwolfClassifier().fit(X, y)
    clf.save(tmp_path / "m.topwolf")
    again = TopwolfClassifier.load(tmp_path / "m.topwolf")
    assert again.classes_.dtype == bool
    np.testing.assert_array_equal(again.decision_function(X), clf.decision_function(X))


def test_changed_weights_lose_their_certificate(digits, tmp_path):
    X, y = digits
    clf = TopwolfClassifier().fit(X.astype(np.float32), y)
    clf.coef_ = clf.coef_ * 0.3
    clf.save(tmp_path / "m.topwolf")
    again = topwolf.load(tmp_path / "m.topwolf")
    assert not hasattr(again, "status_")
    np.testing.assert_array_equal(again.predict(X), clf.predict(X))


def test_labels_no_file_can_hold(digits, tmp_path):
    X, y = digits
    labels = np.array([(1,), "b"], dtype=object)
    clf = TopwolfClassifier().fit(X[y < 2], y[y < 2])
    clf.classes_ = labels
    with pytest.raises(TypeError, match="numbers, booleans or text"):
        clf.save(tmp_path / "m.topwolf")
    assert not (tmp_path / "m.topwolf").exists()


@pytest.mark.parametrize("kind", [str, object])
def test_labels_that_are_no_unicode_are_refused_by_fit(digits, tmp_path, kind):
    X, y = digits
    labels = np.array(["a", "\ud800"], dtype=kind)
    for clf in (TopwolfClassifier(), TopwolfClassifierCV([1.0], cv=2)):
        with pytest.raises(ValueError, match=r"The label '\\ud800' is not valid Unicode"):
            clf.fit(X[y < 2], labels[y[y < 2]])
    clf = TopwolfClassifier(class_features=np.eye(2)).fit(X[y < 2], y[y < 2])
    with pytest.raises(ValueError, match="not valid Unicode"):
        clf.with_classes(labels, np.eye(2))
    clf.classes_ = labels
    with pytest.raises(ValueError, match="not valid Unicode"):
        clf.save(tmp_path / "m.topwolf")
    assert not (tmp_path / "m.topwolf").exists()


@pytest.mark.parametrize("bad", ["\0.topwolf", "\udcff"])
def test_names_that_the_system_would_cut_are_refused(digits, tmp_path, bad):
    X, y = digits
    clf = TopwolfClassifier(tol=0.1).fit(X[:200], y[:200])
    victim = tmp_path / "victim"
    clf.save(victim)
    before = victim.read_bytes()
    name = str(victim) + bad
    uses = [clf.save, clf.to_liblinear, clf.to_onnx, topwolf.load, TopwolfClassifier.load, lambda path: topwolf.taxonomy(path, ["a", "b"])]
    for use in uses:
        for path in (name, os.fsencode(name), pathlib.Path(name)):
            with pytest.raises(ValueError, match="cannot be the name of a file"):
                use(path)
    assert victim.read_bytes() == before and os.listdir(tmp_path) == ["victim"]
    clf.save(os.fsencode(victim))


def test_bad_files(tmp_path):
    with pytest.raises(OSError, match="No such file"):
        topwolf.load(tmp_path / "none")
    (tmp_path / "bad").write_bytes(b"not a model")
    with pytest.raises(ValueError, match="is not a model"):
        topwolf.load(tmp_path / "bad")


def test_a_read_only_file_is_not_replaced(digits, tmp_path):
    X, y = digits
    clf = TopwolfClassifier(tol=0.1).fit(X[:200], y[:200])
    for save in (clf.save, clf.to_liblinear):
        path = tmp_path / save.__name__
        path.write_text("mine")
        path.chmod(0o444)
        with pytest.raises(OSError, match="read-only"):
            save(path)
        assert path.read_text() == "mine"


def write_text(path, X, y):
    with open(path, "w") as file:
        for row, label in zip(X, y):
            pairs = " ".join(f"{j + 1}:{value!r}" for j, value in enumerate(row.tolist()) if value)
            file.write(f"{label} {pairs}\n")


@pytest.mark.program
@pytest.mark.parametrize("classes", [2, 10])
def test_the_command_line_predicts_what_python_does(digits, tmp_path, classes):
    X, y = digits
    X, y = X[y < classes].astype(np.float32), y[y < classes]
    write_text(tmp_path / "rows.svm", X, y)
    clf = TopwolfClassifier("top_k", k=1, C=10.0).fit(X, y)
    clf.save(tmp_path / "m.topwolf")
    run = lambda *words: subprocess.run([PROGRAM, *map(str, words)], check=True, capture_output=True, text=True).stdout
    said = run("predict", tmp_path / "rows.svm", tmp_path / "m.topwolf")
    np.testing.assert_array_equal(np.array(said.split(), dtype=int), clf.predict(X))
    run("train", tmp_path / "rows.svm", tmp_path / "n.topwolf", "--quiet", "--bias", "1", "--normalize", "unit")
    said = run("predict", tmp_path / "rows.svm", tmp_path / "n.topwolf")
    np.testing.assert_array_equal(np.array(said.split(), dtype=int), topwolf.load(tmp_path / "n.topwolf").predict(3 * X))


@pytest.mark.program
def test_both_front_ends_train_the_same_model(digits, tmp_path):
    X, y = digits
    X = X.astype(np.float32)
    write_text(tmp_path / "rows.svm", X, y)
    words = ["train", "rows.svm", "m.topwolf", "--quiet", "-c", "2", "--loss", "usunier:3", "--bias", "1", "--threads", "2"]
    subprocess.run([PROGRAM, *words], check=True, cwd=tmp_path)
    theirs = topwolf.load(tmp_path / "m.topwolf")
    ours = TopwolfClassifier("usunier", k=3, C=2.0, n_jobs=2).fit(X, y)
    assert ours.primal_ == pytest.approx(theirs.primal_, rel=2e-3)
    assert ours.dual_ <= theirs.primal_ and theirs.dual_ <= ours.primal_


def test_liblinear_format(digits, tmp_path):
    X, y = digits
    clf = TopwolfClassifier().fit(X, y)
    clf.to_liblinear(tmp_path / "m.model")
    assert (tmp_path / "m.model").read_text().startswith("solver_type MCSVM_CS")
    again = topwolf.load(tmp_path / "m.model")
    np.testing.assert_array_equal(again.predict(X), clf.predict(X))


@pytest.mark.parametrize("classes", [2, 10])
@pytest.mark.parametrize("dtype", [np.float32, np.float64])
@pytest.mark.parametrize("kind", ["integer", "text", "boolean"])
def test_onnx_runs_to_the_same_labels(digits, tmp_path, classes, dtype, kind):
    if kind == "boolean" and classes > 2:
        return  # there are only two booleans
    X, y = digits
    X, y = X[y < classes].astype(dtype), y[y < classes]
    labels = {"integer": y, "text": np.array([f"class {label}" for label in range(10)])[y], "boolean": y == 1}[kind]
    clf = TopwolfClassifier().fit(X, labels)
    clf.to_onnx(tmp_path / "m.onnx")
    session = onnxruntime.InferenceSession(tmp_path / "m.onnx")
    label, scores = session.run(["label", "scores"], {"X": X})
    np.testing.assert_array_equal(label, clf.predict(X))
    expected = clf.decision_function(X)
    np.testing.assert_allclose(scores[:, 1] - scores[:, 0] if classes == 2 else scores, expected, atol=1e-5)


def test_labels_beyond_int64_come_back_as_they_were(tmp_path):
    X = np.eye(3).repeat(4, axis=0)
    labels = np.array([1, 2**53 + 1, 2**64 - 1], dtype=np.uint64)
    clf = TopwolfClassifier().fit(X, labels.repeat(4))
    clf.save(tmp_path / "m.topwolf")
    back = topwolf.load(tmp_path / "m.topwolf")
    assert back.classes_.dtype == np.uint64 and back.classes_.tolist() == labels.tolist()
    assert back.predict(X[::4]).tolist() == labels.tolist()


def test_a_file_tells_the_parameters_of_the_fit(tmp_path):
    clf = TopwolfClassifier(C=3.0).fit(np.eye(3).repeat(4, axis=0), np.arange(3).repeat(4))
    clf.set_params(C=7.0).save(tmp_path / "m.topwolf")
    assert b"C=3.0" in (tmp_path / "m.topwolf").read_bytes() and b"C=7.0" not in (tmp_path / "m.topwolf").read_bytes()


def test_rho_has_one_dimension():
    with pytest.raises(ValueError, match=r"rho has shape \(2, 2\), but it must have one dimension"):
        TopwolfClassifier("weighted_usunier", rho=[[2, 1], [1, 1]]).fit(np.eye(6), np.arange(6))
