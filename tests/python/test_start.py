"""docs/start, followed by somebody who has no patience: every block runs, and prints what the page says."""
import contextlib
import io
import os
import re
import subprocess
from pathlib import Path

import pytest

PAGE = Path(__file__).resolve().parents[2] / "docs" / "start" / "first_model.md"
BLOCK = re.compile(r"^```(\w*)\n(.*?)^```$", re.MULTILINE | re.DOTALL)


def without_figures(text):
    """A last digit may differ from machine to machine: what is said must be the same, and numbers must stand where they did."""
    return re.sub(r"\d+(\.\d+)?", "#", text)


def said_by(line, folder):
    """Of a shell; topwolf is the program under test."""
    path = f"{folder}:{os.environ['PATH']}"
    done = subprocess.run(["bash", "-o", "pipefail", "-c", line], cwd=folder, env={**os.environ, "PATH": path}, capture_output=True, text=True)
    assert done.returncode in (0, 141), (line, done.stderr)
    return done.stdout


@pytest.mark.program
def test_the_first_model(tmp_path, monkeypatch):
    (tmp_path / "topwolf").symlink_to(Path(os.environ["TOPWOLF_BIN"]).resolve())
    monkeypatch.chdir(tmp_path)
    names, printed, programs, commands = {}, None, 0, 0
    for language, text in BLOCK.findall(PAGE.read_text()):
        if language == "python":
            with contextlib.redirect_stdout(io.StringIO()) as out:
                exec(text, names)
            printed = out.getvalue()
            programs += 1
        elif text.startswith("$ "):
            for command in text.split("$ ")[1:]:
                line, expected = command.split("\n", 1)
                found = said_by(line, tmp_path)
                if expected:
                    assert without_figures(found) == without_figures(expected), line
                commands += 1
        elif programs == 2:
            assert without_figures(printed) == without_figures(text)
            printed = None
    assert programs == 4 and commands == 4 and printed == ""
    assert names["clf"].top_k_error(names["X_test"], names["y_test"], k=3) == pytest.approx(0.0056, abs=0.003)
    assert 0 < names["clf"].relative_gap_ <= 1e-3 and (tmp_path / "digits.topwolf").exists() and (tmp_path / "best.topwolf").exists()
