"""The program under test comes from TOPWOLF_BIN, and fail.so, which makes calls fail, lies in tests/ beside it."""

import os
import pathlib
import signal
import subprocess
import sys

import pytest

sys.path.insert(0, str(pathlib.Path(__file__).parent.parent / "cli"))

BIN = pathlib.Path(os.environ["TOPWOLF_BIN"]).resolve()
SHIM = BIN.parent / "tests" / "fail.so"

# Under nohup or in the background of a shell these are ignored, and what is started here would ignore them too.
for number in (signal.SIGHUP, signal.SIGINT):
    signal.signal(number, signal.default_int_handler if number == signal.SIGINT else signal.SIG_DFL)


def pytest_addoption(parser):
    parser.addoption("--long", action="store_true", help="every call, and ten times as many kills")


@pytest.fixture(scope="session")
def long(request):
    return request.config.getoption("--long")


def environment(kind="", at=0, **more):
    """In which the call number `at` of this kind fails."""
    return {**os.environ, "LD_PRELOAD": str(SHIM), "FAIL_CALL": kind, "FAIL_AT": str(at), **more}


def heed_signals():
    """A shell that runs the tests in the background has them ignore SIGINT and SIGQUIT, and so would the program."""
    for number in (signal.SIGINT, signal.SIGQUIT):
        signal.signal(number, signal.SIG_DFL)


def start(folder, words, env=None, preexec_fn=heed_signals, **more):
    pipes = {"stdout": subprocess.PIPE, "stderr": subprocess.PIPE}
    return subprocess.Popen([BIN, *words], cwd=folder, env=env, text=True, preexec_fn=preexec_fn, **pipes, **more)


def run(folder, words, env=None):
    """Whoever hangs fails the test."""
    return subprocess.run([BIN, *words], cwd=folder, env=env, capture_output=True, text=True, timeout=60)


def temporaries(folder):
    return [path.name for path in pathlib.Path(folder).glob(".topwolf-*")]
