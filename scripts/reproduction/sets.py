"""The sets: rows that somebody dropped in, those of scripts/data, or a generated stand-in; labelled as what they are."""

from __future__ import annotations

import sys
import zipfile
import zlib
from importlib.machinery import SourceFileLoader
from importlib.util import module_from_spec, spec_from_loader
from pathlib import Path
from typing import NamedTuple

import numpy as np
from paper import FIGURE_SETS, PLACES, SETS

# the paper's set: scripts/data's, how that differs, the same in a word or two, and whether errors can be compared
OURS = {
    "silhouettes16": ("silhouettes16", "the paper's pixels; 101 classes, where the paper says 102", "101 classes", True),
    "silhouettes16_all": ("silhouettes16_all", "8,641 rows, not the paper's 6,339; 101 classes, not its 102", "8,641 rows", True),
    "cub200": ("cub200", "MobileNet features, not the paper's VGG16", "MobileNet", True),
    "flower102": ("flower102", "MobileNet features, not the paper's VGG16", "MobileNet", True),
    "indoor67": ("caltech101", "ANOTHER SET stands in: Caltech101 photos, MobileNet", "Caltech101 photos instead", False),
    "news20": ("news20svd", "word counts made anew from the texts, rows of unit length", "made anew", True),
}
QUICK_CLASSES, QUICK_ROWS_PER_CLASS = 20, 24


class BadSet(Exception):
    """One sentence about a set that cannot be used."""


class About(NamedTuple):
    """What is known of a set without its rows in memory."""

    title: str  # the paper's name, and in brackets in a word or two how the rows differ from the paper's
    label: str  # the same at length
    shape: tuple[int, int, int]  # n, d, m
    checksum: int
    comparable: bool  # with the paper's errors

    @property
    def half(self) -> tuple[int, int, int]:
        return (self.shape[0] // 2, *self.shape[1:])


class Rows(NamedTuple):
    title: str
    label: str
    X: np.ndarray
    y: np.ndarray
    comparable: bool = True

    @property
    def shape(self) -> tuple[int, int, int]:
        return (*self.X.shape, int(self.y.max()) + 1)

    def in_unit_length(self) -> Rows:
        return self._replace(X=_recipes().unit_rows(self.X))

    def about(self) -> About:
        return About(self.title, self.label, self.shape, zlib.crc32(self.y, zlib.crc32(self.X)), self.comparable)


def there_is(name: str, folder: Path | None) -> bool:
    """What the paper has no figure of is not generated."""
    return name in FIGURE_SETS or _dropped(name, folder) or (folder is not None and _recipes().has(OURS[name][0], folder))


def found_any(folder: Path) -> bool:
    return any(_dropped(name, folder) or _recipes().has(OURS[name][0], folder) for name in SETS)


def load(name: str, folder: Path | None, quick: bool) -> Rows:
    """The rows as they are."""
    X, y, label, short, comparable = _dropped_in(name, folder) or _prepared(name, folder) or _generated(name)
    y = np.unique(y, return_inverse=True)[1].ravel()
    if y.size == 0 or y.max() < max(PLACES):
        raise BadSet(f"{SETS[name].title} must have more than {max(PLACES)} classes.")
    if quick:
        X, y, label, short = _fewer(X, y, label, short)
    if len(y) < 6 * (y.max() + 1):  # of half of them, some class has a row for each of three folds
        raise BadSet(f"{SETS[name].title} must have six rows for each class, on average, and has {len(y):,} for {y.max() + 1}.")
    with np.errstate(over="ignore"):
        X = np.ascontiguousarray(X, dtype=np.float32)
    if not np.isfinite(X).all():
        raise BadSet(f"{SETS[name].title} holds numbers that are not finite in single precision.")
    return Rows(f"{SETS[name].title} ({short})", label, X, y, comparable and not quick)


def _pair(name, folder):
    return folder / f"{name}.npy", folder / f"{name}.labels.npy"


def _dropped(name, folder):
    return folder is not None and any(file.exists() for file in _pair(name, folder))


def _dropped_in(name, folder):
    """NAME.npy and NAME.labels.npy in the data folder go before everything else."""
    if not _dropped(name, folder):
        return None
    features, labels = _pair(name, folder)
    for file, other in ((features, labels), (labels, features)):
        if not other.exists():
            raise BadSet(f"{file} has no {other.name} beside it.")
    try:
        X, y = np.load(features), np.load(labels)
    except (OSError, ValueError, EOFError, zipfile.BadZipFile) as error:
        raise BadSet(f"{features} and its labels cannot be read as NumPy arrays: {error}.") from error
    if not all(isinstance(array, np.ndarray) for array in (X, y)) or X.dtype.kind not in "fiub":
        raise BadSet(f"{features} must hold a matrix of numbers, and {labels.name} the labels, as .npy files.")
    if X.ndim != 2 or X.shape[1] == 0 or X.shape[0] != y.size:
        raise BadSet(f"{features} must hold a row for each of the {y.size} labels, and has the shape {X.shape}.")
    like_the_papers = (len(X), np.unique(y).size) == (SETS[name].n, SETS[name].m)
    return X, y.ravel(), f"features dropped in, {X.shape[0]:,} x {X.shape[1]:,}", "dropped in", like_the_papers


def _prepared(name, folder):
    recipe, *about = OURS[name]
    if folder is None or not _recipes().has(recipe, folder):
        return None
    try:
        return *_recipes().read_arrays(recipe, folder), *about
    except (OSError, ValueError, KeyError, EOFError, zipfile.BadZipFile, zlib.error) as error:
        raise BadSet(f"{recipe} in {folder} cannot be read: {error}.") from error


def _generated(name):
    """Classes in groups of look-alikes, non-negative features."""
    _, n, d, m = SETS[name]
    rng = np.random.default_rng(zlib.crc32(name.encode()))
    groups, own = rng.normal(size=(max(1, m // 5), d)), rng.normal(size=(m, d))
    y = rng.permutation(np.arange(n) % m)
    centres = (groups[np.arange(m) % len(groups)] + 0.5 * own).astype(np.float32)
    X = np.maximum(0.0, centres[y] + 2.0 * rng.standard_normal(size=(n, d), dtype=np.float32))
    return X, y, "GENERATED rows of the paper's n, d and m: its errors mean nothing", "GENERATED", False


def _fewer(X, y, label, short):
    kept = np.concatenate([np.flatnonzero(y == j)[:QUICK_ROWS_PER_CLASS] for j in range(min(QUICK_CLASSES, y.max() + 1))])
    return X[kept], y[kept], f"{label}; QUICK: {len(kept):,} rows of {y[kept].max() + 1} classes", f"{short}, QUICK"


def _recipes():
    """scripts/data, a program without .py in its name."""
    if "scripts_data" not in sys.modules:
        path = Path(__file__).resolve().parent.parent / "data"
        spec = spec_from_loader("scripts_data", SourceFileLoader("scripts_data", str(path)))
        sys.modules["scripts_data"] = module_from_spec(spec)
        spec.loader.exec_module(sys.modules["scripts_data"])
    return sys.modules["scripts_data"]
