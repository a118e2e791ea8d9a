"""Memory: the estimate against what is measured, limits, and the plan that --dry-run prints."""

import json
import re
import resource
import subprocess
import sys

import numpy as np
import pytest

# A small process between this one and the program: a child's peak begins with what its parent had when it forked.
LAUNCHER = """
import resource, subprocess, sys
code = subprocess.run(sys.argv[1:], stdout=2).returncode
print(code, resource.getrusage(resource.RUSAGE_CHILDREN).ru_maxrss)
"""


def peak_bytes(topwolf, *args, code):
    """The largest memory that one run had."""
    command = [sys.executable, "-I", "-S", "-c", LAUNCHER, topwolf.path, *map(str, args)]
    done = subprocess.run(command, capture_output=True, text=True, cwd=topwolf.folder, env=topwolf.env, timeout=300)
    ended, kilobytes = map(int, done.stdout.split())
    assert ended in code, (ended, done.stderr)
    return 1024 * kilobytes


def dense_rows(folder, n, d, m, seed=0):
    rng = np.random.default_rng(seed)
    y = np.arange(n) % m
    X = rng.normal(size=(n, d)).astype(np.float32) / np.sqrt(d)
    X[np.arange(n), y % d] += 0.3
    np.save(folder / "data.npy", X)
    np.save(folder / "y.npy", y)


def sparse_rows(folder, n, d, m, k, seed=0):
    """k values a row, one in each part of the columns: all of them occur."""
    rng = np.random.default_rng(seed)
    columns = np.arange(k) * (d // k) + rng.integers(0, d // k, (n, k))
    columns[: d // k] = np.arange(k) * (d // k) + np.arange(min(n, d // k))[:, None]
    np.savez(
        folder / "data.npz",
        data=rng.random(n * k, dtype=np.float32),
        indices=columns.ravel().astype(np.int32),
        indptr=np.arange(n + 1) * k,
        shape=np.array([n, d]),
        format=np.array("csr"),
    )
    np.save(folder / "y.npy", np.arange(n) % m)


WIDE, TALL, SQUARE, MANY = (400, 8000, 400), (100_000, 8, 10), (3500, 20, 20), (8000, 4, 100)
ESTIMATES = {
    "block from weights": (WIDE, ["--solver", "block", "--scores", "weights"]),
    "block in float64": (WIDE, ["--solver", "block", "--scores", "weights", "--precision", "float64"]),
    "block from the Gram matrix": (SQUARE, ["--solver", "block", "--scores", "gram"]),
    "block with many rows and a larger K": (TALL, ["--solver", "block", "--scores", "weights", "--loss", "usunier:4"]),
    "lsfw": (WIDE, ["--solver", "lsfw"]),
    "pg, smoothed": (WIDE, ["--solver", "pg", "--smoothing", "1"]),
    "lsfw with a dual": (TALL, ["--solver", "lsfw", "--dual", "dual"]),
    "apg": (WIDE, ["--solver", "apg"]),
    "newton": (TALL, ["--solver", "newton"]),
    "newton with many classes": (MANY, ["--solver", "newton"]),
    "newton with many classes, softmax": (MANY, ["--solver", "newton", "--loss", "softmax"]),
    "block, softmax": (WIDE, ["--solver", "block", "--scores", "weights", "--loss", "softmax"]),
    "block with class features": (WIDE, ["--solver", "block", "--scores", "weights", "--class-features", "phi.npy"]),
    "lsfw with class features": (WIDE, ["--solver", "lsfw", "--class-features", "phi.npy"]),
    "sparse block": ((2000, 8000, 400, 20), ["--solver", "block"]),
    "sparse lsfw": ((2000, 8000, 400, 20), ["--solver", "lsfw"]),
}


def check_estimate(topwolf, command, data, options):
    job = [command, data, "--labels", "y.npy", "--tolerance", "0", *options]
    plan = topwolf.json(*job, "--dry-run")
    without = peak_bytes(topwolf, *job, "--dry-run", code={0})
    measured = peak_bytes(topwolf, *job, "-q", code={0, 5}) - without
    assert measured > 30e6, "the base of the process would matter"
    assert 0.75 < plan["training_bytes"] / measured < 1.25, (plan["training_bytes"] / 1e6, measured / 1e6)


@pytest.mark.parametrize("name", ESTIMATES)
def test_the_estimate_is_what_is_measured(topwolf, tmp_path, name):
    shape, options = ESTIMATES[name]
    sparse = len(shape) == 4
    (sparse_rows if sparse else dense_rows)(tmp_path, *shape)
    if "phi.npy" in options:
        np.save(tmp_path / "phi.npy", np.random.default_rng(1).normal(size=(shape[2], 150)))
    passes = "17" if sparse else "6"  # so many that block has gone along the face
    check_estimate(topwolf, "train", "data.npz" if sparse else "data.npy", [*options, "--max-iterations", passes])


@pytest.mark.parametrize("command", ["sweep", "cv"])
def test_the_estimate_of_several_fits_is_what_is_measured(topwolf, tmp_path, command):
    dense_rows(tmp_path, 300, 8000, 150)
    options = ["--C", "0.1,1", "--max-iterations", "6", "--threads", "2", "--solver", "apg" if command == "sweep" else "block"]
    check_estimate(topwolf, command, "data.npy", [*options, *(["--folds", "2"] if command == "cv" else [])])


def limited(topwolf, limit, *args, resource_kind=resource.RLIMIT_AS, stdin=None):
    return subprocess.run(
        [topwolf.path, *map(str, args)],
        cwd=topwolf.folder,
        env={**topwolf.env, "OMP_NUM_THREADS": "1"},
        stdin=stdin,
        capture_output=True,
        text=True,
        preexec_fn=lambda: resource.setrlimit(resource_kind, (limit, limit)),
    )


def json_within(topwolf, limit, *args):
    done = limited(topwolf, limit, *args, "--json", "--quiet")
    assert done.returncode in (0, 5), done.stderr
    return json.loads(done.stdout)


def test_the_number_of_threads_changes_no_bit_where_memory_is_short(topwolf, tmp_path):
    dense_rows(tmp_path, 700, 2000, 600)
    job = ["train", "data.npy", "m.topwolf", "--labels", "y.npy", "-c", "10", "--max-iterations", "3"]
    for kilobytes in (240_000, 300_000, 1_000_000):
        four, two = (json_within(topwolf, kilobytes << 10, *job, "--threads", threads) for threads in (4, 2))
        assert [four[key] for key in ("primal", "dual", "choice")] == [two[key] for key in ("primal", "dual", "choice")]


LARGE = ["data.npy", "--labels", "y.npy", "--precision", "float64", "--scores", "weights", "--threads", "1"]


@pytest.mark.parametrize(
    "kind, name, limit", [(resource.RLIMIT_AS, "ulimit -v", 460e6), (resource.RLIMIT_DATA, "ulimit -d", 440e6)]
)
def test_what_does_not_fit_is_refused_before_it_starts(topwolf, tmp_path, kind, name, limit):
    dense_rows(tmp_path, 100, 80000, 100)
    files = sorted(tmp_path.iterdir())
    done = limited(topwolf, int(limit), "train", *LARGE, resource_kind=kind)
    assert done.returncode == 6 and done.stderr.count("\n") == 1, done.stderr
    assert f"block ascent from the weights would take 0.39 GB of memory, but {name} leaves 0." in done.stderr
    assert "; --precision float32 needs 0.32 GB" in done.stderr
    assert sorted(tmp_path.iterdir()) == files


def test_a_dry_run_prints_the_plan_and_writes_nothing(topwolf, train_svm, tmp_path):
    files = sorted(tmp_path.iterdir())
    for job in (["train"], ["sweep", "--holdout", "0.2"], ["cv", "--folds", "3"]):
        command, *options = job
        outputs = ["folder"] if command == "sweep" else ["m.topwolf", "--report", "r.html"]
        text = topwolf(command, train_svm, *outputs, "--dry-run", *options).stdout
        assert "120 rows" in text or "96 rows" in text
        for word in ("method     block ascent with scores from the ", "memory     training takes about ", "a guess"):
            assert word in text
        assert sorted(tmp_path.iterdir()) == files
    plan = topwolf.json("cv", train_svm, "--folds", "3", "--C", "1,2", "--dry-run", "--threads", "2")
    assert (plan["n"], plan["m"], plan["fits"], plan["workers"]) == (120, 4, 7, 2)
    assert plan["enough_memory"] and plan["remedy"] is None and 0 < plan["training_bytes"] < plan["available_bytes"]
    assert plan["passes_guessed"] > 0 and plan["seconds_guessed"] > 0


def test_a_plan_that_does_not_fit_says_so(topwolf, tmp_path):
    dense_rows(tmp_path, 100, 80000, 100)
    done = limited(topwolf, 460_000_000, "train", *LARGE, "--dry-run")
    assert done.returncode == 6 and "that is too little; --precision float32 needs 0.32 GB" in done.stdout, done.stdout


def wide_file(path, rows, seed=0):
    """20 of 10,000,000 features a row, every row a class of its own."""
    rng = np.random.default_rng(seed)
    lines = []
    for i in range(rows):
        columns = np.unique(rng.integers(1, 10_000_000, 20))
        lines.append(f"{i} " + " ".join(f"{c}:{x:.3f}" for c, x in zip(columns, rng.random(len(columns)))))
    path.write_text("\n".join(lines) + " 10000000:1\n")
    return path


def test_features_that_do_not_occur_take_no_memory(topwolf, tmp_path):
    data = wide_file(tmp_path / "wide.svm", 200)
    job = ["train", data, "m.topwolf", "--dual", "dual", "-q", "--validation", data]
    assert peak_bytes(topwolf, *job, code={0}) < 200e6  # one W of all features would take 16 GB
    assert (tmp_path / "m.topwolf").stat().st_size < 5e6
    assert topwolf.json("inspect", "m.topwolf")["features_with_weights"] <= 4001
    assert topwolf.json("verify", data, "m.topwolf", "--dual", "dual")["holds"]
    assert topwolf.json("evaluate", data, "m.topwolf")["top1_error"] == 0
    assert topwolf.json("audit", data, "m.topwolf")["excess_at_most"] < 1e-3
    assert topwolf("predict", data, "m.topwolf", "-q").stdout == "".join(f"{i}\n" for i in range(200))
    other = wide_file(tmp_path / "other.svm", 30, seed=1)
    assert topwolf("predict", other, "m.topwolf", "-q").stdout.count("\n") == 30
    topwolf.json("sweep", data, "folder", "--C", "1,2", "--validation", other)
    topwolf.refuses("convert", "m.topwolf", "m.model", code=3, saying="LIBLINEAR's format would write all 10000000 x 200")


@pytest.mark.parametrize(
    "job",
    [
        ["predict", "train.svm", "/dev/zero"],
        ["audit", "train.svm", "/dev/zero"],
        ["verify", "train.svm", "model.topwolf", "--dual", "/dev/zero"],
        ["train", "-q", "train.svm", "--resume", "/dev/zero"],
    ],
)
def test_a_file_without_end_is_refused_at_its_beginning(topwolf, train_svm, model, job):
    done = limited(topwolf, 1 << 30, *job)
    assert done.returncode == 3, done.stderr
    assert re.fullmatch(r"topwolf: /dev/zero: (is not a model|not a valid topwolf file).*\n", done.stderr), done.stderr


def test_a_file_without_end_that_begins_well_is_named(topwolf, train_svm, model):
    """Fewer rows would not help."""
    endless = subprocess.Popen(["cat", model, "/dev/zero"], stdout=subprocess.PIPE)
    done = limited(topwolf, 1 << 30, "predict", "train.svm", "/dev/stdin", stdin=endless.stdout)
    endless.kill()
    endless.wait()
    assert done.returncode == 6, done.stderr
    assert re.fullmatch(r"topwolf: /dev/stdin: has \d+\.\d [MG]iB or more, which do not fit into memory\n", done.stderr), done.stderr


def test_fewer_threads_are_advised_where_they_are_enough(topwolf, tmp_path):
    """Each thread has scores of its own."""
    dense_rows(tmp_path, 4000, 50, 2000)

    def impose():
        resource.setrlimit(resource.RLIMIT_AS, (1 << 30, 1 << 30))

    job = ["train", "-q", "data.npy", "--labels", "y.npy", "m.topwolf", "--max-iterations", "1"]
    process = topwolf.start(*job, "--threads", "1024", preexec_fn=impose)
    _, err = process.communicate(timeout=60)
    assert process.returncode == 6 and "; --threads 1 needs 0.0" in err, err
    process = topwolf.start(*job, "--threads", "1", preexec_fn=impose)
    process.communicate(timeout=60)
    assert process.returncode == 5
