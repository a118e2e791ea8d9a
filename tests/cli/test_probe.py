"""probe: a path over C that chooses on held-out rows."""

import json

import numpy as np
import pytest
import support


@pytest.fixture
def data(tmp_path):
    for name, n, seed in (("train", 150, 3), ("val", 90, 4)):
        support.write_libsvm(tmp_path / f"{name}.svm", *support.blobs(n=n, d=6, m=5, seed=3, spread=1.0 + seed / 100))
    return tmp_path / "train.svm", tmp_path / "val.svm"


def test_it_takes_the_best_point_of_a_sweep(topwolf, data):
    grid = ("-c", "0.01:100:5", "--loss", "usunier:2")
    found = topwolf.json("probe", *data, "m.topwolf", *grid, "--metric", "top1+top3", "--report", "p.html")
    swept = topwolf.json("sweep", data[0], *grid, "--validation", data[1])
    for point, other in zip(found["points"], swept["points"], strict=True):
        assert point["held_out"] == other["held_out"] and point["relative_gap"] == other["relative_gap"] <= 1e-3
        assert point["error"] == pytest.approx((point["held_out"]["top1_error"] + point["held_out"]["top3_error"]) / 2)
    errors = [point["error"] for point in found["points"]]
    assert found["best"] == int(np.argmin(np.round(errors, 12))) and found["C"] == found["points"][found["best"]]["C"]
    assert not found["refitted"] and found["status"] == "converged"
    assert found["primal"] == found["points"][found["best"]]["primal"]
    assert topwolf.json("evaluate", data[1], "m.topwolf")["top1_error"] == found["points"][found["best"]]["held_out"]["top1_error"]
    page = (topwolf.folder / "p.html").read_text()
    assert "topwolf probe" in page and f"C = {found['C']:g}" in page and "relative gap of at most" in page


def test_a_refit_is_a_fit_to_all_rows(topwolf, data):
    found = topwolf.json("probe", *data, "m.topwolf", "-c", "0.1,1,10", "--refit")
    (topwolf.folder / "all.svm").write_text(data[0].read_text() + data[1].read_text())
    alone = topwolf.json("train", "all.svm", "alone.topwolf", "-c", found["C"])
    assert found["refitted"] and (found["primal"], found["dual"]) == (alone["primal"], alone["dual"])
    assert (topwolf.folder / "m.topwolf").stat().st_size > 0


def test_it_prints_a_row_a_point(topwolf, data):
    lines = topwolf("probe", *data, "-c", "0.1,1,10").stdout.splitlines()
    assert lines[0].split() == ["C", "gap", "passes", "seconds", "held@1", "held@3"]
    assert [float(line.split()[0]) for line in lines[1:4]] == [0.1, 1, 10]
    assert "chosen: C = " in lines[4] and "of 90 rows" in lines[4] and "the model, converged after" in lines[5]


def test_a_time_limit_leaves_the_best_so_far(topwolf):
    support.write_libsvm(topwolf.folder / "large.svm", *support.blobs(n=3000, d=40, m=30, seed=5, spread=1.5))
    support.write_libsvm(topwolf.folder / "more.svm", *support.blobs(n=300, d=40, m=30, seed=5, spread=1.6))
    done = topwolf("probe", "large.svm", "more.svm", "m.topwolf", "--tolerance", "1e-7", "-c", "0.01:1000:20", "--time-limit", "0.5", "--json", code=5)
    found = json.loads(done.stdout)
    assert found["ended"] == "time_limit" and found["not_tried"] and found["dual"] <= found["primal"]
    assert any("the time limit ended the probe at C = " in sentence for sentence in found["warnings"])
    assert (topwolf.folder / "m.topwolf").exists()


@pytest.mark.parametrize(
    "words, code, saying",
    [
        (["--metric", "cost"], 2, "--metric is a cost, but a probe counts top-k errors"),
        (["--metric", "top5"], 3, "top5 error of 5 classes is always 0"),
        (["-c", "0:1:3"], 2, "--C"),
        (["--checkpoint", "x"], 2, "checkpoint"),
        (["--report", "val.svm"], 2, "val.svm"),
    ],
)
def test_what_is_refused(topwolf, data, words, code, saying):
    topwolf.refuses("probe", *data, *words, code=code, saying=saying)


def test_rows_of_two_kinds_are_not_put_together(topwolf, data):
    X, y = support.blobs(n=60, d=6, m=5, seed=3, spread=1.0)
    np.savez(topwolf.folder / "half.npz", X=X.astype(np.float16), y=y)
    topwolf.refuses("probe", data[0], "half.npz", "--refit", code=3, saying="--refit needs both alike")
    assert topwolf.json("probe", data[0], "half.npz", "-c", "1,10")["held_out"] == 60
