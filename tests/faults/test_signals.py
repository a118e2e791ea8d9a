"""Signals while a file is being written: no unfinished file stays, and what a killed process leaves the next one removes."""

import os
import pathlib
import resource
import signal
import time

import numpy as np
import pytest

import support
from conftest import environment, run, start, temporaries

OLD = "what was there before"
STALLED = environment("fsync", 1, FAIL_STALL="1")  # all is written, nothing is renamed


@pytest.fixture
def folder(tmp_path):
    support.write_libsvm(tmp_path / "t.svm", *support.blobs())
    assert run(tmp_path, ["train", "--quiet", "t.svm", "m.topwolf"]).returncode == 0
    (tmp_path / "out").write_text(OLD)
    return tmp_path


def writing(folder, words):
    """A process that stays before its first file is done."""
    process = start(folder, words, STALLED)
    deadline = time.monotonic() + 60
    while not temporaries(folder):
        assert process.poll() is None and time.monotonic() < deadline
        time.sleep(0.01)
    return process


WRITERS = {
    "predict": ["predict", "--quiet", "t.svm", "m.topwolf", "-o", "out"],
    "convert": ["convert", "t.svm", "out.csv"],
    "convert to npz": ["convert", "t.svm", "out.npz"],
    "convert a model": ["convert", "m.topwolf", "out"],
    "calibrate": ["calibrate", "--force", "t.svm", "m.topwolf", "-o", "out"],
    "calibrate in place": ["calibrate", "t.svm", "m.topwolf"],
}


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM, signal.SIGHUP])
@pytest.mark.parametrize("writer", WRITERS)
def test_a_signal_while_writing_leaves_no_temporary(folder, writer, number):
    model = (folder / "m.topwolf").read_bytes()
    process = writing(folder, WRITERS[writer])
    process.send_signal(number)
    _, err = process.communicate(timeout=20)
    assert (folder / "m.topwolf").read_bytes() == model
    assert process.returncode == 128 + number and err == ""
    assert temporaries(folder) == [] and (folder / "out").read_text() == OLD
    assert not list(folder.glob("out.*"))


ENDINGS = "QUIT ILL TRAP ABRT BUS FPE USR1 SEGV USR2 ALRM STKFLT XCPU VTALRM PROF IO PWR SYS RTMIN RTMAX".split()


@pytest.mark.parametrize("name", ENDINGS)
def test_any_other_signal_ends_the_program_in_its_own_way_and_leaves_no_temporary(folder, name):
    number = getattr(signal, "SIG" + name)
    process = writing(folder, ["train", "--quiet", "--force", "t.svm", "out"])
    process.send_signal(number)
    process.communicate(timeout=20)
    assert process.returncode == -number
    assert temporaries(folder) == [] and (folder / "out").read_text() == OLD


def test_a_signal_that_was_ignored_at_the_start_stays_ignored(folder):
    handler = signal.signal(signal.SIGUSR1, signal.SIG_IGN)
    try:
        process = writing(folder, WRITERS["predict"])
    finally:
        signal.signal(signal.SIGUSR1, handler)
    process.send_signal(signal.SIGUSR1)
    time.sleep(0.2)
    assert process.poll() is None and len(temporaries(folder)) == 1
    process.terminate()
    process.communicate(timeout=20)


def test_a_limit_on_processor_time_leaves_no_temporary(folder):
    words = ["train", "--quiet", "t.svm", "m2.topwolf", "--trace", "trace.jsonl", "--tolerance", "1e-300"]
    words += ["--solver", "stdfw", "--max-iterations", "1000000000"]
    process = start(folder, words, None, preexec_fn=lambda: resource.setrlimit(resource.RLIMIT_CPU, (1, 20)))
    process.communicate(timeout=60)
    assert process.returncode == -signal.SIGXCPU
    assert temporaries(folder) == [] and not (folder / "trace.jsonl").exists()


def test_a_second_signal_while_training_saves_leaves_no_temporary(folder):
    process = writing(folder, ["train", "--quiet", "--force", "t.svm", "out"])
    process.send_signal(signal.SIGINT)
    assert process.stderr.readline() == "topwolf: stopping; once more abandons the model\n"
    assert process.poll() is None and len(temporaries(folder)) == 1
    process.send_signal(signal.SIGINT)
    process.communicate(timeout=20)
    assert process.returncode == 130
    assert temporaries(folder) == [] and (folder / "out").read_text() == OLD


def test_what_a_killed_process_left_is_removed_by_the_next_and_nothing_else(folder):
    alive, killed = writing(folder, WRITERS["convert"]), None
    try:
        living = temporaries(folder)
        killed = start(folder, WRITERS["predict"], STALLED)
        while len(temporaries(folder)) < 2:
            assert killed.poll() is None
            time.sleep(0.01)
        killed.kill()
        killed.communicate()
        assert len(temporaries(folder)) == 2
        assert run(folder, ["convert", "t.svm", "another.npy"]).returncode == 0
        assert temporaries(folder) == living
    finally:
        alive.kill()
        alive.communicate()
    assert run(folder, ["convert", "t.svm", "another.npy"]).returncode == 0
    assert temporaries(folder) == []


@pytest.mark.parametrize("opened", [False, True], ids=["nobody opens it", "nobody reads it"])
def test_a_signal_ends_a_job_that_waits_for_a_pipe_to_be_read(folder, opened):
    """The model of a job that was asked to end is worth waiting for, but not for ever."""
    os.mkfifo(folder / "pipe")
    rows, classes = 400, 40  # more than a pipe holds
    X = np.eye(classes)[np.arange(rows) % classes].repeat(20, axis=1)
    support.write_libsvm(folder / "wide.svm", X, np.arange(rows) % classes)
    process = start(folder, ["train", "--quiet", "--threads", "1", "--tolerance", "0.5", "wide.svm", "pipe"])
    reader = os.open(folder / "pipe", os.O_RDONLY | os.O_NONBLOCK) if opened else None
    try:
        asleep, deadline = 0, time.monotonic() + 60
        while asleep < 30:  # for so many looks in a row
            assert process.poll() is None and time.monotonic() < deadline
            status = (pathlib.Path("/proc") / str(process.pid) / "stat").read_text()
            asleep = asleep + 1 if status.rsplit(")", 1)[1].split()[0] == "S" else 0
            time.sleep(0.01)
        process.send_signal(signal.SIGTERM)
        _, err = process.communicate(timeout=20)
        assert process.returncode == 143 and "pipe: cannot be written: a signal came while nobody was reading it" in err, err
    finally:
        process.kill()
        if reader is not None:
            os.close(reader)
