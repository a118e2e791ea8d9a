"""What is written: whole or not at all, where a link leads, never over what is protected, and never a broken line."""

import json
import os
import pathlib
import resource
import shutil
import subprocess
import tempfile
import time

import numpy as np
import pytest

import support

JOB = ["--quiet", "--threads", "1"]


def limited(size):
    """For preexec_fn: files may have so many bytes."""
    return lambda: resource.setrlimit(resource.RLIMIT_FSIZE, (size, size))


@pytest.mark.parametrize("words", [["train", "-q", "train.svm", "out"], ["predict", "-q", "train.svm", "model.topwolf", "-o", "out"], ["convert", "train.svm", "out.npz"]])
def test_a_file_beyond_the_size_limit_exits_4_and_leaves_nothing(topwolf, model, tmp_path, words):
    before = sorted(tmp_path.iterdir())
    process = topwolf.start(*words, preexec_fn=limited(100))
    _, err = process.communicate(timeout=60)
    assert process.returncode == 4 and "File too large" in err and err.count("\n") == 1, err
    assert sorted(tmp_path.iterdir()) == before


def test_an_output_over_standard_input_is_refused(topwolf, train_svm):
    before = train_svm.read_bytes()
    for name in (train_svm.name, f"/proc/self/cwd/{train_svm.name}"):
        with open(train_svm, "rb") as rows:
            process = topwolf.start("train", "-q", "-", name, stdin=rows)
            _, err = process.communicate(timeout=60)
        assert process.returncode == 2 and "would be written over standard input, which is being read" in err, err
        assert train_svm.read_bytes() == before


def test_an_output_that_is_named_through_proc_is_replaced(topwolf, train_svm, tmp_path):
    for C in ("1", "3"):
        topwolf("train", *JOB, "-c", C, train_svm, "/proc/self/cwd/m.topwolf")
        assert f"-c {C} " in topwolf.json("inspect", "m.topwolf")["command"]


@pytest.mark.parametrize("command", ["train", "sweep", "cv"])
def test_a_checkpoint_that_cannot_be_written_is_a_warning(topwolf, train_svm, tmp_path, command):
    output = "models" if command == "sweep" else "m.topwolf"
    job = [command, "--json", *JOB, train_svm, output]
    done = topwolf(*job, "--checkpoint", "/dev/full", "--checkpoint-every", "1e-9")
    assert done.stderr.count("\n") == 1 and done.stderr.startswith("topwolf: warning: /dev/full"), done.stderr
    assert "No space left on device; the job goes on without this checkpoint" in done.stderr
    assert len(json.loads(done.stdout)["warnings"]) >= 1
    assert (tmp_path / output).exists()


@pytest.mark.parametrize("command", ["train", "sweep", "cv"])
def test_a_checkpoint_is_not_written_to_a_pipe_whose_reader_may_never_come(topwolf, train_svm, tmp_path, command):
    os.mkfifo(tmp_path / "pipe")
    output = "models" if command == "sweep" else "m.topwolf"
    topwolf.refuses(command, *JOB, train_svm, output, "--checkpoint", "pipe", code=4, saying="a checkpoint must be a file")
    assert not (tmp_path / output).exists()


@pytest.mark.parametrize("threads", [(1, 2), (2, 1), (3, 2)])
@pytest.mark.parametrize("command", ["train", "sweep", "cv"])
def test_a_resumed_job_may_have_another_number_of_threads(topwolf, tmp_path, command, threads):
    """Large enough that threads are used."""
    data = support.write_libsvm(tmp_path / "rows.svm", *support.blobs(n=1200, d=100, m=20, spread=2.0))
    output, name = ("models", "models/C_1.topwolf") if command == "sweep" else ("m.topwolf", "m.topwolf")
    job = [command, "--quiet", "--loss", "usunier:3", "--tolerance", "1e-2", data, output] + ([] if command == "train" else ["-c", "0.1,1"])
    topwolf(*job, "--threads", threads[0])
    whole = topwolf.json("inspect", name)
    (tmp_path / name).unlink()
    topwolf(*job, "--threads", threads[0], "--checkpoint", "job", "--time-limit", "1e-3", code=5)
    done = topwolf(*job, "--threads", threads[1], "--resume", "job")
    assert "begun" not in done.stderr
    resumed = topwolf.json("inspect", name)
    assert [resumed[key] for key in ("primal", "dual", "iterations")] == [whole[key] for key in ("primal", "dual", "iterations")]


def test_labels_with_control_characters_break_no_line(topwolf, tmp_path):
    names = ["a\tb", "c\nd", "\x1b[31mred", "back\\slash", "\u2028\x85\x7f", "plain"]
    X = np.repeat(np.eye(6, dtype=np.float32), 4, axis=0)
    np.savez(tmp_path / "t.npz", X=X, y=np.repeat(names, 4))
    topwolf("train", *JOB, "t.npz", "m.topwolf")
    lines = topwolf("predict", "-q", "-k", "2", "t.npz", "m.topwolf").stdout.split("\n")
    first = [line.split("\t")[0] for line in lines[:-1]]
    assert len(first) == 24 and all(line.count("\t") == 1 for line in lines[:-1])
    assert first[::4] == ["a\\tb", "c\\nd", "\\u001b[31mred", "back\\\\slash", "\\u2028\\u0085\\u007f", "plain"]
    assert [json.loads(f'"{name}"') for name in first[::4]] == names
    shown = topwolf("inspect", "m.topwolf").stdout + topwolf("inspect", "t.npz").stdout
    assert "\x1b" not in shown and "\u2028" not in shown and "\\u001b[31mred" in shown


def test_a_name_with_control_characters_does_not_reach_the_terminal(topwolf):
    assert "\\u001b[31mno\\nfile" in topwolf.refuses("train", "\x1b[31mno\nfile", code=4, saying="cannot be read")


def test_a_trace_that_fails_leaves_the_old_one(topwolf, train_svm, tmp_path):
    trace = tmp_path / "t.jsonl"
    trace.write_text("old\n")
    process = topwolf.start("train", "-q", "--solver", "lsfw", "--trace", trace, train_svm, "m.topwolf", preexec_fn=limited(4000))
    _, err = process.communicate(timeout=60)
    assert process.returncode == 4 and "t.jsonl: cannot be written" in err and err.count("\n") == 1
    assert trace.read_text() == "old\n" and (tmp_path / "m.topwolf").exists()
    assert sorted(path.name for path in tmp_path.iterdir()) == ["m.topwolf", "t.jsonl", "train.svm"]


def test_a_pipe_gets_the_trace_line_by_line(topwolf, train_svm, tmp_path):
    os.mkfifo(tmp_path / "pipe")
    process = topwolf.start("train", "-q", "--solver", "pg", "--tolerance", "0", "--max-iterations", "1000000000", "--trace", "pipe", train_svm)
    with open(tmp_path / "pipe") as pipe:
        assert [json.loads(pipe.readline())["iteration"] for _ in range(3)] == [1, 2, 3]
        process.terminate()
        pipe.read()
    process.communicate(timeout=60)
    assert process.returncode == 143


@pytest.mark.parametrize("command", ["train", "cv", "predict", "convert", "sweep", "demo"])
def test_a_read_only_file_is_replaced_only_by_force(topwolf, model, train_svm, tmp_path, command):
    (tmp_path / "models").mkdir()
    words, name = {
        "train": (["train", *JOB, train_svm, "out"], "out"),
        "cv": (["cv", *JOB, "-c", "1", train_svm, "out"], "out"),
        "predict": (["predict", "-q", train_svm, model, "-o", "out"], "out"),
        "convert": (["convert", train_svm, "out.npy", "--output-labels", "out"], "out"),
        "sweep": (["sweep", *JOB, "-c", "1", train_svm, "models"], "models/C_1.topwolf"),
        "demo": (["demo", "-q", "-o", "out"], "out"),
    }[command]
    (tmp_path / name).write_text("mine")
    (tmp_path / name).chmod(0o444)
    topwolf.refuses(*words, code=4, saying=f"{name}: cannot be written: it is read-only; --force replaces it")
    assert (tmp_path / name).read_text() == "mine"
    topwolf(*words, "--force")
    assert (tmp_path / name).read_bytes() != b"mine" and (tmp_path / name).stat().st_mode & 0o777 == 0o444


def test_links_are_followed_and_a_dangling_one_gets_its_target(topwolf, train_svm, tmp_path):
    (tmp_path / "there").mkdir()
    (tmp_path / "link").symlink_to("again")
    (tmp_path / "again").symlink_to("there/m.topwolf")
    for _ in range(2):
        topwolf("train", *JOB, train_svm, "link")
        assert (tmp_path / "link").is_symlink() and (tmp_path / "again").is_symlink()
        assert topwolf.json("inspect", "there/m.topwolf")["kind"] == "model"
    (tmp_path / "nowhere").symlink_to("missing/m.topwolf")
    topwolf.refuses("train", *JOB, train_svm, "nowhere", code=4, saying="missing: No such file or directory")
    (tmp_path / "circle").symlink_to("circle")
    topwolf.refuses("train", *JOB, train_svm, "circle", code=4, saying="circle: cannot be written")
    topwolf.refuses("train", *JOB, train_svm, "link", "--dual", "there/m.topwolf", code=2, saying="two outputs")


INPUTS = ["DATA", "--labels", "--validation", "--validation-labels", "--cost-matrix", "--weights", "--class-weight", "--margins", "--class-features", "--taxonomy", "--resume"]


@pytest.mark.parametrize("linked", [False, True])
@pytest.mark.parametrize("option", INPUTS)
def test_the_models_of_a_sweep_are_not_written_over_its_inputs(topwolf, train_svm, tmp_path, option, linked):
    (tmp_path / "md").mkdir()
    victim = tmp_path / "md" / "C_1.topwolf"
    if linked:
        victim.symlink_to("../victim")
        (tmp_path / "victim").write_bytes(train_svm.read_bytes())
    else:
        victim.write_bytes(train_svm.read_bytes())
    words = {"DATA": [victim, "md"], "--resume": [train_svm, "md", "--resume", victim, "--checkpoint", "new"]}.get(option, [train_svm, "md", option, victim])
    if option == "--validation-labels":
        words += ["--validation", train_svm]
    topwolf.refuses("sweep", *words, "-c", "0.5,1", code=2, saying="is being read")
    assert victim.read_bytes() == train_svm.read_bytes() and sorted(path.name for path in (tmp_path / "md").iterdir()) == ["C_1.topwolf"]


@pytest.mark.parametrize("option", ["--report", "--checkpoint", "--resume"])
def test_the_models_of_a_sweep_are_no_other_output(topwolf, train_svm, tmp_path, option):
    (tmp_path / "md").mkdir()
    (tmp_path / "link").symlink_to("md/C_1.topwolf")
    for name in ("md/C_1.topwolf", "link"):
        topwolf.refuses("sweep", train_svm, "md", "-c", "1,2", option, name, code=2, saying="two outputs")
    (tmp_path / "md" / "C_2.topwolf").symlink_to("C_1.topwolf")
    topwolf.refuses("sweep", train_svm, "md", "-c", "1,2", code=2, saying="C_2.topwolf is named for two outputs")
    topwolf("sweep", *JOB, train_svm, "md", "-c", "1,1.0")


def test_a_model_does_not_replace_the_checkpoint_that_the_job_came_from(topwolf, train_svm, tmp_path):
    topwolf("train", *JOB, train_svm, "m", "--checkpoint", "c", "--max-iterations", "2", "--tolerance", "1e-9", code=5)
    topwolf.refuses("train", *JOB, train_svm, "c", "--resume", "c", "--checkpoint", "new", code=2, saying="c, which is being read")
    topwolf("train", *JOB, train_svm, "m", "--resume", "c", "--checkpoint", "c")


@pytest.mark.parametrize("labels", ["Y.npy", "./Y.npy", "link"])
def test_converted_labels_do_not_replace_the_features(topwolf, tmp_path, labels):
    np.save(tmp_path / "X.npy", np.eye(3))
    np.save(tmp_path / "y.npy", np.arange(3))
    (tmp_path / "link").symlink_to("Y.npy")
    topwolf.refuses("convert", "X.npy", "Y.npy", "--labels", "y.npy", "--output-labels", labels, code=2, saying="two outputs")


def train_as_somebody(mode):
    """Into a folder of this mode, as one who is not root: the run, and whether there is a model."""
    with tempfile.TemporaryDirectory() as name:
        folder = pathlib.Path(name)
        folder.chmod(0o755)
        program = shutil.copy(os.environ["TOPWOLF_BIN"], folder)
        support.write_libsvm(folder / "t.svm", *support.blobs())
        (folder / "there").mkdir()
        (folder / "there").chmod(mode)
        somebody = {"user": 65534, "group": 65534} if os.geteuid() == 0 else {}
        done = subprocess.run([program, "train", "-q", "t.svm", "there/m.topwolf"], cwd=folder, capture_output=True, text=True, timeout=60, **somebody)
        (folder / "there").chmod(0o755)
        return done, (folder / "there" / "m.topwolf").exists()


@pytest.mark.parametrize("mode", [0o555, 0o000])
def test_a_folder_without_permission_is_refused_by_name_before_training(mode):
    done, written = train_as_somebody(mode)
    assert done.returncode == 4 and done.stdout == "" and not written
    assert done.stderr == "topwolf: there/m.topwolf: cannot be written: there: Permission denied\n"


@pytest.mark.parametrize(
    "job", [["train", "-q", "t.svm", "t.svm/m"], ["train", "t.svm", "m", "--trace", "t.svm/m"], ["convert", "t.svm", "t.svm/m.npz"]]
)
def test_a_file_in_the_place_of_a_folder_is_called_what_it_is(topwolf, tmp_path, job):
    support.write_libsvm(tmp_path / "t.svm", *support.blobs())
    topwolf.refuses(*job, code=4, saying="cannot be written: t.svm: Not a directory")


def test_a_folder_that_may_be_written_but_not_read_is_good_enough():
    done, written = train_as_somebody(0o333)
    assert done.returncode == 0 and done.stderr == "" and written


def meanwhile(topwolf, folder, change, *words):
    """A job during which somebody does something: its exit code and what it said."""
    process = topwolf.start("train", "-q", "-c", "1000", "--solver", "stdfw", "--tolerance", "1e-13", "--time-limit", "1.5", *words)
    time.sleep(0.5)
    change()
    _, err = process.communicate(timeout=60)
    assert not list(folder.glob(".topwolf-*"))
    return process.returncode, err


@pytest.mark.parametrize("option", ["MODEL", "--dual", "--report", "--trace"])
def test_a_file_that_becomes_read_only_during_the_job_is_kept(topwolf, train_svm, tmp_path, option):
    def protect():
        (tmp_path / "out").write_text("KEEP")
        (tmp_path / "out").chmod(0o444)

    words = [train_svm, "out"] if option == "MODEL" else [train_svm, "m.topwolf", option, "out"]
    code, err = meanwhile(topwolf, tmp_path, protect, *words)
    assert code == 4 and "out: cannot be written: it" in err and "read-only" in err, err
    assert (tmp_path / "out").read_text() == "KEEP"


def test_a_checkpoint_that_becomes_read_only_during_the_job_is_kept(topwolf, train_svm, tmp_path):
    def protect():
        (tmp_path / "c").unlink(missing_ok=True)
        (tmp_path / "c").write_text("KEEP")
        (tmp_path / "c").chmod(0o444)

    code, err = meanwhile(topwolf, tmp_path, protect, "--checkpoint", "c", "--checkpoint-every", "100", train_svm, "m.topwolf")
    assert code == 5 and "c: cannot be written: it has become read-only; the job goes on without this checkpoint" in err, err
    assert (tmp_path / "c").read_text() == "KEEP" and (tmp_path / "m.topwolf").exists()


def test_an_output_that_leads_to_the_data_when_the_job_ends_is_not_written(topwolf, train_svm, tmp_path):
    before = train_svm.read_bytes()
    code, err = meanwhile(topwolf, tmp_path, lambda: (tmp_path / "out").symlink_to(train_svm), train_svm, "out")
    assert code == 4 and "out would be written over" in err and "which is being read" in err, err
    assert train_svm.read_bytes() == before


@pytest.mark.parametrize("option", ["MODEL", "--dual", "--checkpoint"])
@pytest.mark.parametrize("content", ["data", "another kind", "a forged length"])
def test_a_file_that_is_none_of_that_kind_takes_force(topwolf, train_svm, model, tmp_path, option, content):
    topwolf("train", *JOB, train_svm, "m", "--dual", "dual", "--checkpoint", "checkpoint", "--max-iterations", "2", "--tolerance", "1e-9", code=5)
    other = {"MODEL": "dual", "--dual": "m", "--checkpoint": "dual"}[option]
    bytes_of = {"data": train_svm.read_bytes(), "another kind": (tmp_path / other).read_bytes(), "a forged length": b"\xff\xff\xff\x05\0\0\0\0{}"}
    (tmp_path / "out").write_bytes(bytes_of[content])
    words = ["train", *JOB, train_svm, *(["out"] if option == "MODEL" else ["again", option, "out"]), *(["--checkpoint-every", "1e-9"] if option == "--checkpoint" else [])]
    topwolf.refuses(*words, code=4, saying="out: cannot be written: it is there already and is no topwolf-")
    assert (tmp_path / "out").read_bytes() == bytes_of[content] and not (tmp_path / "again").exists()
    topwolf(*words, "--force")
    topwolf(*words)  # over one of its kind
    (tmp_path / "out").write_bytes(b"")
    topwolf(*words)


def test_two_data_files_are_not_data_and_a_model(topwolf, train_svm, test_svm, tmp_path):
    before = test_svm.read_bytes()
    for command in ("train", "cv"):
        topwolf.refuses(command, train_svm, test_svm, code=4, saying="--force replaces it")
    (tmp_path / "md").mkdir()
    (tmp_path / "md" / "C_1.topwolf").write_bytes(before)
    topwolf.refuses("sweep", train_svm, "md", "-c", "1", code=4, saying="C_1.topwolf: cannot be written: it is there already")
    topwolf.refuses("demo", "-o", test_svm, code=4, saying="--force replaces it")
    assert test_svm.read_bytes() == before == (tmp_path / "md" / "C_1.topwolf").read_bytes()


@pytest.mark.parametrize("piped", [False, True])
@pytest.mark.parametrize("words", [["/dev/stdout"], ["m", "--report", "/dev/stdout"], ["/dev/fd/1"], ["m", "--json", "--report", "/proc/self/fd/1"]])
def test_what_is_written_to_standard_output_has_no_summary_in_it(topwolf, train_svm, tmp_path, words, piped):
    topwolf("train", *JOB, train_svm, "expected", "--report", "expected.html")
    with open(tmp_path / "out", "wb") as out:
        process = topwolf.start("train", *JOB, train_svm, *words, stdout=subprocess.PIPE if piped else out, text=False)
        found, err = process.communicate(timeout=60)
    assert process.returncode == 0 and b"converged" in err, err
    (tmp_path / "found").write_bytes(found if piped else (tmp_path / "out").read_bytes())
    if "--report" in words:
        assert (tmp_path / "found").read_text().startswith("<!") and (tmp_path / "found").read_text().rstrip().endswith("</html>")
    else:
        assert topwolf.json("inspect", "found")["primal"] == topwolf.json("inspect", "expected")["primal"]
