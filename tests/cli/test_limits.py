"""What the system refuses: memory, threads. The program says so and ends, or does with less."""

import os
import pathlib
import resource
import shutil
import subprocess
import tempfile

import numpy as np
import pytest

import support

ROWS = ["rows.npy", "--labels", "labels.npy"]
COMMANDS = {
    "train": ["train", "-q", *ROWS, "new.topwolf"],
    "predict": ["predict", *ROWS, "old.topwolf"],
    "evaluate": ["evaluate", *ROWS, "old.topwolf"],
    "cv": ["cv", "-q", *ROWS, "new.topwolf", "-c", "0.1,1", "--tolerance", "0.1"],
    "audit": ["audit", "-q", *ROWS, "old.topwolf", "-c", "1"],
}


@pytest.fixture(scope="module")
def prepared():
    """Rows and a model worth several threads; open to every user, as is a copy of the program."""
    X, y = support.blobs(n=4000, d=80, m=8)
    with tempfile.TemporaryDirectory() as name:
        folder = pathlib.Path(name)
        folder.chmod(0o777)
        np.save(folder / "rows.npy", X / 10)
        np.save(folder / "labels.npy", y)
        shutil.copy(os.environ["TOPWOLF_BIN"], folder / "topwolf")
        run(folder, "train", "-q", *ROWS, "old.topwolf", limits=[])
        yield folder


@pytest.fixture
def folder(prepared):
    yield prepared
    (prepared / "new.topwolf").unlink(missing_ok=True)


def run(folder, *words, limits, **options):
    def impose():
        for limit, value in limits:
            resource.setrlimit(limit, (value, value))

    return subprocess.run(
        [folder / "topwolf", *words],
        cwd=folder,
        env={**os.environ, "OMP_NUM_THREADS": "4"},
        preexec_fn=impose,
        capture_output=True,
        text=True,
        timeout=600,
        **options,
    )


@pytest.mark.parametrize("command", COMMANDS)
def test_products_need_no_buffers_of_a_library(folder, command):
    """But for the times and the threads, everything as with all the memory there is."""
    done = run(folder, *COMMANDS[command], limits=[(resource.RLIMIT_AS, 150_000 << 10)])
    assert done.returncode == 0, done.stderr
    if command in ("predict", "evaluate"):
        assert done.stdout == run(folder, *COMMANDS[command], limits=[]).stdout


@pytest.fixture(scope="module")
def least(prepared):
    """The address space in KiB with which the program can begin, to 32 KiB: below it the system ends it."""
    too_little, enough = 0, 500 << 10
    while enough - too_little > 32:
        middle = (too_little + enough) // 2
        begun = run(prepared, "--version", limits=[(resource.RLIMIT_AS, middle << 10)]).returncode == 0
        too_little, enough = (too_little, middle) if begun else (middle, enough)
    return enough


@pytest.mark.parametrize("command", COMMANDS)
def test_with_any_memory_it_ends(folder, least, command):
    codes = set()
    for more in (0, 64, 128, 256, 512, 1 << 10, 2 << 10, 3 << 10, 5 << 10, 10 << 10, 20 << 10, 50 << 10, 100 << 10, 300 << 10, 2 << 20):
        done = run(folder, *COMMANDS[command], limits=[(resource.RLIMIT_AS, (least + more) << 10)])
        codes.add(done.returncode)
        assert done.returncode in (0, 6), (more, done.returncode, done.stderr)
        if done.returncode == 6:
            assert done.stderr.startswith("topwolf: ") and "memory" in done.stderr, done.stderr
    assert codes == {0, 6}


def as_somebody():
    """The limit on processes does not bind root."""
    return {"user": 65534, "group": 65534, "extra_groups": []} if os.geteuid() == 0 else {}


@pytest.mark.parametrize("command", COMMANDS)
def test_where_threads_are_refused_it_works_with_fewer_and_says_so(folder, command):
    usual = run(folder, *COMMANDS[command], limits=[])
    assert usual.returncode == 0, usual.stderr
    (folder / "new.topwolf").unlink(missing_ok=True)
    done = run(folder, *COMMANDS[command], limits=[(resource.RLIMIT_NPROC, 1)], **as_somebody())
    assert done.returncode == 0, (done.returncode, done.stderr)
    warning = "topwolf: warning: the system refused to start more threads; fewer than asked for have worked\n"
    assert done.stderr == usual.stderr + warning, done.stderr
    if command in ("predict", "evaluate"):
        assert done.stdout == usual.stdout


def test_there_is_one_limit_on_threads(topwolf, train_svm):
    for threads in ("1025", "4096", "-1"):
        topwolf.refuses("train", train_svm, f"--threads={threads}", code=2, saying="from 0 to 1024")
    topwolf("train", "-q", train_svm, "--threads", "1024")
