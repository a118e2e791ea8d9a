"""The arguments of scripts/reproduce. Needs nothing but Python, so that they are checked before anything is built."""

from __future__ import annotations

import argparse
import os
import sys
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent.parent
DESCRIPTION = """Computes the figures and tables of the paper, and what the fast solvers add to them. Results are kept as they come:
the same command goes on where it was stopped. Everything is in report.html at the end."""
DATA = """the data sets' folder (default: what TOPWOLF_DATA names, or ../shared/data if there is one). A pair NAME.npy, NAME.labels.npy
in it, with NAME one of silhouettes16, cub200, flower102, indoor67 and news20, goes before all else; a set that is not there is
generated, and labelled so"""


def fail(code: int, sentence: str):
    print(f"scripts/reproduce: {sentence}", file=sys.stderr)
    raise SystemExit(code)


def parse() -> argparse.Namespace:
    """With `data` a folder or None, and `out` a path."""
    parser = argparse.ArgumentParser(prog="scripts/reproduce", description=DESCRIPTION, allow_abbrev=False)
    parser.add_argument("--data", type=Path, metavar="DIR", help=DATA)
    parser.add_argument("--quick", action="store_true", help="few rows and iterations: a minute or two instead of hours")
    parser.add_argument("--out", type=Path, metavar="DIR", help="where to write (default: build/reproduction, with --quick build/reproduction-quick)")
    asked = parser.parse_args()
    asked.data = _data_folder(asked.data)
    asked.out = asked.out or ROOT / "build" / ("reproduction-quick" if asked.quick else "reproduction")
    if asked.out.exists() and not asked.out.is_dir():
        fail(4, f"{asked.out} is a file, not a folder.")
    return asked


def _data_folder(asked):
    if asked is not None:
        if not asked.is_dir():
            fail(3, f"there is no folder {asked}.")
        return asked
    named = os.environ.get("TOPWOLF_DATA")
    if named and not Path(named).is_dir():
        fail(3, f"there is no folder {named}, which TOPWOLF_DATA names.")
    folder = Path(named) if named else ROOT.parent / "shared" / "data"
    return folder if folder.is_dir() else None


if __name__ == "__main__":
    parse()
