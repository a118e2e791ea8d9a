"""Signals, terminals, pipes: narration on standard error, results on standard output."""

import os
import pty
import re
import signal
import subprocess
import time

import pytest

import support

# Steps of 1/t never come to an end of themselves.
ENDLESS = ["--solver", "pg", "--tolerance", "0", "--max-iterations", "1000000000"]


def wait_for_a_pass(process):
    while process.stderr.readline().split()[:1] != ["1"]:
        assert process.poll() is None


@pytest.fixture
def running(topwolf, tmp_path):
    """A training that does not end by itself, some passes in."""
    data = support.write_libsvm(tmp_path / "rows.svm", *support.blobs(n=2000, d=20, m=10, spread=2.0))
    process = topwolf.start("train", *ENDLESS, "--json", data, "best.topwolf")
    wait_for_a_pass(process)
    yield process
    process.kill()
    process.wait()


@pytest.mark.parametrize("number, code", [(signal.SIGINT, 130), (signal.SIGTERM, 143), (signal.SIGHUP, 129)])
def test_a_signal_ends_training_with_the_best_model_so_far(topwolf, running, number, code):
    running.send_signal(number)
    out, err = running.communicate(timeout=60)
    assert ("topwolf: stopping; once more abandons the model\n" in err) == (number == signal.SIGINT)
    result = support.parse_strict(out)
    assert running.returncode == code and result["status"] == "interrupted"
    assert topwolf.json("inspect", "best.topwolf")["primal"] == result["primal"]


def test_a_hangup_that_was_ignored_at_the_start_stays_ignored(topwolf, tmp_path):
    data = support.write_libsvm(tmp_path / "rows.svm", *support.blobs(n=2000, d=20, m=10, spread=2.0))
    process = topwolf.start("train", *ENDLESS, data, preexec_fn=lambda: signal.signal(signal.SIGHUP, signal.SIG_IGN))
    wait_for_a_pass(process)
    process.send_signal(signal.SIGHUP)
    process.send_signal(signal.SIGTERM)
    process.communicate(timeout=60)
    assert process.returncode == 143


@pytest.mark.parametrize("command, number, code", [("train", signal.SIGINT, 130), ("sweep", signal.SIGTERM, 143), ("cv", signal.SIGINT, 130), ("cv", signal.SIGTERM, 143)])
def test_a_signal_leaves_a_checkpoint_to_go_on_from(topwolf, tmp_path, command, number, code):
    data = support.write_libsvm(tmp_path / "rows.svm", *support.blobs(n=2000, d=20, m=10, spread=2.0))
    job = [command, data, *ENDLESS, "--quiet"]
    process = topwolf.start(*job, "--checkpoint", "job.ckpt", "--checkpoint-every", "1000")
    time.sleep(1.0)
    assert process.poll() is None and not (tmp_path / "job.ckpt").exists()
    process.send_signal(number)
    process.communicate(timeout=60)
    assert process.returncode == code
    first = (tmp_path / "job.ckpt").read_bytes()
    topwolf(*job, "--resume", "job.ckpt", "--time-limit", "0.2", code=5)
    assert (tmp_path / "job.ckpt").read_bytes() != first


def test_a_signal_while_data_is_read_ends_at_once(topwolf, tmp_path):
    process = topwolf.start("train", "-", "never.topwolf", stdin=subprocess.PIPE)
    time.sleep(0.5)
    process.send_signal(signal.SIGINT)
    assert process.wait(timeout=20) == 130
    assert not (tmp_path / "never.topwolf").exists()


def test_a_signal_ends_a_job_whose_trace_nobody_reads(topwolf, tmp_path):
    """The pipe is full, and the job waits: what it has is saved, the trace is not."""
    data = support.write_libsvm(tmp_path / "rows.svm", *support.blobs())
    os.mkfifo(tmp_path / "blocked")
    keep = os.open(tmp_path / "blocked", os.O_RDWR)
    process = topwolf.start("train", *ENDLESS, "--trace", "blocked", data, "m.topwolf")
    time.sleep(2.0)
    assert process.poll() is None
    process.send_signal(signal.SIGINT)
    _, err = process.communicate(timeout=20)
    assert process.returncode == 130 and "blocked: cannot be written: a signal came while nobody was reading it" in err, err
    assert (tmp_path / "m.topwolf").exists()
    os.close(keep)


def test_the_time_limit_ends_a_job_whose_trace_nobody_reads(topwolf, tmp_path):
    data = support.write_libsvm(tmp_path / "rows.svm", *support.blobs())
    os.mkfifo(tmp_path / "blocked")
    keep = os.open(tmp_path / "blocked", os.O_RDWR)
    process = topwolf.start("train", *ENDLESS, "--trace", "blocked", "--time-limit", "1", data, "m.topwolf")
    _, err = process.communicate(timeout=30)
    assert process.returncode == 4 and "blocked: cannot be written: nobody was reading it when the time was up" in err, err
    assert (tmp_path / "m.topwolf").exists()
    os.close(keep)


def test_the_trace_is_one_json_line_an_iteration(topwolf, train_svm, tmp_path):
    result = topwolf.json("train", "--trace", "trace.jsonl", train_svm)
    lines = [support.parse_strict(line) for line in (tmp_path / "trace.jsonl").read_text().splitlines()]
    assert [line["iteration"] for line in lines] == list(range(1, result["iterations"] + 1))
    assert all(set(line) == {"iteration", "seconds", "primal", "dual", "relative_gap", "step", "iterate_primal", "iterate_dual"} for line in lines)
    duals = [line["dual"] for line in lines]
    assert duals == sorted(duals)


def test_bad_data_leaves_no_trace(topwolf, tmp_path):
    (tmp_path / "bad.svm").write_text("1 1:x\n")
    topwolf.refuses("train", "--trace", "t", "--dual", "d", "bad.svm", code=3, saying="bad.svm:1:5")


def test_a_trace_that_cannot_be_written_exits_4_but_the_model_is_kept(topwolf, train_svm, tmp_path):
    done = topwolf("train", "-q", "--trace", "/dev/full", train_svm, "m.topwolf", code=4)
    assert "/dev/full" in done.stderr and (tmp_path / "m.topwolf").exists()


def test_progress_off_a_terminal_is_a_table_of_few_plain_lines(topwolf, train_svm):
    done = topwolf("train", "--solver", "lsfw", "--tolerance", "0", "--max-iterations", "1234", train_svm, code=5)
    header, *rows = done.stderr.splitlines()
    assert header.split() == ["pass", "seconds", "primal", "dual", "relative", "gap", "time", "left"]
    passes = [int(row.split()[0]) for row in rows]
    assert passes == [1, 2, 5, 10, 20, 50, 100, 200, 500, 1000, 1234]
    assert "\x1b" not in done.stderr and "\r" not in done.stderr


def test_quiet_silences_progress_but_not_warnings_or_errors(topwolf, train_svm, tmp_path):
    assert topwolf("train", "--quiet", train_svm).stderr == ""
    X, y = support.blobs()
    large = support.write_libsvm(tmp_path / "large.svm", 1000 * X, y)
    assert "warning" in topwolf("train", "--quiet", "--C", "1e4", "--max-iterations", "2", large, code=5).stderr
    topwolf.refuses("train", "--quiet", "nowhere.svm", code=4, saying="nowhere.svm")


def on_terminal(topwolf, *args, **env):
    """What a terminal on standard error shows."""
    leader, follower = pty.openpty()
    process = subprocess.Popen(
        [topwolf.path, *map(str, args)],
        cwd=topwolf.folder,
        env={**topwolf.env, "TERM": "xterm", **env},
        stdout=subprocess.DEVNULL,
        stderr=follower,
    )
    os.close(follower)
    shown = b""
    while True:
        try:
            piece = os.read(leader, 4096)
        except OSError:
            break
        if not piece:
            break
        shown += piece
    process.wait(timeout=60)
    os.close(leader)
    return shown.decode().replace("\r\n", "\n")


def test_a_terminal_shows_a_live_line_at_most_ten_times_a_second(topwolf, tmp_path):
    """So hard a problem that no machine comes to its end in two seconds."""
    data = support.write_libsvm(tmp_path / "rows.svm", *support.blobs(n=4000, d=50, m=20, spread=2.0))
    env = {"NO_COLOR": ""}
    shown = on_terminal(topwolf, "train", "--tolerance", "0", "-c", "1000", "--time-limit", "2", data, **env)
    rewritten = [piece for piece in re.split(r"[\r\n]", shown) if "\x1b[2m" in piece]
    assert 3 <= len(rewritten) <= 21
    assert "\x1b[1m" in shown


def test_no_color_is_respected_on_a_terminal(topwolf, train_svm):
    assert "\x1b" in on_terminal(topwolf, "train", train_svm, NO_COLOR="")
    plain = on_terminal(topwolf, "train", train_svm, NO_COLOR="1")
    assert "relative gap" in plain and "\x1b" not in plain
    assert "\x1b" not in on_terminal(topwolf, "train", train_svm, NO_COLOR="", TERM="dumb")
    assert on_terminal(topwolf, "train", "nowhere.svm", NO_COLOR="1").startswith("topwolf: ")


@pytest.mark.parametrize("command", ["train", "predict", "evaluate", "inspect", "help"])
def test_results_that_cannot_be_written_exit_4(topwolf, test_svm, model, command):
    args = {
        "train": ["train", "-q", test_svm, "x.topwolf"],
        "predict": ["predict", test_svm, model],
        "evaluate": ["evaluate", test_svm, model],
        "inspect": ["inspect", model],
        "help": ["train", "--help"],
    }[command]
    with open("/dev/full", "w") as full:
        process = topwolf.start(*args, stdout=full)
        _, err = process.communicate(timeout=60)
    assert process.returncode == 4
    assert err.startswith("topwolf: standard output cannot be written") and err.count("\n") == 1


def test_a_closed_pipe_ends_quietly(topwolf, tmp_path, model):
    data = support.write_libsvm(tmp_path / "many.svm", *support.blobs(n=20000))
    process = topwolf.start("predict", "-k", "4", "--scores", data, model)
    process.stdout.close()
    err = process.stderr.read()
    assert process.wait(timeout=60) == 141 and err == ""


def test_narration_that_nobody_reads_does_not_end_training(topwolf, train_svm, tmp_path):
    process = topwolf.start("train", train_svm, "m.topwolf")
    process.stderr.close()
    out = process.stdout.read()
    assert process.wait(timeout=60) == 0
    assert "optimum" in out and (tmp_path / "m.topwolf").exists()
