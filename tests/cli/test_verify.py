"""topwolf verify: exit 0 only if the model's claim holds."""


import pytest

import support


@pytest.fixture(params=["max-hinge", "top-k:3", "weighted-usunier"])
def claim(request, topwolf, train_svm):
    topwolf("train", "-q", "--loss", request.param, "--bias", "1", "--dual", "m.dual", train_svm, "m.topwolf")
    return train_svm


def test_a_true_claim_holds(topwolf, claim):
    assert "holds" in topwolf("verify", claim, "m.topwolf", "--dual", "m.dual").stdout
    found = topwolf.json("verify", claim, "m.topwolf", "--dual", "m.dual")
    assert found["holds"] is True
    assert found["primal"] == pytest.approx(found["claimed"]["primal"], rel=1e-8)
    assert found["gap"] <= found["claimed"]["gap"] + 1e-8 * found["primal"]


def test_the_dual_is_needed(topwolf, claim):
    topwolf.refuses("verify", claim, "m.topwolf", code=2, saying="--dual is missing")


def test_a_claim_about_other_data_does_not_hold(topwolf, tmp_path, claim):
    X, y = support.blobs()
    X[5] *= 1.5
    other = support.write_libsvm(tmp_path / "other.svm", X, y)
    found = topwolf.json("verify", other, "m.topwolf", "--dual", "m.dual", code=3)
    assert found["holds"] is False and found["finding"]


def test_a_dual_of_another_run_does_not_hold(topwolf, claim):
    topwolf("train", "-q", "--max-iterations", "2", "--dual", "early.dual", claim, "early.topwolf", code=5)
    done = topwolf("verify", claim, "m.topwolf", "--dual", "early.dual", code=3)
    assert "does not hold" in done.stdout


def test_a_corrupt_dual_exits_3(topwolf, tmp_path, claim):
    (tmp_path / "cut.dual").write_bytes((tmp_path / "m.dual").read_bytes()[:-7])
    topwolf.refuses("verify", claim, "m.topwolf", "--dual", "cut.dual", code=3, saying="cut.dual")
    topwolf.refuses("verify", claim, "m.topwolf", "--dual", "nowhere.dual", code=4, saying="nowhere.dual")


def test_data_with_other_rows_does_not_fit(topwolf, tmp_path, claim):
    fewer = support.write_libsvm(tmp_path / "fewer.svm", *support.blobs(n=100))
    topwolf.refuses("verify", fewer, "m.topwolf", "--dual", "m.dual", code=3, saying="rows")


@pytest.mark.parametrize(
    "options", [["--normalize", "unit"], ["--normalize", "maxabs"], ["--precision", "float64"], ["--smoothing", "0.3"]]
)
def test_verify_prepares_the_data_as_training_did(topwolf, train_svm, options):
    topwolf("train", "-q", "--loss", "usunier:2", *options, "--dual", "m.dual", train_svm, "m.topwolf")
    assert topwolf.json("verify", train_svm, "m.topwolf", "--dual", "m.dual")["holds"] is True


def test_a_model_without_a_certificate_is_refused(topwolf, train_svm, claim):
    topwolf("convert", "m.topwolf", "m.liblinear")
    topwolf.refuses("verify", train_svm, "m.liblinear", "--dual", "m.dual", code=3, saying="no certificate")


@pytest.mark.parametrize("smoothing", ["1e10", "1e13", "1e16", "1e20"])
@pytest.mark.parametrize("loss", ["max-hinge", "top-k:2", "usunier:2"])
def test_an_honest_model_holds_however_small_its_objective(topwolf, train_svm, loss, smoothing):
    topwolf("train", "-q", "--loss", loss, "--smoothing", smoothing, "--dual", "m.dual", train_svm, "m.topwolf")
    found = topwolf.json("verify", train_svm, "m.topwolf", "--dual", "m.dual")
    assert found["holds"] and 0 < found["primal"] < 1 / float(smoothing)


def test_rows_with_features_that_the_model_does_not_know_are_another_problem(topwolf, tmp_path):
    """They weigh 0 in the primal, but the dual of the wider problem is another one."""
    rows = [("1", "1:1 2:1", "3:5"), ("2", "1:1 2:-1", "3:-5"), ("3", "1:-1 2:0.5", "4:5"), ("1", "1:0.5 2:1.5", "3:5")]
    topwolf.write("cut.svm", "".join(f"{y} {known}\n" for y, known, _ in rows))
    topwolf.write("full.svm", "".join(f"{y} {known} {unknown}\n" for y, known, unknown in rows))
    topwolf("train", "-q", "cut.svm", "m.topwolf", "--dual", "m.dual")
    assert topwolf("verify", "cut.svm", "m.topwolf", "--dual", "m.dual").stdout.count("holds: The claim holds") == 1
    topwolf.refuses("verify", "full.svm", "m.topwolf", "--dual", "m.dual", code=3, saying="the data has 4 features, but the model was trained on 2")
