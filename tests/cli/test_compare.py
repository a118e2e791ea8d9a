"""topwolf compare: the errors are evaluate's, the differences are counted from predictions, and the page stands alone."""

import json

import numpy as np
import pytest

import support
from test_report import Page, show


@pytest.fixture
def models(topwolf, train_svm):
    topwolf("train", "-q", "-c", "0.01", train_svm, "weak.topwolf")
    topwolf("train", "-q", "-c", "10", "--loss", "usunier:2", train_svm, "strong.topwolf")
    topwolf("convert", "weak.topwolf", "theirs.model")
    labels, _, W = support.read_liblinear(topwolf.folder / "theirs.model")
    np.savez(topwolf.folder / "matrix.npz", coef_=W, classes_=np.array([int(label) for label in labels]))
    return ["weak.topwolf", "strong.topwolf", "theirs.model", "matrix.npz"]


def right(topwolf, model, test_svm):
    labels = np.array([row.split()[0] for row in test_svm.read_text().splitlines()])
    return np.array(topwolf("predict", "-q", test_svm, model).stdout.split()) == labels


def test_errors_are_those_of_evaluate_and_differences_are_counted(topwolf, models, test_svm):
    result = topwolf.json("compare", *models, test_svm)
    for one, model in zip(result["models"], models[:3]):
        errors = topwolf.json("evaluate", test_svm, model)
        assert one["name"] == model
        assert (one["top1_error"], one["top3_error"]) == pytest.approx((errors["top1_error"], errors["top3_error"]))
    weak, strong = (right(topwolf, model, test_svm) for model in models[:2])
    first = result["differences"][0]
    assert (first["first"], first["second"], first["k"]) == (0, 1, 1)
    assert first["only_first_right"] == np.sum(weak & ~strong)
    assert first["only_second_right"] == np.sum(strong & ~weak) > 0
    assert first["difference"] == pytest.approx(np.mean(weak) - np.mean(strong))
    assert first["low"] < first["difference"] < first["high"]
    same = [d for d in result["differences"] if (d["first"], d["second"], d["k"]) in ((0, 2, 1), (0, 3, 1))]
    assert [d["difference"] for d in same] == [0, 0] and all(d["low"] < 0 < d["high"] for d in same)
    assert result["models"][0]["alone_right"] == []
    two = topwolf.json("compare", *models[:2], test_svm)
    assert two["models"][1]["alone_right"] == list(np.flatnonzero(strong & ~weak))


def test_the_page_of_a_comparison(topwolf, models, test_svm):
    text = topwolf("compare", *models, test_svm, "--report", "c.html").stdout
    assert "4: matrix.npz; top-1 error less that of 1: +0.00 %" in text
    markup = (topwolf.folder / "c.html").read_text()
    page = Page(markup)
    assert [one["name"] for one in json.loads(page.json)["models"]] == models
    for part in ("Where they differ", "Rows that one alone gets right", "Most confused", "By the size of the class", "no certificate"):
        assert part in markup
    show(topwolf, "c.html", 1, 4)


def test_one_model_alone_is_an_evaluation(topwolf, models, test_svm):
    topwolf("compare", models[0], test_svm, "--report", "c.html")
    markup = (topwolf.folder / "c.html").read_text()
    assert "topwolf evaluation" in markup and "Where they differ" not in markup


def test_what_cannot_be_compared(topwolf, models, test_svm):
    topwolf.refuses("compare", "weak.topwolf", code=2, saying="DATA is missing")
    topwolf.refuses("compare", test_svm, "weak.topwolf", code=3, saying="is a model, but compare wants data there")
    topwolf.refuses("compare", "weak.topwolf", test_svm, test_svm, code=3, saying="is not a model")
    topwolf.refuses("compare", "weak.topwolf", "-", code=2, saying="give a file")
    topwolf.refuses("compare", *models, test_svm, "--report", "weak.topwolf", code=2, saying="being read")


def test_classes_that_only_some_models_know(topwolf, models, test_svm):
    rows = test_svm.read_text().splitlines()
    topwolf.write("three.svm", "".join(row + "\n" for row in rows if not row.startswith("4 ")))
    topwolf("train", "-q", "three.svm", "three.topwolf")
    result = topwolf.json("compare", "weak.topwolf", "three.topwolf", test_svm)
    assert [one["m"] for one in result["models"]] == [4, 3]
    assert result["models"][1]["top1_error"] >= 0.25
    assert "top3_error" not in result["models"][0]
