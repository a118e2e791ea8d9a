"""sweep and cv: tables, models, choices, and what they refuse."""

import json
import signal
import subprocess

import numpy as np
import pytest
import support


@pytest.fixture
def data(tmp_path):
    X, y = support.blobs(n=150, d=6, m=5, seed=3, spread=1.0)
    support.write_libsvm(tmp_path / "train.svm", X, y)
    support.write_libsvm(tmp_path / "test.svm", *support.blobs(n=60, d=6, m=5, seed=4, spread=1.0))
    return tmp_path / "train.svm"


# ---- sweep


def test_a_sweep_prints_one_row_a_point_and_writes_every_model(topwolf, data):
    out = topwolf("sweep", data, "models", "-c", "0.1:10:3", "--holdout", "0.2").stdout.splitlines()
    assert out[0].split()[:6] == ["C", "lambda", "primal", "gap", "passes", "seconds"]
    assert [float(line.split()[0]) for line in out[1:4]] == [0.1, 1, 10]
    assert "lowest held-out top-1 error" in out[4]
    names = sorted(path.name for path in (topwolf.folder / "models").iterdir())
    assert names == ["C_0.1.topwolf", "C_1.topwolf", "C_10.topwolf"]
    for path in (topwolf.folder / "models").iterdir():
        assert topwolf.json("inspect", path)["relative_gap"] <= 1e-3


def test_every_point_brackets_what_train_finds(topwolf, data):
    swept = topwolf.json("sweep", data, "-c", "0.1,10,1", "--loss", "usunier:2", "--tolerance", "1e-5", "--validation", "test.svm")
    assert [point["C"] for point in swept["points"]] == [0.1, 1, 10]
    for point in swept["points"]:
        alone = topwolf.json("train", data, "m.topwolf", "-c", point["C"], "--loss", "usunier:2", "--tolerance", "1e-5")
        assert point["status"] == "converged" and point["relative_gap"] <= 1e-5
        assert point["primal"] >= alone["dual"] and point["dual"] <= alone["primal"]
        assert point["lambda"] == pytest.approx(alone["lambda"])
        errors = topwolf.json("evaluate", "test.svm", "m.topwolf")
        assert point["held_out"]["top1_error"] == pytest.approx(errors["top1_error"], abs=0.04)
    assert swept["best_C"] in (0.1, 1, 10)


def test_the_end_of_the_range_is_warned_of(topwolf, data):
    swept = topwolf.json("sweep", data, "-c", "1e-4,1e-3", "--validation", "test.svm")
    assert any("an end of the range" in sentence for sentence in swept["warnings"])


# ---- cv


def test_cv_chooses_refits_and_remembers_the_search(topwolf, data):
    found = topwolf.json("cv", data, "m.topwolf", "-c", "0.01:100:5", "--loss", "max-hinge,usunier:2,top-k:3", "--folds", "3", "--metric", "top3")
    assert len(found["points"]) == 15 and found["folds"] == 3
    means = [point["mean"] for point in found["points"]]
    assert found["best"] == found["chosen"] == int(np.argmin(means))
    for point in found["points"]:
        errors = [error for error in point["errors"] if error is not None]
        assert len(point["errors"]) == 3 and len(errors) == point["folds_tried"]
        assert point["mean"] == pytest.approx(np.mean(errors))
        if len(errors) > 1:
            assert point["standard_error"] == pytest.approx(np.std(errors, ddof=1) / np.sqrt(len(errors)))
        assert max(gap for gap in point["relative_gaps"] if gap is not None) <= 1e-3
    chosen = found["points"][found["chosen"]]
    assert found["C"] == chosen["C"]
    model = topwolf.json("inspect", "m.topwolf")
    assert model["search"]["metric"] == "top3" and len(model["search"]["points"]) == 15
    assert model["search"]["points"][model["search"]["chosen"]]["C"] == chosen["C"]
    alone = topwolf.json("train", data, "alone.topwolf", "--loss", chosen["loss"], "-c", chosen["C"])
    assert model["primal"] == alone["primal"] and model["dual"] == alone["dual"]


def test_cv_prints_a_table_that_marks_the_choice(topwolf, data):
    done = topwolf("cv", data, "-c", "0.1,1", "--folds", "3")
    lines = done.stdout.splitlines()
    assert lines[0].split() == ["loss", "C", "top1", "std", "error", "gap", "seconds"]
    assert sum(line.endswith("chosen") for line in lines) == 1
    assert "chosen: max-hinge, C = " in done.stdout
    assert "of 7 fits" in done.stderr and "left" in done.stderr
    assert topwolf("cv", data, "-c", "0.1,1", "--folds", "3", "--quiet").stderr.replace("topwolf: warning:", "").count("fits") == 0
    assert not list(topwolf.folder.glob("*.topwolf"))


def test_one_standard_error_takes_the_smaller_C(topwolf, data):
    grid = ("-c", "0.01:100:9", "--folds", "5")
    best, simple = topwolf.json("cv", data, *grid), topwolf.json("cv", data, *grid, "--choose", "one-se")
    point = best["points"][best["best"]]
    within = [p["C"] for p in best["points"] if p["mean"] <= point["mean"] + point["standard_error"]]
    assert simple["points"][simple["chosen"]]["C"] == min(within)
    assert simple["best"] == best["best"]


def test_small_classes_stay_in_training(topwolf, data):
    with data.open("a") as file:
        file.write("9 1:1\n9 2:1\n")
    done = topwolf.json("cv", data, "-c", "1", "--folds", "3")
    assert any("1 of 6 classes has fewer rows than there are folds" in sentence for sentence in done["warnings"])


def test_cv_minimises_costs(topwolf, data):
    np.savetxt(topwolf.folder / "cost.txt", 3.0 * (1 - np.eye(5)))
    found = topwolf.json("cv", data, "-c", "1", "--folds", "3", "--metric", "cost", "--cost-matrix", "cost.txt")
    assert 0 < found["points"][0]["mean"] < 3
    topwolf.refuses("cv", data, "--metric", "cost", code=2, saying="--cost-matrix")


def test_cv_judges_by_a_mix_of_errors(topwolf, data):
    grid = ("-c", "0.1,1", "--folds", "3", "--choose", "one-se")
    top1, top2 = (topwolf.json("cv", data, *grid, "--metric", name) for name in ("top1", "top2"))
    mix = topwolf.json("cv", data, "m.topwolf", *grid, "--metric", "0.7*top1+0.3*top2", "--report", "c.html")
    for one, two, both in zip(top1["points"], top2["points"], mix["points"]):
        assert both["errors"] == pytest.approx([0.7 * a + 0.3 * b for a, b in zip(one["errors"], two["errors"])])
    assert mix["metric"] == topwolf.json("inspect", "m.topwolf")["search"]["metric"] == "0.7*top1+0.3*top2"
    assert "Held-out 0.7*top1+0.3*top2 error against C" in (topwolf.folder / "c.html").read_text()
    lines = topwolf("cv", data, *grid, "--metric", "top1+top2").stdout.splitlines()
    assert lines[0].split()[2] == "top1+top2"
    assert topwolf.json("cv", data, *grid, "--metric", "5*top1+5*top2")["points"][0]["mean"] == pytest.approx(
        (top1["points"][0]["mean"] + top2["points"][0]["mean"]) / 2
    )


@pytest.mark.parametrize(
    "metric, saying",
    [
        ("top0", "--metric is 'top0', but it must be top1, top5"),
        ("accuracy", "or a mix of them such as 0.7*top1+0.3*top5"),
        ("0*top1+top3", "--metric gives top1 the weight 0, but it must be finite and above 0"),
        ("top1+2*top1", "--metric names top1 twice"),
        ("top1+cost", "the cost in --metric needs the costs; give --cost-matrix"),
    ],
)
def test_a_metric_that_is_none_is_refused(topwolf, data, metric, saying):
    topwolf.refuses("cv", data, "--metric", metric, code=2, saying=saying)


# ---- cv --loss auto


def test_any_loss_is_chosen_in_a_race(topwolf, data):
    found = topwolf.json("cv", data, "m.topwolf", "--loss", "auto", "--metric", "top2", "-c", "0.01:100:5")
    assert found["race"] and found["complete"] and found["status"] == "converged" and found["relative_gap"] <= 1e-3
    losses = list(dict.fromkeys(point["loss"] for point in found["points"]))
    assert losses == ["max-hinge", "weighted-usunier", "softmax", "usunier:4", "top-k:4"]
    assert found["fits"] < 5 * len(found["points"]) == 125
    for point in found["points"]:
        assert 1 <= point["folds_tried"] and point["dropped"] == (point["folds_tried"] < 5) != point["competes"]
        assert [error is None for error in point["errors"]] == [f >= point["folds_tried"] for f in range(5)]
    chosen = found["points"][found["chosen"]]
    assert chosen["mean"] == min(point["mean"] for point in found["points"] if point["competes"])
    assert topwolf.json("inspect", "m.topwolf")["search"]["race"]
    one = topwolf.json("cv", data, "--loss", "auto", "--metric", "top2", "-c", "0.01:100:5", "--threads", "1")
    assert [point["errors"] for point in one["points"]] == [point["errors"] for point in found["points"]]
    assert one["chosen"] == found["chosen"] and one["primal"] == found["primal"]


def test_any_loss_minds_a_time_limit(topwolf):
    X, y = support.blobs(n=3000, d=40, m=30, seed=5, spread=1.5)
    support.write_libsvm(topwolf.folder / "large.svm", X, y)
    done = topwolf("cv", "large.svm", "m.topwolf", "--loss", "auto", "--metric", "top3", "--tolerance", "1e-5", "--time-limit", "2", "--json", code=5)
    found = json.loads(done.stdout)
    assert found["ended"] == "time_limit" and not found["complete"] and found["seconds"] < 20
    assert any(point["folds_tried"] == 0 and point["mean"] is None for point in found["points"])
    assert any("the time limit ended the search after" in sentence for sentence in found["warnings"])
    model = topwolf.json("inspect", "m.topwolf")
    assert model["primal"] == found["primal"] and found["dual"] <= found["primal"]
    none = topwolf("cv", "large.svm", "none.topwolf", "--loss", "auto", "--time-limit", "1e-6", code=5)
    assert "the time limit ended the search before a fit was finished: there is no model" in none.stdout
    assert not (topwolf.folder / "none.topwolf").exists()


def test_any_loss_says_its_price_beforehand(topwolf, data):
    plan = topwolf.json("cv", data, "--loss", "auto", "--metric", "top2", "-c", "0.01:100:5", "--dry-run")
    assert plan["fits"] == 25 + 13 + 7 + 4 + 4 + 1


@pytest.mark.parametrize("option", ["-k=2", "--rho=2,1", "--smoothing=0.1", "--temperature=2"])
def test_any_loss_takes_no_parameters_of_one(topwolf, data, option):
    name, value = option.split("=")
    topwolf.refuses("cv", data, "--loss", "auto", name, value, code=2, saying=f"takes no {name}")


def test_any_loss_is_not_for_lists_and_not_for_train(topwolf, data):
    topwolf.refuses("cv", data, "--loss", "auto,max-hinge", code=2, saying="--loss auto is a list already")
    topwolf.refuses("train", data, "m.topwolf", "--loss", "auto", code=2, saying="unknown loss 'auto'")


# ---- both


@pytest.mark.parametrize("command", ["sweep", "cv"])
@pytest.mark.parametrize("grid", ["10:0.1:3", "0:1:3", "1:2:0", "1:2:1.5", "1:2", "1:2:3:4", "a", "1,,2", "-1,1", "", "1:1e400:3", "1:2:1"])
def test_ranges_that_are_none_are_refused(topwolf, data, command, grid):
    topwolf.refuses(command, data, "--C=" + grid if grid else "--C=", code=2, saying="--C")


@pytest.mark.parametrize("grid", ["1:100:1", "1:100:100000000000", "1:100:2.5", "1:100:x", "1:100:0", "1:100:nan"])
def test_a_range_with_a_bad_count_is_told_so(topwolf, data, grid):
    topwolf.refuses("sweep", data, "--C", grid, code=2, saying="COUNT must be an integer from 2 to 1000")
    topwolf.refuses("sweep", data, "--C", "1:1:1001", code=2, saying="COUNT must be an integer from 1 to 1000")


@pytest.mark.parametrize(
    "options, code, saying",
    [
        (("sweep", "--holdout", "1.5"), 2, "between 0 and 1"),
        (("sweep", "--holdout", "0.2", "--validation", "test.svm"), 2, "give one of them"),
        (("cv", "--folds", "1"), 2, "--folds"),
        (("cv", "--folds", "1000"), 3, "as many rows as there are folds"),
        (("cv", "--loss", "max-hinge,nothing"), 2, "nothing"),
        (("cv", "--loss", "top-k:7"), 3, "7"),
        (("cv", "--lambda", "1"), 2, "--lambda"),
        (("sweep", "--checkpoint-every", "5"), 2, "--checkpoint"),
    ],
)
def test_what_does_not_fit_is_refused(topwolf, data, options, code, saying):
    command, *rest = options
    if options[-1] == "1000":
        done = topwolf(command, data, *rest, code=code)
        assert saying in done.stderr
        return
    topwolf.refuses(command, data, *rest, code=code, saying=saying)


def test_a_folder_of_models_must_not_be_a_file(topwolf, data):
    (topwolf.folder / "models").write_text("mine")
    topwolf.refuses("sweep", data, "models", code=4, saying="must be a folder")
    assert (topwolf.folder / "models").read_text() == "mine"


# ---- jobs that do not come to their end

# The first C is found in one step, the second in no time that a test has.
ENDLESS = ("-c", "1e-6,1e6", "--solver", "lsfw", "--tolerance", "1e-9", "--max-iterations", "1000000000")


def test_a_sweep_that_is_ended_keeps_its_points_and_names_the_others(topwolf, data):
    limit = ("-c", "1e-6,1e6,1e7,1e8", *ENDLESS[2:], "--time-limit", "1", "--report", "s.html", "--quiet")
    swept = topwolf.json("sweep", data, "models", *limit, code=5)
    assert [(point["C"], point["status"]) for point in swept["points"]] == [(1e-6, "converged"), (1e6, "time_limit")]
    assert swept["not_tried"] == [1e7, 1e8]
    assert sorted(path.name for path in (topwolf.folder / "models").iterdir()) == ["C_1e+06.topwolf", "C_1e-06.topwolf"]
    assert "the time limit ended the sweep at C = 1e+06" in swept["warnings"][0] and "1e+07, 1e+08" in swept["warnings"][0]
    assert "not tried: C = 1e+07, 1e+08" in (topwolf.folder / "s.html").read_text()


def finished_part(found):
    """What a search must have kept that went through the first of its two C."""
    assert found["fits"] == 3 and not found["complete"] and not found["at_edge"]
    first, second = found["points"]
    assert None not in first["errors"] and first["folds_tried"] == 3 and first["mean"] == pytest.approx(np.mean(first["errors"]))
    assert second["errors"] == [None] * 3 and second["mean"] is None and second["folds_tried"] == 0 and not second["dropped"]
    assert found["C"] == 1e-6 and found["status"] == "converged"
    assert "ended the search after 3 of 6 fits" in found["warnings"][0]
    return found


def test_a_search_that_runs_out_of_time_ends_with_the_best_so_far(topwolf, data):
    limit = ("--folds", "3", "--time-limit", "2", "--report", "c.html", "--quiet")
    found = finished_part(topwolf.json("cv", data, "m.topwolf", *ENDLESS, *limit, code=5))
    assert found["ended"] == "time_limit" and found["seconds"] < 60
    model = topwolf.json("inspect", "m.topwolf")
    assert model["search"]["complete"] is False and model["search"]["points"][1]["errors"] == [None] * 3
    alone = topwolf.json("train", data, "alone.topwolf", "-c", "1e-6", *ENDLESS[2:])
    assert (model["primal"], model["dual"]) == (alone["primal"], alone["dual"])
    page = (topwolf.folder / "c.html").read_text()
    assert "not tried" in page and "ended the search after 3 of 6 fits" in page
    table = topwolf("cv", data, "m.topwolf", *ENDLESS, *limit, code=5).stdout.splitlines()
    assert table[1].endswith("chosen") and table[2].endswith("not tried")


@pytest.mark.parametrize("number, code", [(signal.SIGINT, 130), (signal.SIGTERM, 143)])
def test_a_signal_ends_the_search_with_the_best_so_far(topwolf, data, number, code):
    process = topwolf.start("cv", data, "m.topwolf", *ENDLESS, "--folds", "3", "--json")
    while "3 of 7 fits" not in process.stderr.readline():
        assert process.poll() is None
    process.send_signal(number)
    out, _ = process.communicate(timeout=60)
    assert process.returncode == code
    assert finished_part(json.loads(out))["ended"] == "interrupted"
    assert topwolf.json("inspect", "m.topwolf")["search"]["chosen"] == 0


def test_without_a_finished_fit_there_is_no_model(topwolf, data):
    never = ("-c", "1e6", *ENDLESS[2:], "--time-limit", "0.3", "--quiet")
    done = topwolf("cv", data, "m.topwolf", *never, "--report", "c.html", code=5)
    assert done.stdout == "the time limit ended the search before a fit was finished: there is no model\n"
    found = topwolf.json("cv", data, "m.topwolf", *never, code=5)
    assert found["fits"] == 0 and found["model"] is None and "chosen" not in found
    assert not (topwolf.folder / "m.topwolf").exists() and not (topwolf.folder / "c.html").exists()


def test_a_search_that_ran_out_of_time_goes_on_from_its_checkpoint(topwolf, data):
    job = ("cv", data, "m.topwolf", "-c", "1e-6,1e6", "--solver", "lsfw", "--tolerance", "1e-9", "--folds", "3", "--quiet")
    found = topwolf.json(*job, "--max-iterations", "1000000000", "--time-limit", "1", "--checkpoint", "job.ckpt", code=5)
    assert "--resume goes on" in finished_part(found)["warnings"][0]
    process = topwolf.start(*job, "--max-iterations", "10", "--resume", "job.ckpt", "--json")
    again = json.loads(process.communicate(timeout=60)[0])
    assert process.returncode in (0, 5)  # by which C wins
    assert again["complete"] and again["points"][0]["errors"] == found["points"][0]["errors"]
    assert None not in again["points"][1]["errors"]


def test_points_that_cannot_win_are_dropped_and_the_choice_stays(topwolf):
    X, y = support.blobs(n=150, d=15, m=5, seed=1, spread=1.5)
    support.write_libsvm(topwolf.folder / "wide.svm", X, y)
    job = ("cv", "wide.svm", "-c", "1e-4:1e3:8", "--quiet")
    found = topwolf.json(*job)
    dropped = [point for point in found["points"] if point["dropped"]]
    assert dropped and found["complete"] and found["fits"] == sum(point["folds_tried"] for point in found["points"]) < 40
    best = found["points"][found["best"]]
    for point in dropped:
        tried = [error for error in point["errors"] if error is not None]
        assert len(tried) == point["folds_tried"] < 5 and sum(tried) > 5 * best["mean"]
    lines = topwolf(*job).stdout.splitlines()
    assert sum("dropped after" in line for line in lines) == len(dropped)
    whole = topwolf.json(*job, "--choose", "one-se")
    assert whole["fits"] == 40 and whole["best"] == found["best"]
    for point, same in zip(found["points"], whole["points"]):
        assert all(a is None or a == b for a, b in zip(point["errors"], same["errors"]))


# ---- checkpoints


@pytest.mark.parametrize("command", ["train", "sweep", "cv"])
def test_a_job_that_was_stopped_ends_the_same(topwolf, data, command):
    job = {
        "train": ("train", data, "m.topwolf", "-c", "100"),
        "sweep": ("sweep", data, "models", "-c", "1,100"),
        "cv": ("cv", data, "m.topwolf", "-c", "1,100", "--folds", "3"),
    }[command]
    job += ("--tolerance", "1e-7", "--precision", "float64")
    result = topwolf.folder / ("models/C_100.topwolf" if command == "sweep" else "m.topwolf")
    topwolf(*job)
    whole = topwolf.json("inspect", result)
    weights = result.read_bytes()[-5 * 6 * 8 :]
    result.unlink()
    limits = ("--checkpoint", "job.ckpt", "--time-limit", "0.01")
    topwolf(*job, *limits, code=5)
    for _ in range(400):
        words = [topwolf.path, *map(str, job), "--resume", "job.ckpt", "--time-limit", "0.02"]
        done = subprocess.run(words, capture_output=True, text=True, cwd=topwolf.folder, env=topwolf.env)
        assert done.returncode in (0, 5), done.stderr
        if done.returncode == 0:
            break
    assert done.returncode == 0
    again = topwolf.json("inspect", result)
    assert {key: again[key] for key in ("primal", "dual", "iterations")} == {key: whole[key] for key in ("primal", "dual", "iterations")}
    assert result.read_bytes()[-5 * 6 * 8 :] == weights


def test_a_search_whose_refit_has_another_solver_ends_the_same(topwolf):
    """Newton for the folds, because of the largest C, and block ascent for the C that is chosen."""
    rng = np.random.default_rng(0)
    y = np.arange(600) % 4
    X = 3 * rng.normal(size=(600, 20)) + 0.8 * rng.normal(size=(4, 20))[y]
    np.savez(topwolf.folder / "rows.npz", X=X.astype(np.float32), y=y)
    job = ("cv", "rows.npz", "m.topwolf", "-c", "0.0001,20", "--folds", "3")
    topwolf(*job)
    whole = topwolf.json("inspect", "m.topwolf")
    assert whole["solver"] == "block"
    (topwolf.folder / "m.topwolf").unlink()
    topwolf(*job, "--checkpoint", "job.ckpt", "--time-limit", "1e-6", code=5)
    for _ in range(400):
        done = topwolf(*job, "--resume", "job.ckpt", "--time-limit", "0.05", code=(0, 5))
        if done.returncode == 0:
            break
    again = topwolf.json("inspect", "m.topwolf")
    assert {key: again[key] for key in ("solver", "primal", "dual", "iterations")} == {key: whole[key] for key in ("solver", "primal", "dual", "iterations")}


def test_another_job_or_a_cut_file_is_refused(topwolf, data):
    topwolf("train", data, "m.topwolf", "--max-iterations", "2", "--tolerance", "1e-9", "--checkpoint", "job.ckpt", code=5)
    (topwolf.folder / "m.topwolf").unlink()
    resume = ("--resume", "job.ckpt", "--quiet")
    assert "C was 1 and is 2 now" in topwolf("train", data, "m.topwolf", "-c", "2", *resume, code=3).stderr
    assert "the loss was max-hinge and is usunier:2 now" in topwolf("train", data, "m.topwolf", "--loss", "usunier:2", *resume, code=3).stderr
    assert "the fingerprint of the data" in topwolf("train", "test.svm", "m.topwolf", *resume, code=3).stderr
    assert "the command was train and is sweep now" in topwolf("sweep", data, *resume, code=3).stderr
    whole = (topwolf.folder / "job.ckpt").read_bytes()
    (topwolf.folder / "job.ckpt").write_bytes(whole[: len(whole) // 2])
    assert "job.ckpt" in topwolf("train", data, "m.topwolf", *resume, code=3).stderr
    assert not (topwolf.folder / "m.topwolf").exists()
    assert topwolf("train", data, "m.topwolf", "--resume", "none.ckpt", "--quiet", code=4)


def test_a_resumed_sweep_has_all_its_models_and_rows(topwolf, data):
    job = ("-c", "0.1,1,10", "--quiet")
    whole = topwolf("sweep", data, "models", *job, "--checkpoint", "job.ckpt", "--checkpoint-every", "1e-9").stdout.splitlines()
    (topwolf.folder / "models" / "C_10.topwolf").unlink()
    checkpoint = (topwolf.folder / "job.ckpt").read_bytes()
    (topwolf.folder / "there").mkdir()
    for folder in ("there", "new/deep"):
        refused = topwolf.refuses("sweep", data, folder, *job, "--resume", "job.ckpt", code=3, saying=f"{folder}/C_0.1.topwolf: is missing")
        assert "job.ckpt" in refused and "MODELS_DIR" in refused
    topwolf.refuses("sweep", data, data, *job, "--resume", "job.ckpt", code=4, saying="is a file, but MODELS_DIR must be a folder")
    assert not list((topwolf.folder / "there").iterdir()) and (topwolf.folder / "job.ckpt").read_bytes() == checkpoint
    resumed = topwolf("sweep", data, "models", *job, "--resume", "job.ckpt").stdout.splitlines()
    columns = (0, 1, 2, 3, 4)  # without the seconds
    assert [[line.split()[c] for c in columns] for line in resumed[:4]] == [[line.split()[c] for c in columns] for line in whole[:4]]
    assert (topwolf.folder / "models" / "C_10.topwolf").exists()
    assert len(topwolf("sweep", data, *job, "--resume", "job.ckpt").stdout.splitlines()) == len(whole)


def test_a_sweep_that_finished_nothing_may_be_resumed_into_a_new_folder(topwolf, data):
    job = ("-c", "0.1,1", "--quiet")
    topwolf("sweep", data, *job, "--checkpoint", "job.ckpt", "--time-limit", "1e-9", code=5)
    topwolf("sweep", data, "new/deep", *job, "--resume", "job.ckpt")
    assert sorted(path.name for path in (topwolf.folder / "new" / "deep").iterdir()) == ["C_0.1.topwolf", "C_1.topwolf"]


def test_what_shapes_the_state_must_be_the_same(topwolf, data):
    job = ("train", data, "m.topwolf", "--solver", "lsfw", "--tolerance", "1e-9", "--max-iterations", "3", "--quiet")
    topwolf(*job, "--checkpoint", "job.ckpt", code=5)
    assert "keeping the dual was not wanted" in topwolf(*job, "--resume", "job.ckpt", "--dual", "d", code=3).stderr
    assert "the precision was float32" in topwolf(*job, "--resume", "job.ckpt", "--precision", "float64", code=3).stderr
    swept = ("sweep", data, "-c", "0.1,1", "--tolerance", "1e-9", "--max-iterations", "3", "--quiet")
    topwolf(*swept, "--checkpoint", "s.ckpt", code=5)
    assert "the rows held out was none" in topwolf(*swept, "--resume", "s.ckpt", "--validation", "test.svm", code=3).stderr
    topwolf.refuses("train", data, "job.ckpt", "--resume", "job.ckpt", code=2, saying="different files")
    topwolf.refuses("train", data, "--resume", "", code=2, saying="--resume is empty")


def test_a_metric_that_is_always_zero_is_refused(topwolf, data):
    topwolf.refuses("cv", data, "--metric", "top5", "--quiet", code=3, saying="always 0")


def test_values_that_differ_little_have_models_of_their_own(topwolf, data):
    topwolf("sweep", data, "models", "-c", "1,1.0000001,2", "--quiet")
    assert sorted(path.name for path in (topwolf.folder / "models").iterdir()) == ["C_1.0000001.topwolf", "C_1.topwolf", "C_2.topwolf"]


# ---- weights


def repeated(data, path, times):
    lines = data.read_text().splitlines()
    path.write_text("".join((line + "\n") * k for line, k in zip(lines, times)))
    return path


def test_weights_are_repeated_rows(topwolf, data):
    times = np.arange(150) * 7 % 4
    twice = repeated(data, topwolf.folder / "repeated.svm", times)
    np.savetxt(topwolf.folder / "weights.txt", times, fmt="%d")
    np.save(topwolf.folder / "weights.npy", times.astype(np.float32))
    lines = data.read_text().splitlines()
    labelled = topwolf.folder / "labelled.svm"
    labelled.write_text("".join(line.replace(" ", f":{k} ", 1) + "\n" for line, k in zip(lines, times)))
    options = ("--loss", "top-k:2", "--tolerance", "1e-9", "--precision", "float64", "-c", "0.5")
    want = topwolf.json("train", twice, "m", *options)
    for given in ((data, "m", "--weights", "weights.txt"), (data, "m", "--weights", "weights.npy"), (labelled, "m", "--label-weights")):
        got = topwolf.json("train", *given, *options)
        assert got["primal"] == pytest.approx(want["primal"], rel=2e-9)
        assert got["relative_gap"] <= 1e-9 and got["lambda"] == pytest.approx(want["lambda"])


def test_class_weights(topwolf, data):
    lines = [line for k, line in enumerate(data.read_text().splitlines()) if not (line.startswith("2 ") and k % 3)]
    data.write_text("\n".join(lines) + "\n")
    labels = [int(line.split()[0]) for line in lines]
    balanced = {j: len(labels) / (5 * labels.count(j)) for j in range(1, 6)}
    (topwolf.folder / "classes.txt").write_text("".join(f"{j} {w!r}\n" for j, w in balanced.items()))
    options = ("--tolerance", "1e-9", "--precision", "float64")
    first = topwolf.json("train", data, "m", "--class-weight", "balanced", *options)
    second = topwolf.json("train", data, "m", "--class-weight", "classes.txt", *options)
    assert first["primal"] == pytest.approx(second["primal"], rel=1e-8)
    assert first["primal"] != pytest.approx(topwolf.json("train", data, "m", *options)["primal"], rel=1e-3)


def test_certificates_of_weighted_models_can_be_checked(topwolf, data):
    np.savetxt(topwolf.folder / "w.txt", np.arange(150) % 3, fmt="%d")
    weights = ("--weights", "w.txt", "--class-weight", "balanced")
    trained = topwolf.json("train", data, "m.topwolf", "--dual", "d", *weights)
    found = topwolf.json("verify", data, "m.topwolf", "--dual", "d", *weights)
    assert found["holds"] and found["primal"] == pytest.approx(trained["primal"])
    assert not topwolf.json("verify", data, "m.topwolf", "--dual", "d", code=3)["holds"]
    audited = topwolf.json("audit", data, "m.topwolf", *weights, "--quiet")
    assert audited["warnings"] == []


def test_held_out_rows_may_have_weights_in_their_labels(topwolf, data):
    lines = (topwolf.folder / "test.svm").read_text().splitlines()
    (topwolf.folder / "v.svm").write_text("".join(line.replace(" ", f":{k % 3} ", 1) + "\n" for k, line in enumerate(lines)))
    kept = "".join((line + "\n") * (k % 3) for k, line in enumerate(lines))
    (topwolf.folder / "kept.svm").write_text(kept)
    (topwolf.folder / "l.svm").write_text(data.read_text())
    weighted = topwolf.json("train", "l.svm", "m", "--label-weights", "--validation", "v.svm", "--quiet")
    repeated_rows = topwolf.json("train", "l.svm", "m", "--validation", "kept.svm", "--quiet")
    assert weighted["held_out"]["top1_error"] == pytest.approx(repeated_rows["held_out"]["top1_error"])


@pytest.mark.parametrize(
    "content, saying",
    [("1\n" * 149, "149 weights for 150 rows"), ("-1\n" * 150, "at least 0"), ("nan\n" * 150, "not a finite number"), ("x\n" * 150, "at least 0"), ("0\n" * 150, "all example weights are 0")],
)
def test_bad_weights_are_refused(topwolf, data, content, saying):
    (topwolf.folder / "w.txt").write_text(content)
    topwolf.refuses("train", data, "m", "--weights", "w.txt", "--quiet", code=3, saying=saying)


def test_weights_are_given_in_one_way(topwolf, data):
    (topwolf.folder / "w.txt").write_text("1\n" * 150)
    topwolf.refuses("train", data, "--weights", "w.txt", "--label-weights", code=2, saying="give one of them")
    topwolf.refuses("train", data, "--class-weight", "none.txt", code=4, saying="none.txt")


def test_reports_hold_the_figures(topwolf, data):
    topwolf("sweep", data, "-c", "0.1,1", "--holdout", "0.3", "--report", "s.html", "--quiet")
    topwolf("cv", data, "-c", "0.001,0.01", "--folds", "3", "--loss", "max-hinge,usunier:2", "--report", "c.html", "--quiet")
    for name, points in (("s.html", 2), ("c.html", 4)):
        page = (topwolf.folder / name).read_text()
        figures = json.loads(page.split('id="topwolf">')[1].split("</script>")[0])
        assert len(figures["points"]) == points
        assert page.count("<svg") >= 1
    assert page.count('class="bar ') == 4
    assert "an end of the range" in page


def test_a_dry_run_refuses_what_the_search_would(topwolf, train_svm):
    words = ["cv", train_svm, "--folds", "3", "-c", "1", "--metric", "top4"]
    for dry in [[], ["--dry-run"]]:
        topwolf.refuses(*words, *dry, "-q", code=3, saying="the top4 error of 4 classes is always 0")


def test_memory_is_planned_by_the_largest_loss(topwolf, train_svm):
    def bytes_of(losses):
        words = ["--solver", "apg", "--folds", "2", "--dry-run", "--threads", "1"]
        return topwolf.json("cv", "wide.svm", "--loss", losses, "-c", "1", *words)["training_bytes"]

    lines = [f"{i % 60} {i % 7 + 1}:1" for i in range(6000)]
    (topwolf.folder / "wide.svm").write_text("\n".join(lines) + "\n")
    softmax, hinge = bytes_of("softmax"), bytes_of("max-hinge")
    assert hinge < 0.5 * softmax and bytes_of("max-hinge,softmax") == bytes_of("softmax,max-hinge") == softmax


@pytest.mark.parametrize("solver", ["block", "apg"])
def test_a_sweep_may_go_from_one_end_of_the_scale_to_the_other(topwolf, train_svm, solver):
    """Scores of the first point are 0 in float32, and multiplied by what lies between two points they stayed 0."""
    words = ["--solver", solver, "--tolerance", "0.01", "-q"]
    points = topwolf.json("sweep", train_svm, "models", "-c", "1e-200,1e-100,1", *words)["points"]
    assert [point["status"] for point in points] == ["converged"] * 3
    alone = topwolf.json("train", train_svm, "alone.topwolf", *words)
    assert points[-1]["primal"] == pytest.approx(alone["primal"], rel=0.02)
