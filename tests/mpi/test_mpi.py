"""train --shards under mpirun: the same bits on any number of processes, and no job that hangs. TOPWOLF_BIN was built with
TOPWOLF_MPI."""

import json
import os
import pathlib
import signal
import subprocess
import time

import numpy as np
import pytest

PROGRAM = str(pathlib.Path(os.environ["TOPWOLF_BIN"]).resolve())
QUIET = ["--mca", "mpi_yield_when_idle", "1", "--mca", "orte_abort_print_stack", "0"]


@pytest.fixture
def folder(tmp_path):
    """Five files of rows dealt out."""
    rng = np.random.default_rng(0)
    y = np.arange(1000) % 8
    X = (rng.normal(size=(8, 30))[y] + 2.5 * rng.normal(size=(1000, 30))).astype(np.float32)
    for k in range(5):
        np.savez(tmp_path / f"part-{k}.npz", X=X[k::5], y=y[k::5])
    return tmp_path


def start(folder, processes, *args):
    command = ["mpirun", "--oversubscribe", "--allow-run-as-root", *QUIET, "-np", str(processes), PROGRAM, "train", "-q", "--threads", "1"]
    return subprocess.Popen([*command, *map(str, args)], cwd=folder, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)


def run(folder, processes, *args, code=0):
    job = start(folder, processes, *args)
    out, err = job.communicate(timeout=100)
    assert job.returncode == code, (job.returncode, out, err)
    return out, err


def weights(folder, model):
    subprocess.run([PROGRAM, "convert", model, "weights.liblinear", "--to", "liblinear", "--force"], cwd=folder, check=True)
    return (folder / "weights.liblinear").read_bytes()


def test_the_number_of_processes_changes_no_bit(folder):
    alone = subprocess.run([PROGRAM, "train", "-q", "--shards", "part-*.npz", "m.topwolf", "--json"], cwd=folder, capture_output=True, check=True)
    expected, bits = json.loads(alone.stdout), weights(folder, "m.topwolf")
    for processes in (1, 2, 3, 4, 6):  # one has nothing to do
        out, _ = run(folder, processes, "--shards", "part-*.npz", "m.topwolf", "--json")
        found = json.loads(out)
        assert found["processes"] == processes
        assert {key: found[key] for key in ("primal", "dual", "iterations")} == {key: expected[key] for key in ("primal", "dual", "iterations")}
        assert weights(folder, "m.topwolf") == bits


def test_a_job_goes_on_with_another_number_of_processes(folder):
    args = ["--shards", "part-*.npz", "m.topwolf", "--tolerance", "1e-5"]
    run(folder, 1, *args)
    bits = weights(folder, "m.topwolf")
    run(folder, 3, *args, "--checkpoint", "job", "--max-iterations", "5", code=5)
    run(folder, 2, *args, "--resume", "job")
    assert weights(folder, "m.topwolf") == bits


def test_a_process_that_dies_ends_the_job_which_goes_on_from_its_checkpoint(folder):
    args = ["--shards", "part-*.npz", "m.topwolf", "--precision", "float64", "--tolerance", "1e-15", "-c", "1000"]
    job = start(folder, 3, *args, "--checkpoint", "job", "--checkpoint-every", "0.1")
    deadline = time.monotonic() + 60
    while not (folder / "job").exists():
        assert job.poll() is None and time.monotonic() < deadline
        time.sleep(0.1)
    children = pathlib.Path(f"/proc/{job.pid}/task/{job.pid}/children").read_text().split()
    os.kill(int(children[-1]), signal.SIGKILL)
    _, err = job.communicate(timeout=30)
    assert job.returncode not in (0, 5), err
    assert not (folder / "m.topwolf").exists()
    run(folder, 2, *args, "--resume", "job", "--time-limit", "1", code=5)
    assert (folder / "m.topwolf").exists()


def test_what_goes_wrong_is_said_once_and_ends_all(folder):
    _, err = run(folder, 3, "--shards", "none-*.npz", "m.topwolf", code=4)
    assert err.count("topwolf: none-*.npz: there is no such file for DATA") == 1
    (folder / "part-4.npz").write_text("no rows")  # the last process reads it
    _, err = run(folder, 3, "--shards", "part-*.npz", "m.topwolf", code=3)
    assert err.count("topwolf: part-4.npz: ") == 1
    _, err = run(folder, 3, "--shards", "part-*.npz", "m.topwolf", "--solver", "none", code=2)
    assert not (folder / "m.topwolf").exists()
