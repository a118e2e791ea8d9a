"""train --shards: files that each hold some of the rows, in one process and in several of mpirun."""

import json
import os
import pathlib
import shutil
import signal
import subprocess
import time

import numpy as np
import pytest
import support


@pytest.fixture
def parts(topwolf):
    """Four files of rows dealt out, their rows in one file, and the folder."""
    X, y = support.blobs(n=200, m=5)
    for k in range(4):
        support.write_libsvm(topwolf.folder / f"part-{k}.svm", X[k * 50 : k * 50 + 50], y[k * 50 : k * 50 + 50])
    return support.write_libsvm(topwolf.folder / "whole.svm", X, y)


def without_times(document):
    return {key: value for key, value in document.items() if not key.endswith("seconds") and key not in ("processes", "threads", "model")}


def test_the_certificate_is_about_all_rows(topwolf, parts):
    found = topwolf.json("train", "--shards", "part-*.svm", "m.topwolf", "--dual", "m.dual", "--bias", "1", "-q")
    assert found["status"] == "converged"
    assert (found["n"], found["d"], found["m"], found["shards"], found["processes"]) == (200, 6, 5, 4, 1)
    assert topwolf.json("verify", parts, "m.topwolf", "--dual", "m.dual")["holds"]
    whole = topwolf.json("train", parts, "w.topwolf", "--bias", "1", "-q")
    assert found["dual"] <= whole["primal"] and whole["dual"] <= found["primal"]
    assert "4 shards" in topwolf("train", "--shards", "part-*.svm", "m.topwolf", "-q").stdout


@pytest.mark.parametrize("options", [["--loss", "softmax"], ["--loss", "usunier:2", "--smoothing", "0.2"], ["--center"], ["--normalize", "unit"], ["--solver", "lsfw", "--tolerance", "0.1"]])
def test_options_are_those_of_train(topwolf, parts, options):
    found = topwolf.json("train", "--shards", "part-*.svm", "m.topwolf", "-q", *options)
    whole = topwolf.json("train", parts, "w.topwolf", "-q", *options)
    assert found["status"] == whole["status"] == "converged"
    assert found["dual"] <= whole["primal"] and whole["dual"] <= found["primal"]
    assert topwolf.json("evaluate", parts, "m.topwolf")


def test_the_number_of_threads_changes_no_bit(topwolf, parts):
    models = []
    for threads in (1, 3):
        topwolf("train", "--shards", "part-*.svm", "m.topwolf", "-q", "--threads", threads)
        topwolf("convert", "m.topwolf", "m.liblinear", "--force")
        models.append((topwolf.folder / "m.liblinear").read_bytes())
    assert models[0] == models[1]


def test_labels_may_be_beside_the_rows(topwolf):
    X, y = support.blobs(n=90, m=3)
    for k in range(3):
        np.save(topwolf.folder / f"emb_{k}.npy", X[k::3])
        np.save(topwolf.folder / f"lab_{k}.npy", np.array(["ant", "bee", "cat"])[y[k::3] - 1])
    found = topwolf.json("train", "--shards", "emb_*.npy", "--labels", "lab_*.npy", "m.topwolf", "-q")
    assert found["m"] == 3 and found["n"] == 90
    (topwolf.folder / "lab_2.npy").unlink()
    topwolf.refuses("train", "--shards", "emb_*.npy", "--labels", "lab_*.npy", "m2.topwolf", "-q", code=2, saying="--labels names 2 files for the 3 of DATA")


def test_a_job_goes_on_from_its_checkpoint(topwolf, parts):
    command = ["train", "--shards", "part-*.svm", "-q", "--tolerance", "1e-7", "-c", "100"]
    expected = topwolf.json(*command, "a.topwolf")
    topwolf(*command, "b.topwolf", "--checkpoint", "job", "--max-iterations", 3, code=5)
    assert without_times(topwolf.json(*command, "b.topwolf", "--resume", "job")) == without_times(expected)


def test_what_cannot_be_is_said(topwolf, parts):
    refuses = topwolf.refuses
    refuses("train", "--shards", "none-*.svm", "m.topwolf", code=4, saying="there is no such file for DATA")
    refuses("train", "--shards", "part-*.svm", code=2, saying="the name of MODEL must be given")
    refuses("train", "--shards", "part-*.svm", "part-0.svm", "-q", code=2, saying="which is being read")
    for option in ("--weights", "--margins", "--cost-matrix", "--validation", "--class-features"):
        refuses("train", "--shards", "part-*.svm", "m.topwolf", option, "x", code=2, saying=f"{option} does not go with --shards")
    refuses("train", "--shards", "part-*.svm", "m.topwolf", "--normalize", "maxabs", code=2, saying="takes all rows together")
    refuses("train", "--shards", "part-*.svm", "m.topwolf", "--solver", "newton", code=2, saying="--solver newton wants all rows in one place")
    topwolf.write("part-4.svm", "1 1:nan\n")
    refuses("train", "--shards", "part-*.svm", "m.topwolf", "-q", code=3, saying="part-4.svm")
    topwolf.write("part-4.svm", "1 0:2\n")
    refuses("train", "--shards", "part-*.svm", "m.topwolf", "-q", code=3, saying="counts features from")


def test_files_sorted_by_class_are_warned_of(topwolf):
    X, y = support.blobs(n=120, m=4)
    order = np.argsort(y, kind="stable")
    for k in range(4):
        support.write_libsvm(topwolf.folder / f"part-{k}.svm", X[order][k * 30 : k * 30 + 30], y[order][k * 30 : k * 30 + 30])
    found = topwolf.json("train", "--shards", "part-*.svm", "m.topwolf", "-q")
    assert found["status"] == "converged"
    assert "4 of 4 shards have rows of less than half of the classes" in found["warnings"][0]


# ---- Under mpirun


def has_mpi(topwolf):
    linked = subprocess.run(["ldd", topwolf.path], capture_output=True, text=True).stdout
    return "libmpi" in linked


def mpirun(topwolf, processes, *args, **options):
    command = ["mpirun", "--oversubscribe", "--allow-run-as-root", "-np", processes, "--mca", "mpi_yield_when_idle", 1, topwolf.path, *args]
    return subprocess.Popen([str(word) for word in command], cwd=topwolf.folder, env={**topwolf.env, "OMP_NUM_THREADS": "1"}, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, **options)


def test_without_mpi_several_processes_are_refused(topwolf, parts):
    if has_mpi(topwolf):
        done = topwolf.json("train", "--shards", "part-*.svm", "m.topwolf", "-q")
        assert done["processes"] == 1
    else:
        topwolf.refuses("train", "--shards", "part-*.svm", "m.topwolf", code=2, saying="was built without MPI", OMPI_COMM_WORLD_SIZE="4")
