"""Tests marked `program` compare with the command line, which TOPWOLF_BIN names; a wheel is tested without it."""

import os

# Read when SciPy is loaded; with it scikit-learn checks other kinds of arrays, too.
os.environ["SCIPY_ARRAY_API"] = "1"


def pytest_configure(config):
    config.addinivalue_line("markers", "program: needs the command line program")
