"""The tables from results written by hand, and the whole program on small sets."""

import fcntl
import itertools
import json
import subprocess
import sys
from pathlib import Path

import numpy as np
import plan
import pytest
import report
import sets
import tables
from paper import FIGURE_SETS
from scipy.stats import ttest_rel

FIGURES = [f"figure{number}_{against}" for number in (1, 2) for against in ("iterations", "seconds")]
PROGRAM = Path(__file__).resolve().parents[2] / "scripts" / "reproduction"


@pytest.fixture
def small_plan(tmp_path, monkeypatch):
    """A plan whose results are what a test says."""
    monkeypatch.setattr(sets, "SETS", {name: paper._replace(n=130, d=4, m=13) for name, paper in sets.SETS.items()})
    return plan.Plan(plan.Settings(trials=3, k_trials=3, ks=(1, 5)), None, False, tmp_path)


def put(small_plan, job, result):
    (small_plan.jobs.folder / f"{job}.json").write_text(json.dumps({"key": {}, "result": result}))


def put_table(small_plan, name, errors, C=0.1):
    """errors[method]: top-1 errors of the trials; the other places have them in part."""
    for method, of_method in errors.items():
        put(small_plan, plan.choice_job(name, method), {"C": C, "loss": "usunier:5", "errors": [0.5, 0.4, 0.3, 0.2, 0.25]})
        for number, error in enumerate(of_method):
            put(small_plan, plan.trial_job(name, method, number), {"errors": [error, error / 2, error / 4, error / 8]})


ERRORS = {
    "PG": (0.30, 0.32, 0.34),  # worse than block by 0.1 in every half
    "StdFW": (0.50, 0.40, 0.62),
    "LSFW": (0.21, 0.21, 0.24),  # better, worse, the same
    "block": (0.20, 0.22, 0.24),
    plan.TUNED: (0.10, 0.11, 0.13),
}


def test_paired_tests():
    rng = np.random.default_rng(0)
    a, b = rng.normal(size=(2, 20))
    found = tables.paired(a, b)
    assert found.p == pytest.approx(ttest_rel(a, b).pvalue) and found.difference == pytest.approx((a - b).mean())
    # The variance of the mean is taken as (1/20 + 1) times that of a difference, not 1/20 times.
    t = (a - b).mean() / (a - b).std(ddof=1) / np.sqrt(1 / 20 + 1)
    assert found.corrected_p == pytest.approx(2 * tables.students_t.sf(abs(t), 19)) and found.corrected_p > found.p
    assert tables.paired(a, a) == (0.0, 1.0, 1.0) and tables.paired(np.ones(3), np.zeros(3)).told_apart


@pytest.mark.parametrize(
    "difference, p, claimed, verdict",
    [
        (-0.01, 0.001, True, "agrees"),
        (-0.01, 0.001, False, "told apart here only, better"),
        (-0.01, 0.2, True, "not told apart here"),
        (-0.01, 0.2, False, "agrees: not told apart"),
        (0.01, 0.001, True, "opposite"),
        (0.01, 0.001, False, "told apart here only, worse"),
    ],
)
def test_verdicts_on_the_order(difference, p, claimed, verdict):
    assert tables.verdict(tables.Paired(difference, p, p), claimed) == verdict


def test_table_1_has_means_deviations_marks_and_the_papers_figures(small_plan):
    put_table(small_plan, "flower102", ERRORS)
    table = tables.recognition(small_plan, "flower102")
    assert table.caption.startswith("Flower102 (GENERATED): GENERATED rows")
    rows = {row[0]: row[1:] for row in table.rows}
    assert rows["PG"][:2] == ["C = 0.1", "0.320 (0.020)"]
    assert rows["StdFW"][1] == "0.507 (0.110)"
    assert rows["LSFW"][1] == "<b><ins>0.220</ins></b> (0.017)" and rows["block"][1] == "<b><ins>0.220</ins></b> (0.020)"
    assert rows["block"][2] == "<b><ins>0.110</ins></b> (0.010)"
    assert rows[plan.TUNED][:2] == ["C = 0.1, usunier:5 loss", "0.113 (0.015)"]
    assert rows["PG"][5] == "0.219 (0.009)" and rows["StdFW"][5] == "<ins>0.220</ins> (0.014)"
    assert rows["LSFW"][8] == "<b><ins>0.037</ins></b> (0.004)"
    assert rows["block"][5:] == ["-"] * 4
    put_table(small_plan, "flower102", ERRORS, C=10.0)
    assert tables.recognition(small_plan, "flower102").rows[0][1] == "C = 10 (end of the grid)"


def test_the_order_is_judged_only_where_rows_are_comparable(small_plan):
    for name in small_plan.sets:
        put_table(small_plan, name, ERRORS)
    small_plan.sets["cub200"] = small_plan.sets["cub200"]._replace(comparable=True)
    rows = {(row[0], row[1]): row[2:] for row in tables.ordering(small_plan).rows}
    assert rows["CUB200 (GENERATED)", "LSFW - PG"][0].startswith("agrees: -0.100, p 0.0033 / ")
    assert rows["CUB200 (GENERATED)", "LSFW - PG"][0].endswith("(paper -0.016)")
    assert rows["Flower102 (GENERATED)", "LSFW - StdFW"][0].startswith("-0.287, p ")
    assert rows["Flower102 (GENERATED)", "LSFW - StdFW"][0].endswith("(paper -0.009, not told apart)")
    against = {(row[0], row[1]): row[2:] for row in tables.against_block(small_plan).rows}
    assert against["CUB200 (GENERATED)", "(block) - PG"][0] == "-0.100, p 0 / 0"
    assert against["CUB200 (GENERATED)", "(block, loss too) - block"][0].startswith("-0.107, p ")
    by_C = tables.by_C(small_plan)
    assert by_C.header[2:] == ["C = 0.001", "C = 0.01", "C = 0.1", "C = 1", "C = 10"] and len(by_C.rows) == 5 * 4
    assert by_C.rows[0] == ["Caltech101 Silhouettes (GENERATED)", "PG", "0.500", "0.400", "0.300", "<b>0.200</b>", "0.250"]


def test_times_come_from_the_curves(small_plan):
    for name in FIGURE_SETS:
        for unit, smoothing in itertools.product(plan.SCALINGS, plan.SMOOTHINGS):
            for number, method in enumerate(plan.METHODS, 1):
                best = 2.0019 if unit else 2.0021
                curve = {
                    "iteration": [1, 2, 3, 4],
                    "seconds": [number * t for t in (0.1, 0.2, 0.3, 0.9)],
                    "primal": [3.0, 2.5, best, 2.1] if method == "block" else [3.0, 2.5, 2.2, 2.4],
                    "dual": [1.0] * 4,
                    "optimum": {"primal": 2.0, "dual": 2.0 - 1e-9 * (1 + unit)},
                    "seconds_per_iteration": number / 8,
                    "machine": "two cores",
                }
                put(small_plan, plan.curve_job(name, unit, smoothing, method), curve)
    table = tables.seconds_per_iteration(small_plan)
    assert table.rows[0][0] == "Caltech101 Silhouettes (GENERATED), 130 x 4, 13 classes"
    assert table.rows[0][1:] == ["0.1250", "0.2500", "0.3750", "0.5000", "0.453", "0.589", "0.814"]
    assert tables.gap_of_optima(small_plan) == pytest.approx(2e-9, rel=1e-5)
    assert "Here: two cores. The paper's are of another machine" in table.caption
    row = tables.time_to_solve(small_plan, True).rows[1]
    assert row[1:3] == ["0.01", "not in 0.9 s (at best 10 % above)"] and row[-1] == "1.20 s (3 iterations)"
    assert tables.time_to_solve(small_plan, False).rows[1][-1] == "not in 3.6 s (at best 0.105 % above)"
    far = {"seconds": [1.0, 2.0], "primal": [9000.0, 8000.0]}
    assert tables._time_to_solve(far, 2.0) == "not in 2.0 s (at best 4,000 times the optimum)"


def test_curves_end_where_the_gap_is_that_of_the_optimum():
    curve = {"iteration": [1, 2, 3, 4], "seconds": [0.1, 0.2, 0.3, 0.4], "primal": [3.0, 2.5, 2.0, 2.0], "dual": [1.0, 1.5, 2.0, 2.0]}
    optimum = {"primal": 2.0, "dual": 2.0}
    shown = report._above(optimum, curve)
    assert shown["iterations"] == [1, 2] and list(shown["error"]) == [1.0, 0.5] and list(shown["gap"]) == [2.0, 1.0]
    assert report._above(optimum, {**curve, "dual": [1.0] * 4})["seconds"] == [0.1, 0.2, 0.3, 0.4]
    assert report._above({"primal": 2.0, "dual": 0.9}, curve)["iterations"] == [1]


def test_losses_are_compared_with_the_max_hinge_at_the_k_they_were_trained_for(small_plan):
    for k in (1, 5):
        for number, loss in enumerate(plan.losses_for(k)):
            top1, top5 = np.array([0.3, 0.31, 0.33]), np.array([0.1, 0.12, 0.11])
            worse = 0.02 * number * (k == 1) - 0.01 * number * (k == 5)
            errors = np.column_stack([top1 + worse, top5 + worse])
            put(small_plan, plan.loss_job("cub200", loss, k), {"C": [1.0, 30.0], "errors": errors.tolist()})
    found = {"cub200": tables.errors_by_k(small_plan, "cub200")}
    assert list(found["cub200"].errors["Usunier"]) == [1, 5]
    table = tables.does_k_pay(small_plan, found)
    assert "(C chosen for that k, too; 6 of 12 choices at an end of the grid)" in table.caption
    first, fifth = table.rows
    assert first == ["CUB200 (GENERATED)", "top-1", "31.33", "33.33 (p 0 / 0)", *["the max hinge"] * 4]
    assert fifth[1:5] == ["top-5", "11.00", "13.00 (p 0 / 0)", "11.00 (p 1 / 1)"] and fifth[5].startswith("10.00 (p ")


@pytest.fixture
def data(tmp_path):
    """Sets of the paper's names, dropped in."""
    folder = tmp_path / "data"
    folder.mkdir()
    rng = np.random.default_rng(1)
    for name in FIGURE_SETS:
        y = np.arange(13 * 8) % 13
        np.save(folder / f"{name}.npy", rng.normal(size=(13, 9))[y] + 0.7 * rng.normal(size=(len(y), 9)))
        np.save(folder / f"{name}.labels.npy", y)
    return folder


def reproduce(*arguments):
    command = [sys.executable, "-B", str(PROGRAM), "--quick", *map(str, arguments)]
    return subprocess.run(command, capture_output=True, text=True, check=False)


def test_the_whole_program_and_that_it_goes_on(data, tmp_path):
    out = tmp_path / "out"
    done = reproduce("--data", data, "--out", out)
    assert done.returncode == 0, done.stderr
    results = json.loads((out / "results.json").read_text())
    assert len(results["tables"]) == 13
    for table in results["tables"]:
        named = [table["caption"], *(row[0] for row in table["rows"])]
        assert any("dropped in" in words for words in named), f"not labelled: {named}"
    for name in (*FIGURES, *(f"unit_{name}" for name in FIGURES), "error_against_k"):
        assert (out / "figures" / f"{name}.png").stat().st_size > 5000
        assert (out / "figures" / f"{name}.svg").read_text().count("features dropped in") >= 3
    page = (out / "report.html").read_text()
    for words in ("Table 1", "Table 2", "A quick run on few rows", "0.467</ins></b> (0.048)", "Errata of the paper", "<b>plus</b>"):
        assert words in page
    assert page.count("data:image/png;base64,") == 9
    assert "0.467</ins></b> (0.048)" in (out / "tables.md").read_text()
    # Other labels for one set: what is about that set is made anew, and nothing else.
    labels = np.load(data / "flower102.labels.npy")
    np.save(data / "flower102.labels.npy", labels[::-1])
    jobs, of_set = len(list((out / "jobs").glob("*.json"))), len(list((out / "jobs").glob("flower102.*.json")))
    again = reproduce("--data", data, "--out", out)
    assert f"{jobs} jobs, {jobs - of_set} of them done before" in again.stdout


def test_bad_arguments_get_a_sentence(data, tmp_path):
    (tmp_path / "empty").mkdir()
    (data / "cub200.labels.npy").unlink()
    for arguments, code, words in [
        (["--data", tmp_path / "none"], 3, "there is no folder"),
        (["--data", tmp_path / "empty"], 3, "holds none of the sets"),
        (["--data", data], 3, "has no cub200.labels.npy beside it"),
        (["--out", PROGRAM / "paper.py"], 4, "is a file, not a folder"),
        (["--iterations", "3"], 2, "unrecognized arguments"),
    ]:
        refused = reproduce("--out", tmp_path / "out", *arguments)
        assert refused.returncode == code and words in refused.stderr and "Traceback" not in refused.stderr


def test_two_runs_do_not_write_into_one_folder(data, tmp_path):
    with open(tmp_path / "lock", "w") as file:
        fcntl.flock(file, fcntl.LOCK_EX)
        refused = reproduce("--data", data, "--out", tmp_path)
    assert refused.returncode == 4 and "another run writes into" in refused.stderr


def test_every_job_has_a_name_of_its_own(small_plan):
    jobs = small_plan.prepare().list
    assert len({job.name for job in jobs}) == len(jobs) and all(job.expected_s > 0 for job in jobs)
