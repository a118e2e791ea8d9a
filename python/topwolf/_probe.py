"""A linear probe in one call: a path over C, a choice, a model with its certificate, and what there is to know about them."""

from __future__ import annotations

import os
import numbers
import warnings
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path as FilePath
from typing import Any

import numpy as np
from numpy.typing import ArrayLike
from sklearn.exceptions import ConvergenceWarning

from . import _core
from ._estimator import TopwolfClassifier
from ._features import checked, to_features, working_dtype
from ._fitted import MatrixLike, Path
from ._search import TopwolfClassifierCV, grid_of


@dataclass(frozen=True, repr=False, eq=False)
class Probe:
    """What :func:`probe` found."""

    estimator: TopwolfClassifier
    """Fitted with `C`: to the training rows, or to all rows where `refitted`."""
    C: float
    """That with the lowest error; of equals the smallest."""
    scoring: str
    """What the choice goes by."""
    errors: dict[str, float]
    """Of `C` on the rows held out: "error", by `scoring`, and with validation rows "top_1_error", "top_5_error", ..."""
    table: dict[str, np.ndarray]
    """Every point of the path, C ascending: "C", the errors, "relative_gap", "n_iter", "seconds", "status", and with
    validation rows the bounds "primal" and "dual". NaN where a point was not tried."""
    refitted: bool
    """Whether `estimator` has seen all rows, so that `errors` are those of the model before it."""
    status: str
    """"converged" where every point is certified to `tol` and nothing is missing; else what kept it from that."""
    seconds: float
    """Of all of it."""

    def __repr__(self):
        shown = ", ".join(f"{name.replace('_error', '').replace('_', '-')} {100 * value:.2f} %" for name, value in self.errors.items() if name != "error")
        rows = "all rows" if self.refitted else "the training rows"
        return (
            f"<Probe: C={self.C:g} of {len(self.table['C'])}, {self.scoring} error {100 * self.errors['error']:.2f} % on held-out rows"
            + (f" ({shown})" if shown else "")
            + f"; fitted to {rows}, relative gap {self.estimator.relative_gap_:.1e}, {self.status}, {self.seconds:.1f} s>"
        )


def probe(
    X: MatrixLike,
    y: ArrayLike,
    X_val: MatrixLike | None = None,
    y_val: ArrayLike | None = None,
    *,
    Cs: int | ArrayLike = 9,
    scoring: str = "top1",
    cv: Any = 5,
    refit: bool | None = None,
    sample_weight: ArrayLike | None = None,
    report: Path | None = None,
    **options: Any,
) -> Probe:
    """Probe features that somebody else made: how well does a linear classifier do on them, and at which C?

    Every C is tried, from the smallest, each fit starting from the one before it and certified to `tol`. The one with
    the lowest error on the rows held out is taken: on X_val, or without it on folds of X.

    Parameters
    ----------
    X, y : array-like or sparse matrix of shape (n_samples, n_features), and (n_samples,)
        As for :meth:`TopwolfClassifier.fit`; the rows are read where they are.
    X_val, y_val : the same of rows that are not trained on, default=None
        A label that is none of y's is wrong at every k. Without them, folds of X: :class:`TopwolfClassifierCV`.
    Cs : int or array-like, default=9
        The values of C, or how many, log-spaced from 0.01 to 100.
    scoring : str, default="top1"
        The error that is to be low: "top1", "top5" (or any other number), or a mix as "0.7*top1+0.3*top5".
    cv : int, cross-validation generator or iterable, default=5
        Without X_val.
    refit : bool, default=None
        Fit to X and X_val together with the best C, after the choice. None: not with X_val, whose errors then are those
        of the estimator that is returned; without X_val always.
    sample_weight : array-like of shape (n_samples,), default=None
        Of X.
    report : path, default=None
        A page (HTML) that needs nothing else: errors against C, the certificates, the choice.
    **options
        As for :class:`TopwolfClassifier`: `loss`, `k`, `tol`, `time_limit` (of all of it), `n_jobs`, ...

    Returns
    -------
    Probe
        With `estimator`, `C`, `errors` and `table`.

    Examples
    --------
    >>> from sklearn.datasets import load_digits
    >>> import topwolf
    >>> X, y = load_digits(return_X_y=True)
    >>> found = topwolf.probe(X[:900] / 16, y[:900], X[900:] / 16, y[900:], Cs=[0.01, 0.1, 1.0])
    >>> sorted(found.errors)
    ['error', 'top_1_error', 'top_3_error', 'top_5_error']
    """
    if (X_val is None) != (y_val is None):
        raise ValueError("X_val and y_val belong together: give both, or neither for folds of X.")
    for name in ("C", "warm_start"):
        if name in options:
            raise ValueError(f"probe takes no {name}: Cs says which values are tried, each from the one before.")
    if "memory" in options:
        raise ValueError("probe takes no memory: its rows are in memory.")
    if X_val is None and refit is False:
        raise ValueError("refit=False needs X_val: on folds there is no one fit that the errors belong to.")
    if _core.metric_has_costs(scoring):
        raise ValueError(f"scoring is {scoring!r}, which has costs, but a probe counts top-k errors.")
    call = _call_of(Cs, scoring, options) if report is not None else ""
    if X_val is None:
        found, page = _on_folds(X, y, sample_weight, call, TopwolfClassifierCV(Cs, cv=cv, scoring=scoring, **options))
    else:
        clf = TopwolfClassifier(**options)
        clf._validate_params()
        with _core.IeeeArithmetic():
            found, page = _on_rows(clf, X, y, X_val, y_val, sample_weight, grid_of(Cs), scoring, bool(refit), call)
    if report is not None:
        _write(report, page)
    _warn(found)
    return found


def _call_of(Cs, scoring, options):
    shown = {"Cs": Cs if isinstance(Cs, numbers.Integral) else np.asarray(Cs).tolist(), "scoring": scoring, **options}
    return f"topwolf.probe({', '.join(f'{name}={value!r}' for name, value in shown.items())})"


def _write(path, page):
    """Whole or not at all."""
    target = FilePath(os.fspath(path))
    part = target.with_name(target.name + ".part")
    part.write_text(page, encoding="utf-8")
    os.replace(part, target)


def _on_rows(clf, X, y, X_val, y_val, sample_weight, grid, scoring, refit, call):
    X, y, weights = clf._rows(X, y, sample_weight)
    X_val, y_val = checked(clf, X_val, y_val, reset=False)
    options = {**clf._options(len(y), None, 1.0), "keep_dual": False, "start": None}
    features = to_features(X)
    result = _core.probe(
        features, y, len(clf.classes_), options, weights, to_features(X_val), clf._class_numbers(y_val), grid, scoring, refit, call
    )
    if result["error"] is not None and not isinstance(result["error"], KeyboardInterrupt):
        raise result["error"]
    table, best = dict(result["path"]), int(result["best"])
    clf.C = float(table["C"][best])
    refitted = result["refitted"]
    clf._take_result(result["result"], features, working_dtype(X), y, {**options, "C": clf.C}, weights)
    clf.evals_result_, clf._dual = {}, None
    errors = {name: float(values[best]) for name, values in table.items() if name.endswith("error")}
    missing = len(result["not_tried"])
    for name, values in table.items():
        table[name] = _with_missing(name, values, result["not_tried"])
    worst = [status for status in (*table["status"][: len(table["status"]) - missing], clf.status_) if status != "converged"]
    status = result["ended"] or (worst[0] if worst else "converged")
    return Probe(clf, clf.C, scoring, errors, table, refitted, status, result["seconds"]), result["page"]


def _with_missing(name, values, not_tried):
    """A column with the points that were not tried."""
    values = np.asarray(values)
    if not not_tried:
        return values
    if name == "C":
        return np.append(values, not_tried)
    if name == "status":
        return np.append(values, ["not_tried"] * len(not_tried))
    return np.append(values, np.full(len(not_tried), 0 if values.dtype.kind == "i" else np.nan)).astype(values.dtype)


def _on_folds(X, y, sample_weight, call, search):
    search._validate_params()
    fitted = search._blank()
    with _core.IeeeArithmetic():
        result = fitted._search(X, y, sample_weight, None, 1.0, page_of=call)
    results = fitted.cv_results_
    made = results["n_iter"] > 0
    gaps = np.where(made, results["relative_gap"], -np.inf).max(axis=1)
    table = {
        **{name: results[f"param_{name}"] for name in ("C", "loss", "k")},
        "error": 1.0 - results["mean_test_score"],
        "relative_gap": np.where(made.any(axis=1), gaps, np.nan),
        "n_iter": results["n_iter"].sum(axis=1),
        "seconds": np.asarray(results["mean_fit_time"]) * made.sum(axis=1),
        "status": np.where(made.all(axis=1), "tried", np.where(made.any(axis=1), "dropped", "not_tried")),
    }
    errors = {"error": 1.0 - fitted.best_score_}
    return Probe(fitted, fitted.C_, search.scoring, errors, table, True, fitted.status_, result["seconds_in_all"]), result.get("page", "")


def _warn(found: Probe) -> None:
    C: Mapping = found.table
    if found.status != "converged":
        tried = int(np.isfinite(C["error"]).sum())
        warnings.warn(
            f"The probe ended with status {found.status}: {tried} of {len(C['C'])} points were tried; C={found.C:g} is the best of "
            f"these, and the estimator's relative gap is {found.estimator.relative_gap_:.2g}.",
            ConvergenceWarning,
            stacklevel=3,
        )
    elif len(C["C"]) > 1 and found.C in (C["C"][0], C["C"][-1]):
        warnings.warn(f"The best C, {found.C:g}, is an end of Cs; try values beyond it.", UserWarning, stacklevel=3)
