"""The page that compares classifiers on labelled rows; of one alone it is an evaluation."""

from __future__ import annotations

import numpy as np

from . import _core
from ._labels import comparable
from ._notebook import sentence
from .plot import _best_classes, _names

_WIDEST = 20


def report_page(fits, X, y, names, threads) -> str:
    names = _names(fits, names)
    y = comparable(y, fits[0].classes_)
    classes = np.unique(np.concatenate([y, *(np.asarray(fit.classes_) for fit in fits)]))
    contenders = []
    for fit, name in zip(fits, names):
        best = _best_classes(fit, X, min(_WIDEST, len(fit.classes_)))
        if len(best) != len(y):
            raise ValueError(f"Found input variables with inconsistent numbers of samples: [{len(best)}, {len(y)}]")
        numbers = np.searchsorted(classes, best).astype(np.int32)
        about = sentence(fit) if hasattr(fit, "relative_gap_") else "no certificate"
        contenders.append((name, about, len(fit.classes_), np.ascontiguousarray(numbers)))
    labels = np.searchsorted(classes, y).astype(np.int32)
    return _core.comparison_page([str(label) for label in classes.tolist()], labels, contenders, threads)
