"""--center: another objective, which every command names, and a model of rows as they are."""

import numpy as np
import pytest

import support

AT_MEAN = "regularised at the mean of the rows"


@pytest.fixture
def far(tmp_path):
    """Rows some way from the origin, where the two objectives differ."""
    X, y = support.blobs()
    return support.write_libsvm(tmp_path / "far.svm", X + np.float32(3), y), X.astype(np.float64) + 3, y


def test_it_is_training_on_rows_less_their_mean(topwolf, tmp_path, far):
    data, X, y = far
    less = support.write_libsvm(tmp_path / "less.svm", X - X.mean(axis=0), y)
    options = ["--precision", "float64", "--tolerance", "1e-7", "--bias", "2"]
    folded = topwolf.json("train", "--center", *options, data)
    by_hand = topwolf.json("train", *options, less)
    assert folded["center"] is True and by_hand["center"] is False
    assert folded["primal"] == pytest.approx(by_hand["primal"], rel=1e-6)
    assert topwolf.json("train", *options, data)["primal"] != pytest.approx(by_hand["primal"], rel=1e-3)


def test_the_default_bias_is_then_1(topwolf, far):
    assert topwolf.json("train", "--center", far[0])["bias"] == 1
    assert topwolf.json("train", "--center", "--bias", "3", far[0])["bias"] == 3
    for command in ("train", "sweep", "cv"):
        topwolf.refuses(command, "--center", "--bias", "0", far[0], code=2, saying="--center is asked for with --bias 0")


def test_the_objective_is_named_with_every_certificate(topwolf, far):
    data = far[0]
    assert AT_MEAN in topwolf("train", "-q", "--center", "--dual", "m.dual", "--report", "r.html", data, "m.topwolf").stdout
    assert AT_MEAN in (topwolf.folder / "r.html").read_text()
    assert AT_MEAN in topwolf("verify", data, "m.topwolf", "--dual", "m.dual").stdout
    assert AT_MEAN in topwolf("audit", "-q", data, "m.topwolf").stdout
    assert AT_MEAN in topwolf("sweep", "-q", "--center", "-c", "1,2", "--report", "s.html", data).stdout
    assert AT_MEAN in (topwolf.folder / "s.html").read_text()
    assert AT_MEAN in topwolf("cv", "-q", "--center", "-c", "1,2", "--report", "c.html", data, "best.topwolf").stdout
    assert AT_MEAN in (topwolf.folder / "c.html").read_text()
    for model in ("m.topwolf", "best.topwolf"):
        assert topwolf.json("inspect", model)["center"] is True
    assert AT_MEAN not in topwolf("train", "-q", data, "plain.topwolf").stdout
    assert topwolf.json("inspect", "plain.topwolf")["center"] is False


def test_verify_confirms_and_predict_needs_no_mean(topwolf, far):
    data, X, y = far
    topwolf("train", "-q", "--center", "--normalize", "unit", "--dual", "m.dual", data, "m.topwolf")
    assert topwolf.json("verify", data, "m.topwolf", "--dual", "m.dual")["holds"] is True
    errors = topwolf.json("evaluate", data, "m.topwolf")
    assert errors["top1_error"] < 0.3
    topwolf("convert", "m.topwolf", "m.liblinear", code=3)  # a bias together with rows of unit length
    topwolf("train", "-q", "--center", data, "plain.topwolf")
    topwolf("convert", "plain.topwolf", "plain.liblinear")
    assert topwolf("predict", data, "plain.liblinear").stdout == topwolf("predict", data, "plain.topwolf").stdout


def test_audit_holds_any_model_against_either_optimum(topwolf, far):
    data = far[0]
    topwolf("train", "-q", "--bias", "1", data, "plain.topwolf")
    topwolf("train", "-q", "--center", data, "centred.topwolf")
    own = topwolf.json("audit", data, "centred.topwolf")
    assert own["center"] is True and own["excess_at_most"] < 1.2e-3
    plain, other = (topwolf.json("audit", data, "plain.topwolf", *more) for more in ([], ["--center"]))
    assert (plain["center"], other["center"]) == (False, True)
    assert plain["excess_at_most"] < 1.2e-3 < other["excess_at_least"]


def test_a_job_is_resumed_as_what_it_was(topwolf, far):
    data = far[0]
    options = ["--center", "-q", "--precision", "float64", "--tolerance", "1e-7", "-c", "0.5"]
    whole = topwolf.json("train", *options, data)
    topwolf("train", *options, "--max-iterations", "3", "--checkpoint", "c", data, code=5)
    resumed = topwolf.json("train", *options, "--resume", "c", data)
    assert (resumed["primal"], resumed["dual"]) == (whole["primal"], whole["dual"])
    topwolf("train", *options, "--max-iterations", "3", "--checkpoint", "c", data, code=5)
    topwolf.refuses("train", "--bias", "1", *options[1:], "--resume", "c", data, code=3, saying="the centring")
