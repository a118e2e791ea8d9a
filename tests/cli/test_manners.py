"""What people type from habit, files in each other's places, and sentences about one of something."""

import json
import re

import numpy as np
import pytest

import support


def test_help_of_a_command_may_come_first(topwolf):
    assert topwolf("help", "train").stdout == topwolf("train", "--help").stdout
    assert topwolf("help").stdout == topwolf("--help").stdout
    topwolf.refuses("help", "trian", code=2, saying="did you mean train?")


def test_the_end_of_the_help_names_the_man_page_and_the_completions(topwolf):
    end = topwolf("--help").stdout[-400:]
    assert "man topwolf" in end and "topwolf completion bash" in end
    for shell in ("bash", "zsh", "fish"):
        assert topwolf("completion", shell).stdout == topwolf("generate", shell).stdout
    topwolf.refuses("completion", "man", code=2, saying="bash, zsh or fish")


def test_version_says_what_was_built(topwolf):
    line = topwolf("--version").stdout
    assert topwolf("-V").stdout == line
    assert re.fullmatch(r"topwolf [0-9.]+ \(products for (avx512|avx2|baseline); 2 threads; built by \S.*, \w+\)\n", line)
    assert "1 thread;" in topwolf("-V", OMP_NUM_THREADS="1").stdout


def test_after_two_dashes_come_files_alone(topwolf, train_svm):
    train_svm.rename(topwolf.folder / "--odd.svm")
    topwolf("train", "-q", "-c", "2", "--", "--odd.svm", "-m")
    assert json.loads(topwolf("inspect", "--json", "--", "-m").stdout)["m"] == 4
    topwolf.refuses("inspect", "--", "one", "--json", code=2, saying="one argument too many")


@pytest.mark.parametrize("words", [["--tol", "0.5"], ["--tol=0.5"], ["--eps", "0.5"], ["--toler", "0.5"]])
def test_the_tolerance_has_its_names_from_elsewhere(topwolf, train_svm, words):
    loose, tight = (topwolf.json("train", "-q", *more, train_svm, "m")["iterations"] for more in (words, ["--tolerance", "1e-9", "--precision", "float64"]))
    assert loose < tight


def test_a_name_may_be_cut_short_where_only_one_begins_so(topwolf, train_svm):
    assert topwolf.json("train", "--max-iter", "3", "--tol", "0", train_svm, "m", code=5)["iterations"] == 3
    assert topwolf.json("train", "--max_iter", "3", "--tol", "0", train_svm, "m", code=5)["iterations"] == 3
    sentence = topwolf.refuses("train", "--lab", "x", train_svm, code=2, saying="--lab may be ")
    assert "--labels" in sentence and "--label-column" in sentence
    assert topwolf.json("train", "-q", "--C", "3", train_svm, "m")["C"] == 3  # whole, though --center begins alike
    topwolf.refuses("train", "--js=1", train_svm, code=2, saying="--json takes no value")


@pytest.mark.parametrize(
    "words, saying",
    [
        (["train", "--n-jobs", "2"], "--threads"),
        (["train", "--n_jobs=2"], "--threads"),
        (["train", "--random-state", "2"], "--seed"),
        (["train", "-o", "m"], "the output is the last argument"),
        (["train", "-w1", "2"], "--class-weight FILE"),
        (["train", "-w", "2"], "--class-weight FILE"),
        (["train", "-W", "w"], "--weights FILE"),
        (["train", "-b", "1"], "--probabilities"),
        (["predict", "-b", "1"], "--probabilities"),
        (["sweep", "-C"], "topwolf cv DATA MODEL"),
        (["train", "-C"], "topwolf cv DATA MODEL"),
        (["sweep", "-v", "5"], "topwolf cv DATA MODEL"),
        (["cv", "-s", "4"], "--loss chooses the loss"),
        (["train", "--kernel", "rbf"], "all models are linear"),
    ],
)
def test_what_other_programs_call_otherwise_gets_a_sentence(topwolf, words, saying):
    topwolf.refuses(*words, "nowhere.svm", "m", code=2, saying=saying)


def test_a_model_in_the_place_of_data_is_called_so(topwolf, train_svm, test_svm, model):
    topwolf("convert", model, "m.liblinear")
    for wrong in (model, "m.liblinear"):
        topwolf.refuses("train", wrong, "n.topwolf", code=3, saying="is a model, but train wants data there")
        topwolf.refuses("predict", wrong, test_svm, code=3, saying=f"the data comes first: topwolf predict {test_svm}")
        topwolf.refuses("evaluate", wrong, test_svm, code=3, saying="topwolf evaluate")
        topwolf.refuses("predict", wrong, model, code=3, saying="is a model, but predict wants data there")
    topwolf.refuses("predict", test_svm, train_svm, code=3, saying="is not a model")


def test_errors_are_shown_where_classes_can_be_told_apart(topwolf, test_svm, model):
    shown = topwolf.json("evaluate", test_svm, model)
    assert [key for key in shown if key.endswith("_error")] == ["top1_error", "top3_error"]
    assert topwolf("predict", test_svm, model).stderr.count("top-") == 2


def unseen(topwolf, test_svm, count):
    rows = test_svm.read_text().splitlines()
    text = "".join(("77 " + row.split(" ", 1)[1] if i < count else row) + "\n" for i, row in enumerate(rows))
    return topwolf.write("unseen.svm", text)


def test_predict_warns_of_labels_that_the_model_does_not_know(topwolf, test_svm, model):
    done = topwolf("predict", unseen(topwolf, test_svm, 15), model)
    told = topwolf("evaluate", "unseen.svm", model).stderr
    assert told in done.stderr.replace(str(topwolf.folder) + "/", "") and "15 of 60 rows have a label" in told
    assert "1 of 60 rows has a label" in topwolf("predict", unseen(topwolf, test_svm, 1), model).stderr
    none = topwolf("predict", unseen(topwolf, test_svm, 60), model).stderr
    assert "no row's label is a class of the model" in none and "error" in none


def test_predict_prints_a_document_a_row(topwolf, test_svm, model):
    plain = [line.split("\t") for line in topwolf("predict", "-q", "-k", "2", "--scores", test_svm, model).stdout.splitlines()]
    rows = [support.parse_strict(line) for line in topwolf("predict", "-q", "-k", "2", "--scores", "--json", test_svm, model).stdout.splitlines()]
    assert [row["labels"] for row in rows] == [line[::2] for line in plain]
    np.testing.assert_allclose([row["scores"] for row in rows], np.array([line[1::2] for line in plain], dtype=float), rtol=1e-8)
    assert support.parse_strict(topwolf("predict", "-q", "--json", test_svm, model).stdout.splitlines()[0]).keys() == {"labels"}


def test_predict_gives_no_answer_below_a_margin(topwolf, test_svm, model):
    scores = np.array([line.split("\t")[1::2] for line in topwolf("predict", "-q", "-k", "4", "--scores", test_svm, model).stdout.splitlines()], dtype=float)
    margin = float(np.median(scores[:, 0] - scores[:, 1]))
    silent = scores[:, 0] - scores[:, 1] < margin
    whole = topwolf("predict", "-q", test_svm, model).stdout.split("\n")[:-1]
    done = topwolf("predict", "--reject", repr(margin), test_svm, model)
    lines = done.stdout.split("\n")[:-1]
    assert lines == ["" if no else line for no, line in zip(silent, whole)] and 20 < silent.sum() < 40
    labels = np.array([row.split()[0] for row in test_svm.read_text().splitlines()])
    wrong = np.mean(np.array(whole)[~silent] != labels[~silent])
    assert f"no answer for {silent.sum()} of 60 rows" in done.stderr
    assert f"by the labels of {(~silent).sum()} rows: top-1 error {100 * wrong:.2f} %" in done.stderr
    rows = [json.loads(line) for line in topwolf("predict", "--json", "--reject", repr(margin), test_svm, model).stdout.splitlines()]
    assert [row["labels"] == [] for row in rows] == list(silent)
    topwolf.refuses("predict", "--reject", "-1", test_svm, model, code=2, saying="--reject is -1; it must be at least 0")


def test_evaluate_tells_precision_and_recall_of_every_class(topwolf, test_svm, model):
    labels = np.array([row.split()[0] for row in test_svm.read_text().splitlines()])
    said = np.array(topwolf("predict", "-q", test_svm, model).stdout.split())
    result = topwolf.json("evaluate", "--per-class", test_svm, model)
    assert "classes" not in topwolf.json("evaluate", test_svm, model)
    for one in result["classes"]:
        both = np.sum((labels == one["label"]) & (said == one["label"]))
        assert one["rows"] == np.sum(labels == one["label"])
        assert one["recall"] == pytest.approx(both / one["rows"])
        assert one["precision"] == pytest.approx(both / np.sum(said == one["label"]))
    table = topwolf("evaluate", "--per-class", test_svm, model).stdout.splitlines()
    assert table[-5].split() == ["class", "rows", "precision", "recall"]
    assert table[-4].split()[:2] == ["1", "15"]
    topwolf.write("one.svm", "2 1:1\n")
    one = topwolf.json("evaluate", "--per-class", "one.svm", model)["classes"]
    assert one[0]["recall"] is None and sum(c["precision"] is None for c in one) == 3


def test_one_of_something_is_one(topwolf):
    topwolf.write("two.svm", "1 1:1\n2 1:-1\n")
    topwolf.write("one.svm", "1 1:1\n")
    done = topwolf("train", "--validation", "one.svm", "two.svm", "m")
    assert done.stdout.startswith("2 rows, 1 feature, 2 classes;")
    assert "held out, 1 row:" in done.stdout
    assert "by the labels of 1 row:" in topwolf("predict", "one.svm", "m").stderr
    assert "1 feature, " in topwolf("train", "--dry-run", "two.svm").stdout
    topwolf.refuses("train", "one.svm", code=3, saying="every row has the label '1'")


def test_the_progress_table_guesses_the_time_left(topwolf, tmp_path):
    X, y = support.blobs(n=3000, d=60, m=20, spread=3.0)
    support.write_libsvm(tmp_path / "hard.svm", X, y)
    done = topwolf("train", "--tol", "1e-7", "--precision", "float64", "--solver", "apg", "--normalize", "unit", "-c", "1", "hard.svm", code=(0, 5))
    header, *rows = [line for line in done.stderr.splitlines() if "warning" not in line]
    assert header.endswith("time left") and "step" not in header
    assert any(re.search(r"~ \d+ (s|min|h)$", row) for row in rows[:-1])
