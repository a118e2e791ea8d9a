"""The program under test comes from TOPWOLF_BIN; every test works in a folder of its own."""

import os
import pathlib
import signal
import subprocess

import pytest

import support

# Under nohup or in the background of a shell these are ignored, and what is started here would ignore them too.
for number in (signal.SIGHUP, signal.SIGINT):
    signal.signal(number, signal.default_int_handler if number == signal.SIGINT else signal.SIG_DFL)


class Program:
    def __init__(self, folder):
        self.path = str(pathlib.Path(os.environ["TOPWOLF_BIN"]).resolve())
        self.folder = folder
        self.env = {**os.environ, "OMP_NUM_THREADS": "2"}

    def __call__(self, *args, code=0, stdin="", text=True, **env):
        """Runs it and checks the exit code, or that it is one of several; stdout and stderr are in the result."""
        done = subprocess.run(
            [self.path, *map(str, args)],
            input=stdin,
            capture_output=True,
            text=text,
            cwd=self.folder,
            env={**self.env, **env},
            timeout=120,
        )
        codes = code if isinstance(code, tuple) else (code,)
        assert done.returncode in codes, (args, done.returncode, done.stdout, done.stderr)
        return done

    def write(self, name, text):
        (self.folder / name).write_text(text)
        return self.folder / name

    def start(self, *args, **options):
        options = {"stdout": subprocess.PIPE, "stderr": subprocess.PIPE, "text": True, **options}
        return subprocess.Popen([self.path, *map(str, args)], cwd=self.folder, env=self.env, **options)

    def json(self, *args, code=0, **options):
        return support.parse_strict(self(*args, "--json", code=code, **options).stdout)

    def refuses(self, *args, code, saying, **options):
        """Ends with one line `topwolf: sentence`, prints nothing else, and writes nothing."""
        before = sorted(self.folder.iterdir())
        done = self(*args, code=code, **options)
        assert done.stdout == ""
        assert done.stderr.startswith("topwolf: ") and done.stderr.count("\n") == 1, done.stderr
        assert saying in done.stderr, done.stderr
        assert sorted(self.folder.iterdir()) == before
        return done.stderr


@pytest.fixture
def topwolf(tmp_path):
    return Program(tmp_path)


@pytest.fixture
def train_svm(tmp_path):
    return support.write_libsvm(tmp_path / "train.svm", *support.blobs())


@pytest.fixture
def test_svm(tmp_path):
    return support.write_libsvm(tmp_path / "test.svm", *support.blobs(n=60, seed=0, spread=0.8))


@pytest.fixture
def model(topwolf, train_svm):
    topwolf("train", "-q", train_svm, "model.topwolf")
    return topwolf.folder / "model.topwolf"
