"""Class labels between NumPy and a model file, each in its own type."""

from __future__ import annotations

import warnings
from typing import NamedTuple

import numpy as np
from sklearn.utils.multiclass import check_classification_targets
from sklearn.utils.validation import check_array

_KINDS = {"i": "integer", "u": "integer", "f": "real", "b": "boolean"}


def check_text(classes):
    """ValueError for text that no file can hold: half of a surrogate pair is no character."""
    for label in classes.tolist() if classes.dtype.kind in "UO" else []:
        if not isinstance(label, str):
            continue
        try:
            label.encode()
        except UnicodeEncodeError:
            raise ValueError(f"The label {label!r} is not valid Unicode.") from None


class Numbered(NamedTuple):
    """Labels as numbers of classes, which are sorted."""

    classes: np.ndarray
    numbers: np.ndarray

    @property
    def shape(self):
        return self.numbers.shape

    def take(self, rows):
        return Numbered(self.classes, self.numbers[rows])


def check_classes(labels):
    """ValueError for labels that scikit-learn takes for those of a regression; of some rows alone, or each class once."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", UserWarning)  # so many classes for so few rows
        check_classification_targets(labels)


def numbered(y):
    """The same of an array of labels."""
    classes, numbers = np.unique(y, return_inverse=True)
    check_text(classes)
    return Numbered(classes, numbers.astype(np.int32).ravel())


class LabelNumbers:
    """Labels that come some at a time, of which four bytes each are kept."""

    def __init__(self):
        self._number, self._parts = {}, []
        self._classes = None

    def add(self, y):
        check_classes(y)
        labels, place = np.unique(y, return_inverse=True)
        check_text(labels)
        if self._classes is not None and (labels.dtype.kind in "USO") != (self._classes.dtype.kind in "USO"):
            raise ValueError(f"y holds labels of type {labels.dtype}, those of the batches before are of type {self._classes.dtype}.")
        numbers = [self._number.setdefault(label, len(self._number)) for label in labels.tolist()]
        self._parts.append(np.array(numbers, np.int32)[place.ravel()])
        self._classes = labels if self._classes is None else np.unique(np.concatenate([self._classes, labels]))

    def numbered(self):
        """All of them."""
        sorted_number = np.empty(len(self._number), np.int32)
        for number, label in enumerate(self._classes.tolist()):
            sorted_number[self._number[label]] = number
        return Numbered(self._classes, sorted_number[np.concatenate(self._parts)])


def to_names(classes):
    """The type of labels as a model file calls it, and the spelling of each class."""
    kind = _KINDS.get(classes.dtype.kind)
    if kind == "real":
        return kind, [repr(float(label)) for label in classes]
    if kind is not None:
        return kind, [str(label) for label in classes.tolist()]
    if all(isinstance(label, str) for label in classes.tolist()):
        check_text(classes)
        return "text", classes.tolist()
    raise TypeError(f"a model file holds labels that are numbers, booleans or text, not {classes.dtype}")


def from_names(kind, names):
    """The classes as an array; labels of a file that spells them otherwise (`+1`, `true`) are read as it reads them."""
    if kind == "integer":
        labels = [int(name) for name in names]
        # NumPy would make floats of a list that needs both types.
        return np.array(labels, dtype=np.uint64 if max(labels) > np.iinfo(np.int64).max and min(labels) >= 0 else None)
    if kind == "real":
        return np.array([float(name) for name in names])
    if kind == "boolean":
        return np.array([name.lower() == "true" for name in names])
    return np.array(names)


def comparable(y, classes):
    """y as one dimension of labels; ValueError where none can be a class, because one side is text and the other is not."""
    y = np.asarray(y).ravel()
    found = np.asarray(y.tolist()) if y.dtype.kind == "O" and len(y) else y
    text, wanted = found.dtype.kind in "US", np.asarray(classes.tolist()).dtype.kind in "US"
    if len(y) and found.dtype.kind in "USbiuf" and text != wanted:
        raise ValueError(f"y holds {'text' if text else 'numbers'}, but the classes are {'text' if wanted else 'numbers'}: no label could match.")
    return y


def row_mean(values, n, y, sample_weight):
    """The mean of values() over n rows, which y and the weights must have, too."""
    weights = None
    if sample_weight is not None:
        weights = check_array(sample_weight, ensure_2d=False, dtype=np.float64, input_name="sample_weight").ravel()
    if len(y) != n:
        raise ValueError(f"Found input variables with inconsistent numbers of samples: [{n}, {len(y)}]")
    if weights is not None and len(weights) != n:
        raise ValueError(f"sample_weight has {len(weights)} entries, but X has {n} rows.")
    if weights is not None and not (weights.min() >= 0 and weights.max() > 0):
        raise ValueError("sample_weight must be at least 0, and above 0 for some row.")
    return float(np.average(values(), weights=weights))
