"""Structure among the classes: margins, class features and taxonomies, checked and made ready for the extension."""

from __future__ import annotations

import os
from collections.abc import Mapping
from typing import Any

import numpy as np
from numpy.typing import ArrayLike
from scipy import sparse
from sklearn.utils.validation import check_array

from . import _core
from ._features import sound, to_features
from ._labels import to_names
from ._paths import file_name


def taxonomy(tree: str | os.PathLike[str] | Mapping[Any, Any], classes: ArrayLike) -> tuple[sparse.csr_array, np.ndarray]:
    """Class features and costs from a tree over the classes.

    Parameters
    ----------
    tree : path or mapping
        A file with a child and its parent a line, or a mapping from children to parents. Its one root has no parent,
        and its leaves are classes.
    classes : array-like of shape (n_classes,)
        Sorted, each once, as `classes_` is; ``numpy.unique(y)`` is so.

    Returns
    -------
    class_features : sparse array of shape (n_classes, n_nodes)
        1 for a class itself and for each of its ancestors below the root. The columns are the classes, then the other
        nodes below the root in the order in which the tree first names them.
    cost_matrix : ndarray of shape (n_classes, n_classes)
        Half the number of edges between two classes.

    Examples
    --------
    >>> from topwolf import taxonomy
    >>> phi, cost = taxonomy({"cat": "mammal", "dog": "mammal", "mammal": "animal", "cod": "animal"}, ["cat", "cod", "dog"])
    >>> phi.toarray().tolist()
    [[1.0, 0.0, 0.0, 1.0], [0.0, 1.0, 0.0, 0.0], [0.0, 0.0, 1.0, 1.0]]
    >>> cost.tolist()
    [[0.0, 1.5, 1.0], [1.5, 0.0, 1.5], [1.0, 1.5, 0.0]]

    Then ``TopwolfClassifier(class_features=phi, cost_matrix=cost)``.
    """
    classes = np.asarray(classes)
    if not np.array_equal(classes, np.unique(classes)):
        raise ValueError("classes must be sorted, each once, as numpy.unique returns them.")
    label_type, names = to_names(classes)
    if isinstance(tree, Mapping):
        edges = [(str(child), str(parent)) for child, parent in tree.items()]
        phi, cost = _core.make_taxonomy(edges, label_type, names)
    else:
        phi, cost = _core.load_taxonomy(file_name(tree), label_type, names)
    return from_arrays(phi), cost


def from_arrays(arrays):
    """Class features as the extension returns them: an array, or what makes a CSR matrix, or None."""
    if not isinstance(arrays, tuple):
        return arrays
    values, indices, indptr, shape = arrays
    return sparse.csr_array((values, indices, indptr), shape=shape)


def check_class_features(phi, m):
    """A copy, which a callback cannot change: float64, dense or CSR, a row for each of m classes; None stays None."""
    if phi is None:
        return None
    phi = check_array(
        sound(phi, "class_features"), accept_sparse="csr", dtype=np.float64, order="C", copy=True, input_name="class_features"
    )
    if phi.shape[0] != m:
        raise ValueError(f"class_features has {phi.shape[0]} rows, but there are {m} classes.")
    return phi


def check_margins(margins, n, m, copy=False):
    """float64, dense or CSR, (n, m)."""
    if margins is None:
        return None
    margins = check_array(
        sound(margins, "margins"), accept_sparse="csr", dtype=np.float64, order="C", copy=copy, input_name="margins"
    )
    if margins.shape != (n, m):
        raise ValueError(f"margins has shape {margins.shape}, but {n} rows and {m} classes need ({n}, {m}).")
    return margins


def features_or_none(matrix):
    return None if matrix is None else to_features(matrix)


def costs_of(chosen, y, m, cost_matrix=None, margins=None, margin_default=1.0):
    """What it costs to take rows of classes y for the classes chosen; a class of -1 is none of the m."""
    wrong = (chosen != y).astype(np.float64)
    if margins is not None:
        margins = check_margins(margins, len(y), m)
        rows = np.arange(len(y))
        if not sparse.issparse(margins):
            return margins[rows, chosen]
        stored = sparse.csr_matrix((np.ones_like(margins.data), margins.indices, margins.indptr), shape=margins.shape)
        given = np.asarray(stored[rows, chosen]).ravel() > 0
        costs = np.asarray(sparse.csr_matrix(margins)[rows, chosen]).ravel()
        return np.where(given, costs, margin_default * wrong)
    if cost_matrix is not None:
        known = y >= 0
        return np.where(known, np.asarray(cost_matrix, np.float64)[np.where(known, y, 0), chosen], wrong)
    return wrong
