"""Pictures of fitted classifiers. Needs matplotlib: ``pip install topwolf[plot]``."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import ArrayLike
from sklearn.utils.validation import check_is_fitted

from ._estimator import MatrixLike, TopwolfClassifier
from ._oracle import loss_name

__all__ = ["convergence", "top_k"]


def _pyplot():
    try:
        import matplotlib.pyplot as plt
    except ImportError as error:
        raise ImportError("topwolf.plot needs matplotlib: pip install topwolf[plot]") from error
    return plt


def _name(fit):
    """Its loss, or of others their class."""
    if not isinstance(fit, TopwolfClassifier):
        return type(fit).__name__
    return f"{loss_name(fit.loss)}, k = {fit.k_}" if fit.k_ > 1 else loss_name(fit.loss)


def _best_classes(fit, X, k):
    """The k best classes of each row, best first; other classifiers' by their scores, which for two classes are one column."""
    if hasattr(fit, "predict_top_k"):
        return fit.predict_top_k(X, k=k)
    scores = np.asarray(fit.decision_function(X) if hasattr(fit, "decision_function") else fit.predict_proba(X))
    if scores.ndim == 1:
        scores = np.column_stack([-scores, scores])
    if scores.shape[1] != len(fit.classes_):
        raise ValueError(f"{type(fit).__name__} has {scores.shape[1]} scores a row for {len(fit.classes_)} classes.")
    return np.asarray(fit.classes_)[np.argsort(-scores, axis=1, kind="stable")[:, :k]]


def _names(fits, labels):
    if labels is None:
        labels = [_name(fit) for fit in fits]
        labels = [f"{label} ({number + 1})" if labels.count(label) > 1 else label for number, label in enumerate(labels)]
    if len(labels) != len(fits):
        raise ValueError(f"there are {len(labels)} labels for {len(fits)} fits")
    return labels


def convergence(*fits: TopwolfClassifier, labels: list[str] | None = None, axes: Any = None) -> np.ndarray:
    """The gap and the objective of one or more fits, against passes and against seconds.

    Parameters
    ----------
    *fits : fitted TopwolfClassifier
        Of a TopwolfClassifierCV the end of the fit to all rows is drawn.
    labels : list of str, default=None
        Names of the fits; None: their losses.
    axes : array of 2 x 2 matplotlib Axes, default=None
        None: a new figure.

    Returns
    -------
    axes : array of 2 x 2 matplotlib Axes
        Rows: relative gap, and primal and dual. Columns: passes, seconds.
    """
    if not fits:
        raise ValueError("convergence needs at least one fitted classifier")
    for fit in fits:
        check_is_fitted(fit, "trace_")
    labels = _names(fits, labels)
    if axes is None:
        _, axes = _pyplot().subplots(2, 2, figsize=(10, 7), sharey="row", sharex="col", layout="constrained")
    axes = np.asarray(axes)
    for number, (fit, label) in enumerate(zip(fits, labels)):
        colour = f"C{number % 10}"
        gap = np.maximum(fit.trace_["relative_gap"], np.finfo(float).tiny)
        for column, against in enumerate(("iteration", "seconds")):
            steps = fit.trace_[against]
            mark = "o" if len(steps) == 1 else None  # of a search the end is known, which is a point
            axes[0, column].plot(steps, gap, color=colour, label=label, marker=mark)
            axes[0, column].axhline(fit.tol, color=colour, linewidth=0.8, linestyle=":")
            axes[1, column].plot(steps, fit.trace_["primal"], color=colour, marker=mark)
            axes[1, column].plot(steps, fit.trace_["dual"], color=colour, linestyle="--", marker=mark)
    for ax in axes[0]:
        ax.set_yscale("log")
    axes[0, 0].set_ylabel("relative duality gap (dotted: tol)")
    axes[1, 0].set_ylabel("objective (dashed: its lower bound)")
    # The first passes can lie far above the rest.
    highest = max(np.quantile(fit.trace_["primal"], 0.9) for fit in fits)
    for ax in axes[1]:
        ax.set_ylim(0, 1.3 * highest if highest > 0 else None)
    axes[1, 0].set_xlabel("passes")
    axes[1, 1].set_xlabel("seconds")
    axes[0, 1].legend()
    return axes


def top_k(
    clf: Any,
    X: MatrixLike,
    y: ArrayLike,
    *,
    ks: list[int] | None = None,
    labels: list[str] | None = None,
    ax: Any = None,
) -> Any:
    """Error against k: the share of rows whose label is not among the k best classes.

    Parameters
    ----------
    clf : fitted classifier, or a list of them
        Several are drawn into one picture. Besides ours any with `decision_function` or `predict_proba` and a score a class,
        such as :class:`~sklearn.svm.LinearSVC` and :class:`~sklearn.linear_model.LogisticRegression`.
    X, y : rows and labels
    ks : list of int, default=None
        None: from 1 to 20, or to the number of classes less one.
    labels : list of str, default=None
    ax : matplotlib Axes, default=None
        None: a new figure.

    Returns
    -------
    ax : matplotlib Axes
    """
    fits = list(clf) if isinstance(clf, (list, tuple)) else [clf]
    if not fits:
        raise ValueError("top_k needs at least one fitted classifier")
    for fit in fits:
        check_is_fitted(fit)
    labels = _names(fits, labels)
    if ax is None:
        _, ax = _pyplot().subplots(figsize=(7, 4.5), layout="constrained")
    for fit, label in zip(fits, labels):
        mine = ks if ks is not None else range(1, min(20, len(fit.classes_) - 1) + 1)
        best = _best_classes(fit, X, max(mine))
        hit = best == np.asarray(y).ravel()[:, None]
        errors = [100 * (1 - hit[:, :k].any(axis=1).mean()) for k in mine]
        ax.plot(list(mine), errors, marker="o", markersize=4, label=label)
    ax.set_xlabel("k")
    ax.set_ylabel("rows whose label is not among the k best, %")
    ax.set_ylim(bottom=0)
    ax.xaxis.get_major_locator().set_params(integer=True)
    ax.legend()
    return ax
