"""docs/develop/adding_a_loss.md from beginning to end: a named loss is added to a copy of the tree, which is built and used."""
import json
import os
import re
import shutil
import subprocess
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]
PAGE = (ROOT / "docs" / "develop" / "adding_a_loss.md").read_text()
FOLDERS = ("cli", "cmake", "include", "src", "tests", "third_party", "examples")


def run(*command, cwd, **more):
    done = subprocess.run([str(part) for part in command], cwd=cwd, capture_output=True, text=True, **more)
    assert done.returncode == 0, done.stdout[-4000:] + done.stderr
    return done.stdout


@pytest.fixture(scope="module")
def tree(tmp_path_factory):
    copy = tmp_path_factory.mktemp("tree")
    for folder in FOLDERS:
        shutil.copytree(ROOT / folder, copy / folder)
    for path in ROOT.iterdir():
        if path.is_file():
            shutil.copy(path, copy)
    changes = re.findall(r"```diff\n(.*?)```", PAGE, re.S)
    assert len(changes) == 4
    for change in changes:
        run("patch", "-p1", "--no-backup-if-mismatch", cwd=copy, input=change)
    run("cmake", "--preset", "release", "-DTOPWOLF_TESTS=ON", "-DTOPWOLF_BENCH=OFF", cwd=copy)
    run("cmake", "--build", "--preset", "release", "-j", len(os.sched_getaffinity(0)), "--target", "topwolf", "test_unit_loss", cwd=copy)
    return copy


def test_its_test_passes(tree):
    assert "[  PASSED  ]" in run("build/release/tests/test_unit_loss", "--gtest_filter=ResolveLoss.*", cwd=tree)


def test_it_is_trained_on_and_verified(tree, tmp_path):
    topwolf, rows = tree / "build" / "release" / "topwolf", ROOT / "tests" / "files" / "toy.svm"
    commands = re.findall(r"^topwolf (.*)$", PAGE, re.M)
    assert len(commands) == 2
    shutil.copy(rows, tmp_path / "train.svm")
    for command in commands:
        out = run(topwolf, *command.split(), "--json", cwd=tmp_path)
    assert json.loads(out)["holds"]
    assert "halving" in run(topwolf, "inspect", "model.topwolf", cwd=tmp_path)


def test_all_names_follow_from_its_row(tree):
    topwolf = tree / "build" / "release" / "topwolf"
    assert "softmax or halving" in " ".join(run(topwolf, "train", "--help", cwd=tree).split())
    assert "halving" in run(topwolf, "generate", "markdown", cwd=tree)
