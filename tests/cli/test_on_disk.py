"""Rows that stay on disk: the same optimum and bits, bounded memory, files that change or end, and the cache made of any input."""

import json
import os
import resource
import signal
import subprocess

import numpy as np
import pytest

from support import write_libsvm
from test_memory import limited, peak_bytes

BOUND = 80 << 20  # bytes that training may take; the files of `large` have 96 MB


def rows_of(n, d, m, seed=0):
    """Sorted by class, as files are."""
    rng = np.random.default_rng(seed)
    y = np.sort(np.arange(n) % m)
    X = rng.normal(size=(n, d)).astype(np.float32) + 0.3 * rng.normal(size=(m, d)).astype(np.float32)[y]
    return X / np.linalg.norm(X, axis=1, keepdims=True), y


@pytest.fixture(scope="module")
def large(tmp_path_factory):
    folder = tmp_path_factory.mktemp("large")
    X, y = rows_of(30_000, 800, 10)
    np.save(folder / "X.npy", X)
    np.save(folder / "X16.npy", X.astype(np.float16))
    np.save(folder / "y.npy", y)
    for part in range(3):
        rows = slice(part * 10_000, (part + 1) * 10_000)
        np.save(folder / f"part_{part}.npy", X[rows])
        np.save(folder / f"labels_{part}.npy", y[rows])
    return folder


def job(folder, *options, memory=BOUND, data="X.npy", labels="y.npy"):
    return ["train", "-q", folder / data, "m.topwolf", "--labels", folder / labels, "--memory", memory, *options]


def started_and_under_way(topwolf, *args):
    """Its first passes are told of: what comes now comes in the middle of training, however fast the machine is."""
    process = topwolf.start(*(arg for arg in args if arg != "-q"))
    told = []
    while len(told) < 4:
        told.append(process.stderr.readline())
        assert told[-1], told
    return process


def fields(done, *names):
    return [done[name] for name in names]


@pytest.mark.parametrize("data", ["X.npy", "part_*.npy"])
def test_training_stays_below_its_bound(topwolf, large, data):
    labels = data.replace("part", "labels").replace("X", "y")
    assert peak_bytes(topwolf, *job(large, data=data, labels=labels), code={0}) < BOUND
    assert peak_bytes(topwolf, *job(large, "--threads", 1, "--tolerance", "0.3", "--solver", "apg"), code={0}) < BOUND


def test_it_needs_no_more_address_space_than_its_bound(topwolf, large):
    done = limited(topwolf, int(1.5 * BOUND), *job(large, "--threads", 1))
    assert done.returncode == 0, done.stderr


def test_the_optimum_is_that_of_rows_in_memory(topwolf, large):
    tight = ["--tolerance", "1e-5"]
    here = topwolf.json(*job(large, *tight, memory="2G"), code=(0, 5))
    there = topwolf.json(*job(large, *tight), code=(0, 5))
    assert "on disk" in there["choice"] and "on disk" not in here["choice"]
    assert there["primal"] >= here["dual"] * (1 - 1e-12) and here["primal"] >= there["dual"] * (1 - 1e-12)
    assert there["relative_gap"] <= 1e-5


def test_any_number_of_threads_gives_the_same_bits(topwolf, large):
    one, two = (topwolf.json(*job(large, "--threads", t, "--max-iterations", 6), code=5) for t in (1, 2))
    assert fields(one, "primal", "dual", "choice") == fields(two, "primal", "dual", "choice")


@pytest.mark.parametrize("solver", ["lsfw", "stdfw", "pg", "apg", "block"])
def test_every_solver_reads_windows(topwolf, large, solver):
    done = topwolf.json(*job(large, "--solver", solver, "--max-iterations", 3), code=5)
    assert "on disk" in done["choice"] and done["solver"] == solver
    assert done["dual"] <= done["primal"]


def test_verify_predict_and_evaluate_read_windows(topwolf, large):
    topwolf(*job(large, "--dual", "dual", "--bias", "1"))
    data = [large / "X.npy", "m.topwolf", "--labels", large / "y.npy"]
    assert topwolf.json("verify", *data, "--dual", "dual")["holds"]
    assert topwolf.json("evaluate", *data)["top1_error"] < 0.2
    for command in (["verify", *data, "--dual", "dual"], ["evaluate", *data], ["predict", "-q", *data, "-o", "out"]):
        bytes_of_duals = 30_000 * 100
        assert peak_bytes(topwolf, *command, code={0}) < (90 << 20) + bytes_of_duals, command
    assert len((topwolf.folder / "out").read_text().split()) == 30_000


def test_float16_rows_are_those_of_float32(topwolf, large):
    np.save(topwolf.folder / "same.npy", np.load(large / "X16.npy").astype(np.float32))
    half = topwolf.json(*job(large, data="X16.npy"))
    same = topwolf.json("train", "-q", "same.npy", "m.topwolf", "--labels", large / "y.npy")
    assert half["precision"] == "float16" and "on disk" in half["choice"]
    assert half["primal"] >= same["dual"] and same["primal"] >= half["dual"]


def test_a_file_that_fits_is_loaded(topwolf, large):
    here = topwolf.json(*job(large, memory="4G"))
    plain = topwolf.json("train", "-q", large / "X.npy", "m.topwolf", "--labels", large / "y.npy")
    assert fields(here, "primal", "dual", "iterations") == fields(plain, "primal", "dual", "iterations")
    assert "on disk" not in here["choice"]


def test_a_bound_that_is_too_small_says_how_much_is_needed(topwolf, large):
    sentence = topwolf.refuses(*job(large, memory="40M"), code=6, saying="; --memory of 0.")
    enough = sentence.split("--memory of ")[1].split(" GB")[0]
    topwolf(*job(large, "--max-iterations", 1, memory=int(float(enough) * 1e9)), code=5)


@pytest.mark.parametrize(
    "options, code, saying",
    [
        (["--scores", "gram"], 2, "gram needs the rows in memory"),
        (["--memory", "0"], 2, "--memory is 0"),
        (["--memory", "lots"], 2, "--memory is 'lots'"),
    ],
)
def test_what_cannot_be_is_refused(topwolf, large, options, code, saying):
    base = job(large)
    if options[0] == "--memory":
        base = base[: base.index("--memory")]
    topwolf.refuses(*base, *options, code=code, saying=saying)


def test_other_formats_are_told_how_to_become_one(topwolf, train_svm):
    topwolf.refuses("train", train_svm, "--memory", "1G", code=2, saying="only the rows of .npy and .twd files can stay on disk (--memory)")


def test_arrays_of_any_kind(topwolf, tmp_path):
    """Integers, float64, big-endian: what they are loaded as is what they are read as."""
    X, y = rows_of(400, 6, 3)
    for name, array in {"i": (100 * X).astype(np.int16), "d": X.astype(np.float64), "b": X.astype(">f4"), "u": (X > 0)}.items():
        np.save(tmp_path / f"{name}.npy", array)
    np.save(tmp_path / "y.npy", y)
    np.save(tmp_path / "f.npy", np.asfortranarray(X))
    for name in "idbu":
        topwolf("convert", f"{name}.npy", f"{name}.twd", "--labels", "y.npy")
        topwolf("convert", f"{name}.twd", f"{name}_back.npz")
        expected = np.load(tmp_path / f"{name}.npy").astype(np.float32)
        assert np.array_equal(np.load(tmp_path / f"{name}_back.npz")["X"], expected), name
    topwolf.refuses("train", "f.npy", "--labels", "y.npy", "--memory", "1G", code=3, saying="Fortran order")


@pytest.mark.parametrize("place, what", [(0, "first"), (399, "last")])
def test_numbers_that_are_none_are_found_where_they_are(topwolf, tmp_path, place, what):
    X, y = rows_of(400, 6, 3)
    X[place, 2] = np.nan
    np.save(tmp_path / "X.npy", X)
    np.save(tmp_path / "y.npy", y)
    for command in (["train", "X.npy", "--memory", "1G"], ["convert", "X.npy", "x.twd"]):
        topwolf.refuses(*command, "--labels", "y.npy", code=3, saying=f"row {place + 1}, column 3 (counted from 1)")


def test_checkpoints_end_at_the_same_bits(topwolf, large):
    whole = topwolf.json(*job(large, "--max-iterations", 8), code=5)
    topwolf(*job(large, "--max-iterations", 3, "--checkpoint", "c"), code=5)
    resumed = topwolf.json(*job(large, "--max-iterations", 8, "--resume", "c"), code=5)
    assert fields(resumed, "primal", "dual", "iterations") == fields(whole, "primal", "dual", "iterations")
    topwolf.refuses(*job(large, "--resume", "c", memory=BOUND + (10 << 20)), code=3, saying="the window of rows")


def test_a_signal_in_the_middle_of_a_window_leaves_the_best_model(topwolf, large):
    process = started_and_under_way(topwolf, *job(large, "--tolerance", "1e-12"))
    process.send_signal(signal.SIGINT)
    _, err = process.communicate(timeout=60)
    assert process.returncode == 130, err
    assert (topwolf.folder / "m.topwolf").exists()


@pytest.mark.parametrize("change", ["truncate", "write"])
def test_a_file_that_changes_is_a_sentence(topwolf, large, change):
    path = topwolf.folder / "X.npy"
    path.write_bytes((large / "X.npy").read_bytes())
    process = started_and_under_way(topwolf, *job(large, "--tolerance", "1e-12", data=path))
    if change == "truncate":
        os.truncate(path, path.stat().st_size // 2)
    else:
        with open(path, "r+b") as file:
            file.seek(-4, os.SEEK_END)
            file.write(b"\0\0\0\0")
    _, err = process.communicate(timeout=60)
    assert process.returncode == 4, err
    assert f"{path}: the file " in err and "while it was" in err
    assert not (topwolf.folder / "m.topwolf").exists()


def test_files_that_do_not_go_together(topwolf, tmp_path):
    X, y = rows_of(40, 6, 3)
    np.save(tmp_path / "a_1.npy", X)
    np.save(tmp_path / "a_2.npy", X[:, :5])
    np.save(tmp_path / "y.npy", y)
    topwolf.refuses("train", "a_*.npy", "--labels", "y.npy", "--memory", "1G", code=3, saying="the rows have 5 features, but those of a_1.npy have 6")
    topwolf.refuses("train", "b_*.npy", "--labels", "y.npy", "--memory", "1G", code=4, saying="no file matches")
    topwolf.refuses("train", "a_1.npy", "--labels", "a_1.npy", "--memory", "1G", code=3, saying="labels need one dimension")
    topwolf.refuses("train", "a_1.npy", "--memory", "1G", code=3, saying="labels must come from a file of their own (--labels)")
    (tmp_path / "a_1.npy").write_bytes((tmp_path / "a_1.npy").read_bytes()[:-1])
    topwolf.refuses("train", "a_1.npy", "--labels", "y.npy", "--memory", "1G", code=3, saying="a_1.npy: ")


# ---- convert


def arrays_of(topwolf, path):
    topwolf("convert", path, "back.npz")
    held = np.load(topwolf.folder / "back.npz")
    return held["X"], held["y"]


def test_a_shuffled_cache_has_the_same_rows(topwolf, large):
    X, y = np.load(large / "X.npy"), np.load(large / "y.npy")
    convert = ["convert", large / "X.npy", "x.twd", "--labels", large / "y.npy", "--memory", "16M"]
    assert peak_bytes(topwolf, *convert, "--shuffle", code={0}) < 60e6
    first = (topwolf.folder / "x.twd").read_bytes()
    topwolf(*convert, "--shuffle")
    assert first == (topwolf.folder / "x.twd").read_bytes()
    shuffled, labels = arrays_of(topwolf, "x.twd")
    assert not np.array_equal(labels, y) and np.abs(np.diff(labels[:3000])).mean() > 2  # classes are mixed at the beginning
    order, expected = np.lexsort(shuffled.T[:3]), np.lexsort(X.T[:3])
    assert np.array_equal(shuffled[order], X[expected]) and np.array_equal(labels[order], y[expected])
    topwolf(*convert, "--shuffle", "--seed", 1)
    assert first != (topwolf.folder / "x.twd").read_bytes()


def test_a_sparse_cache_is_shuffled_row_by_row(topwolf, tmp_path):
    rng = np.random.default_rng(0)
    X = rng.random((500, 40)).astype(np.float32) * (rng.random((500, 40)) < 0.1)
    y = np.arange(500) // 50
    write_libsvm(tmp_path / "x.svm", X, [f"c{label}" for label in y])
    topwolf("convert", "x.svm", "x.twd")
    topwolf("convert", "x.twd", "s.twd", "--shuffle", "--memory", "1M")
    for name in "xs":
        topwolf("convert", f"{name}.twd", f"{name}_back.svm")
    before, after = ((tmp_path / f"{name}_back.svm").read_text().split("\n") for name in "xs")
    assert before != after and sorted(before) == sorted(after)
    same, other = (topwolf.json("train", "-q", f"{name}.twd", "m.topwolf", "--tolerance", "1e-7") for name in "xs")
    assert same["primal"] == pytest.approx(other["primal"], rel=1e-6)


def test_a_stream_writes_what_a_load_writes(topwolf, large):
    """One format, whichever way the rows came."""
    np.savez(topwolf.folder / "x.npz", X=np.load(large / "X16.npy")[:2000], y=np.load(large / "y.npy")[:2000])
    np.save(topwolf.folder / "X.npy", np.load(large / "X16.npy")[:2000])
    np.save(topwolf.folder / "y.npy", np.load(large / "y.npy")[:2000])
    topwolf("convert", "x.npz", "loaded.twd")
    topwolf("convert", "X.npy", "streamed.twd", "--labels", "y.npy")
    assert (topwolf.folder / "loaded.twd").read_bytes() == (topwolf.folder / "streamed.twd").read_bytes()


def test_a_full_disk_leaves_nothing(topwolf, large):
    files = sorted(topwolf.folder.iterdir())
    limit = 20 << 20

    def impose():
        resource.setrlimit(resource.RLIMIT_FSIZE, (limit, limit))
        signal.signal(signal.SIGXFSZ, signal.SIG_IGN)

    process = topwolf.start("convert", large / "X.npy", "x.twd", "--labels", large / "y.npy", preexec_fn=impose)
    _, err = process.communicate(timeout=60)
    assert process.returncode == 4 and "x.twd: cannot be written" in err, err
    assert sorted(topwolf.folder.iterdir()) == files


def test_a_damaged_cache_is_refused_before_a_row_is_used(topwolf, large):
    topwolf("convert", large / "X.npy", "x.twd", "--labels", large / "y.npy")
    bytes_ = bytearray((topwolf.folder / "x.twd").read_bytes())
    bytes_[len(bytes_) // 2] ^= 1
    (topwolf.folder / "x.twd").write_bytes(bytes_)
    topwolf.refuses("train", "x.twd", "--memory", BOUND, code=3, saying="does not match its checksum")
    (topwolf.folder / "x.twd").write_bytes(bytes_[:-100])
    topwolf.refuses("train", "x.twd", "--memory", BOUND, code=3, saying="x.twd: not a valid topwolf file")


def test_shuffling_is_for_caches(topwolf, train_svm):
    topwolf.refuses("convert", train_svm, "x.npz", "--shuffle", code=2, saying="--shuffle and --memory are for rows that go to a .twd file")
    topwolf.refuses("convert", train_svm, "x.twd", "--memory", "3", code=2, saying="--memory is 3; at least 1M is needed")
