"""Softmax and probabilities on the command line."""

import os

import numpy as np
import pytest

import support


@pytest.fixture(autouse=True)
def rows(tmp_path):
    X, y = support.blobs(n=600, d=8, m=4)
    np.save(tmp_path / "X.npy", X[:300])
    np.save(tmp_path / "y.npy", y[:300])
    np.save(tmp_path / "held.npy", X[300:])
    np.save(tmp_path / "held_y.npy", y[300:])


TRAIN = ["X.npy", "--labels", "y.npy"]
HELD = ["held.npy", "--labels", "held_y.npy"]


def test_trains_verifies_and_audits(topwolf):
    document = topwolf.json(
        "train", *TRAIN, "m.topwolf", "--loss", "softmax", "--temperature", "0.5", "--dual", "m.dual", "-q"
    )
    assert (document["loss"], document["temperature"]) == ("softmax", 0.5)
    assert document["relative_gap"] <= 1e-3
    topwolf("verify", *TRAIN, "m.topwolf", "--dual", "m.dual")
    topwolf("audit", *TRAIN, "m.topwolf", "-q")
    held = topwolf.json("inspect", "m.topwolf")
    assert (held["loss"], held["temperature"]) == ("softmax", 0.5)


@pytest.mark.parametrize("solver", ["block", "newton", "apg", "lsfw", "stdfw", "pg"])
def test_every_solver_has_it(topwolf, solver):
    loss = ["--loss", "softmax", "-c", "0.1", "--solver", solver, "--time-limit", "60"]
    found = topwolf.json("train", *TRAIN, "m.topwolf", *loss, "--tolerance", "0.02", "--dual", "m.dual", "-q")
    best = topwolf.json("train", *TRAIN, "b.topwolf", "--loss", "softmax", "-c", "0.1", "--tolerance", "1e-7", "-q")
    assert best["dual"] * (1 - 1e-12) <= found["primal"] <= best["primal"] * 1.021
    topwolf("verify", *TRAIN, "m.topwolf", "--dual", "m.dual")


def test_resumes_to_the_same_bits(topwolf):
    loss = ["--loss", "softmax", "-c", "100", "--tolerance", "1e-6", "-q"]
    topwolf("train", *TRAIN, "whole.topwolf", *loss)
    topwolf("train", *TRAIN, "part.topwolf", *loss, "--max-iterations", "3", "--checkpoint", "c.state", code=5)
    topwolf("train", *TRAIN, "rest.topwolf", *loss, "--resume", "c.state")
    whole, rest = (topwolf.json("inspect", name) for name in ("whole.topwolf", "rest.topwolf"))
    assert (whole["primal"], whole["dual"], whole["iterations"]) == (rest["primal"], rest["dual"], rest["iterations"])


def test_probabilities_sum_to_one(topwolf):
    topwolf("train", *TRAIN, "m.topwolf", "--loss", "softmax", "-q")
    lines = topwolf("predict", "held.npy", "m.topwolf", "-k", 4, "--probabilities", "-q").stdout.splitlines()
    assert len(lines) == 300
    for line in lines:
        p = [float(field) for field in line.split("\t")[1::2]]
        assert len(p) == 4 and abs(sum(p) - 1.0) < 1e-5 and p == sorted(p, reverse=True)
    found = topwolf.json("evaluate", *HELD, "m.topwolf")
    assert 0.0 < found["log_loss"] < np.log(4.0) and 0.0 < found["brier_score"] < 1.0
    assert 0.0 <= found["calibration_error"] < 0.5
    assert "log loss" in topwolf("evaluate", *HELD, "m.topwolf").stdout


def test_calibrates_a_hinge(topwolf):
    topwolf("train", *TRAIN, "m.topwolf", "-q")
    topwolf.refuses("predict", "held.npy", "m.topwolf", "--probabilities", code=3, saying="gives no probabilities")
    before = (topwolf.folder / "m.topwolf").read_bytes()
    assert "log loss" in topwolf("calibrate", *HELD, "m.topwolf", "-o", "c.topwolf").stdout
    assert (topwolf.folder / "m.topwolf").read_bytes() == before
    plain, calibrated = (topwolf("predict", "held.npy", name, "-q").stdout for name in ("m.topwolf", "c.topwolf"))
    assert plain == calibrated
    topwolf("predict", "held.npy", "c.topwolf", "--probabilities", "-q")
    found = topwolf.json("calibrate", *HELD, "m.topwolf")
    assert found["temperature"] > 0.0 and found["log_loss"] > 0.0
    assert topwolf.json("evaluate", *HELD, "m.topwolf")["log_loss"] == pytest.approx(found["log_loss"])


@pytest.mark.parametrize(
    "words, saying",
    [
        (["--temperature", "0"], "--temperature is 0, but it must be between"),
        (["--temperature", "-1"], "--temperature is -1, but it must be between"),
        (["--smoothing", "0.1"], "takes no --smoothing; --temperature says how smooth"),
        (["-k", "3"], "takes no k"),
        (["--loss", "usunier", "--temperature", "2"], "takes no --temperature"),
    ],
)
def test_bad_options(topwolf, words, saying):
    loss = [] if "--loss" in words else ["--loss", "softmax"]
    topwolf.refuses("train", *TRAIN, "m.topwolf", *loss, *words, code=2, saying=saying)


def test_calibration_needs_rows_it_can_learn_from(topwolf):
    topwolf("train", *TRAIN, "m.topwolf", "-q")
    before = (topwolf.folder / "m.topwolf").read_bytes()
    np.save(topwolf.folder / "other.npy", np.full(300, 9))
    done = topwolf("calibrate", "held.npy", "--labels", "other.npy", "m.topwolf", code=3)
    assert "none of the 300 rows has a class of the model" in done.stderr
    topwolf.refuses(
        "predict", "held.npy", "m.topwolf", "--scores", "--probabilities", code=2, saying="give one of them"
    )
    assert (topwolf.folder / "m.topwolf").read_bytes() == before


@pytest.mark.parametrize("scale", [1e-300, 1e-155, 1e-60, 1e150, 1e170, 1e300])
def test_calibrates_scores_of_any_size(topwolf, scale):
    topwolf("train", *TRAIN, "m.topwolf", "--precision", "float64", "-q")
    usual = topwolf.json("calibrate", *HELD, "m.topwolf", "-o", "c.topwolf")
    np.save(topwolf.folder / "scaled.npy", np.load(topwolf.folder / "held.npy").astype(np.float64) * scale)
    scaled = ["scaled.npy", "--labels", "held_y.npy"]
    found = topwolf.json("calibrate", *scaled, "m.topwolf", "-o", "s.topwolf")
    assert found["temperature"] / scale == pytest.approx(usual["temperature"], rel=1e-6)
    assert found["log_loss"] == pytest.approx(usual["log_loss"], rel=1e-6)
    assert topwolf.json("inspect", "s.topwolf")["probability_temperature"] == found["temperature"]
    assert topwolf.json("evaluate", *scaled, "s.topwolf")["log_loss"] == found["log_loss"]


def test_scores_that_overflow_have_probabilities(topwolf):
    topwolf("train", *TRAIN, "m.topwolf", "--precision", "float64", "--loss", "softmax", "-c", "100", "-q")
    np.save(topwolf.folder / "huge.npy", np.where(np.load(topwolf.folder / "held.npy") > 0, 1.7e308, -1.7e308))
    lines = topwolf("predict", "huge.npy", "m.topwolf", "-k", 4, "--probabilities", "-q").stdout.splitlines()
    assert len(lines) == 300
    for line in lines:
        assert sum(float(field) for field in line.split("\t")[1::2]) == pytest.approx(1.0, abs=1e-5), line
    done = topwolf("calibrate", "huge.npy", "--labels", "held_y.npy", "m.topwolf", code=3)
    assert "they are too large" in done.stderr


def test_a_model_that_is_read_from_a_descriptor_is_not_written_into_it(topwolf):
    """The model was appended to itself, and nothing could read it any more."""
    topwolf("train", *TRAIN, "m.topwolf", "-q")
    path = topwolf.folder / "m.topwolf"
    before = path.read_bytes()

    def calibrate(*words):
        with path.open("r+b") as model:
            job = topwolf.start("calibrate", *HELD, *words, stdin=model)
            return job.communicate(timeout=60)[1], job.returncode

    for name in ["/dev/stdin", "/dev/fd/0", "/proc/self/fd/0"]:
        for words in [(name,), (name, "-o", name), ("m.topwolf", "-o", name)]:
            said, code = calibrate(*words)
            assert code == 2 and "is no file that can be replaced; give --output another name" in said
            assert path.read_bytes() == before
    assert calibrate("/dev/stdin", "-o", "c.topwolf")[1] == 0
    topwolf("predict", "held.npy", "c.topwolf", "--probabilities", "-q")


def test_a_pipe_that_a_model_comes_from_is_not_written_to(topwolf):
    """Nobody will ever read it: the program waited for that."""
    topwolf("train", *TRAIN, "m.topwolf", "-q")
    os.mkfifo(topwolf.folder / "pipe")
    topwolf.refuses("calibrate", *HELD, "pipe", code=2, saying="pipe is no file that can be replaced")
