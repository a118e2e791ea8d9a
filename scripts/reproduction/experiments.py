"""The experiments: each takes rows and returns plain numbers."""

from __future__ import annotations

import os
import platform
import re
import warnings
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import scipy.linalg
from paper import PLACES
from sets import Rows
from sklearn.exceptions import ConvergenceWarning
from sklearn.model_selection import StratifiedKFold
from topwolf import TopwolfClassifier, TopwolfClassifierCV, _core
from topwolf._features import to_features

BATCH = {"PG": "pg", "StdFW": "stdfw", "LSFW": "lsfw"}  # the paper's names: ours
RHO = np.array([5.0, 4.0, 3.0, 2.0, 1.0]) / 15.0  # max(0, 6 - j) / 15
OPTIMUM_GAP = 1e-9  # P - D, as the paper's 1e-5 for its own
SUFFICES = 1e-8  # where rounding allows no less
FOLDS = 3
UNREACHABLE = 1e-12  # as a tolerance: all iterations are made
PATIENCE = 100_000  # as an iteration limit: the tolerance decides


class Unsolved(Exception):
    """One sentence about a problem that nothing can be compared with."""


@dataclass(frozen=True)
class Loss:
    """An estimator's parameters. With `costs` they include a cost matrix, which comes from rows to train on."""

    parameters: dict
    costs: bool = False

    def on(self, X: np.ndarray, y: np.ndarray) -> dict:
        return {**self.parameters, "cost_matrix": distances(X, y)} if self.costs else self.parameters


PAPER_LOSS = Loss({"loss": "weighted_usunier", "rho": RHO})


# Figures 1 and 2, Table 2: lambda = 1 / n is C = 1


def batch_curve(rows: Rows, method: str, smoothing: float, passes: int) -> dict:
    """P, D and the time of every iterate. A pass sees P and D of the point that the one before it made."""
    parameters = {**PAPER_LOSS.parameters, "smoothing": smoothing, "solver": BATCH[method]}
    clf = TopwolfClassifier(**parameters, tol=UNREACHABLE, max_iter=passes)
    trace = _fit_in_passes(clf, rows.X, rows.y).trace_
    return {
        "iteration": trace["iteration"][:-1].tolist(),
        "seconds": trace["seconds"][:-1].tolist(),
        "primal": trace["iterate_primal"][1:].tolist(),
        "dual": trace["iterate_dual"][1:].tolist(),
        "seconds_per_iteration": float(np.median(np.diff(trace["seconds"]))),
        "machine": machine(),
    }


def block_curve(rows: Rows, smoothing: float) -> dict:
    """The same for block, in double, up to the optimum. P comes from a second fit, the same to the last bit, so that
    computing it costs the first one no time; of later iterates one in fifty is enough."""
    X = rows.X.astype(np.float64)
    parameters = {**PAPER_LOSS.parameters, "smoothing": smoothing, "solver": "block"}
    # P is 1 at W = 0: a relative gap of so much is an absolute one as well.
    clf = _fit_in_passes(TopwolfClassifier(**parameters, tol=OPTIMUM_GAP, max_iter=PATIENCE), X, rows.y)
    if clf.dual_gap_ > SUFFICES:
        raise Unsolved(f"the optimum of {rows.title} could be found only to a gap of {clf.dual_gap_:.2g}.")
    trace, optimum = clf.trace_, {"primal": clf.primal_, "dual": clf.dual_}
    features, y, m = to_features(X), rows.y.astype(np.int32), rows.shape[2]
    options = {**clf._options(len(y), None, 1.0), "keep_dual": False, "start": None}
    looked_at, primal = [], []

    def look(record):
        if not looked_at or record.iteration >= 1.02 * looked_at[-1]:
            looked_at.append(record.iteration)
            primal.append(_core.objective(features, y, m, options, None, record.weights()))

    _fit_in_passes(clf, X, rows.y, callback=look)
    kept = np.array(looked_at) - 1
    curve = {"iteration": "iteration", "seconds": "seconds", "dual": "iterate_dual"}
    curve = {name: trace[column][kept].tolist() for name, column in curve.items()}
    step_s = float(np.median(np.diff(trace["seconds"])))
    return {**curve, "primal": primal, "optimum": optimum, "seconds_per_iteration": step_s, "machine": machine()}


def machine() -> str:
    """The processor, and how many of its cores this program may use."""
    cpuinfo = Path("/proc/cpuinfo")
    names = re.findall(r"^model name\s*:\s*(.*)$", cpuinfo.read_text(), re.MULTILINE) if cpuinfo.exists() else []
    return f"{len(os.sched_getaffinity(0))} cores of {names[0] if names else platform.machine()}"


# Table 1


# `iterations` is how many PG, StdFW and LSFW make; block has its tolerance.


def choose_C(rows: Rows, method: str, loss: Loss, Cs: tuple[float, ...], iterations: int | None = None) -> dict:
    """The C whose held-out errors, as in the table, have the lowest mean."""
    means = held_out_errors(rows, method, loss, Cs, PLACES, iterations).mean(axis=1).tolist()
    best = int(np.argmin(means))
    return {"errors": means, "C": Cs[best], "error": means[best]}


def held_out_errors(rows: Rows, method: str, loss: Loss, Cs: tuple[float, ...], places, iterations: int | None = None) -> np.ndarray:
    """Of each C at each place, the mean over the folds of the first trial's training half."""
    train, _ = halves(rows, 0)
    half = rows._replace(X=rows.X[train], y=rows.y[train])
    folds = list(StratifiedKFold(FOLDS, shuffle=True, random_state=0).split(half.X, half.y))
    return errors_in(half, method, loss, Cs, folds, places, iterations).mean(axis=1)


def errors_in(rows: Rows, method: str, loss: Loss, Cs: tuple[float, ...], splits: list, places, iterations=None) -> np.ndarray:
    """Of each C, ascending, in each split at each place."""
    if method == "block" and not loss.costs:  # costs differ from split to split
        return block_errors(rows, loss, Cs, splits, places)
    return np.array([[_trained_and_tested(rows, method, loss, C, *split, places, iterations) for split in splits] for C in Cs])


def block_errors(rows: Rows, loss: Loss, Cs: tuple[float, ...], splits: list, places, tol: float = 1e-3) -> np.ndarray:
    """The same by one search: every fit starts from that with the C before it, and all splits share the Gram matrix."""
    found = [[] for _ in splits]

    class Search(TopwolfClassifierCV):
        def _judge(self, X, y, folds):
            """A scorer of scikit-learn's would see one place, and not which split it is in."""

            def judge(fold, weights, _temperature):
                W, test = weights.reshape(len(self.classes_), -1), splits[fold][1]
                found[fold].append(errors(W, self.classes_, rows.X[test], rows.y[test], places))
                return found[fold][-1][0]

            return judge

    parameters = {**loss.parameters, "solver": "block", "max_iter": PATIENCE, "tol": tol}
    search = Search(Cs, cv=splits, scoring=lambda *_: 0.0, refit=False, **parameters)  # _judge scores
    search.fit(rows.X.astype(np.float64), rows.y)
    return np.swapaxes(found, 0, 1)


def trial(rows: Rows, method: str, loss: Loss, C: float, number: int, iterations: int | None = None) -> list[float]:
    """The errors on one half of a classifier trained on the other."""
    return _trained_and_tested(rows, method, loss, C, *halves(rows, number), PLACES, iterations)


def _trained_and_tested(rows, method, loss, C, train, test, places, iterations):
    W, classes = train_with(method, loss, C, rows.X[train], rows.y[train], iterations)
    return errors(W, classes, rows.X[test], rows.y[test], places)


def halves(rows: Rows, number: int) -> tuple[np.ndarray, np.ndarray]:
    """Half of the rows at random; the trials of all methods have the same halves, which pairs them."""
    order = np.random.default_rng(1000 + number).permutation(len(rows.y))
    return np.split(order, [len(order) // 2])


def train_with(method, loss, C, X, y, iterations=None):
    """W, with the intercept as its last column, and its classes: block at its own tolerance, in double; the others at the
    last iterate."""
    parameters = {**loss.on(X, y), "C": C}
    if method == "block":
        clf = TopwolfClassifier(**parameters, solver="block", max_iter=PATIENCE).fit(X.astype(np.float64), y)
        return np.column_stack([clf.coef_, clf.intercept_]), clf.classes_
    last = []

    def keep(record):
        if record.iteration == iterations or record.step == 0.0:  # with which there is nowhere left to go
            last[:] = [record.weights()]

    clf = TopwolfClassifier(**parameters, solver=BATCH[method], tol=UNREACHABLE, max_iter=iterations)
    span, within = _in_their_span(X)
    _fit_in_passes(clf, within, y, callback=keep)
    W = last[0] if last else np.column_stack([clf.coef_, clf.intercept_])  # solved before its last pass
    return np.column_stack([W[:, :-1] @ span, W[:, -1]]), clf.classes_


def _in_their_span(X):
    """An orthonormal basis of a space that holds the rows, and the rows in it. The methods see nothing of the rows but their
    inner products, which are the same there, and where rows are fewer than features a pass takes less time."""
    if X.shape[0] >= X.shape[1]:
        return np.eye(X.shape[1], dtype=X.dtype), X
    Q, R = scipy.linalg.qr(X.T, mode="economic", check_finite=False)
    return Q.T, np.ascontiguousarray(R.T)


def errors(W, classes, X, y, places):
    """Shares of rows whose class is not among the best so many, of equal ones the first; a class that training did not see
    never is, and nor is one whose score is not a number."""
    scores = X @ W[:, :-1].astype(np.float32).T + W[:, -1].astype(np.float32)
    known = np.isin(y, classes)
    column = np.where(known, np.searchsorted(classes, y), 0)[:, None]
    own = np.take_along_axis(scores, column, axis=1)
    rank = (~(scores <= own) | ((scores == own) & (np.arange(len(classes)) < column))).sum(axis=1)
    return [float(np.mean((rank >= k) | ~known)) for k in places]


# Does training for top-k pay at k?


def losses_for(k: int) -> dict[str, Loss]:
    """The losses that look at k ranks. At one rank all are the max hinge, which with costs is the structured one."""
    if k == 1:
        return {"max hinge": Loss({"loss": "max_hinge"}), "structured hinge": Loss({"loss": "max_hinge"}, costs=True)}
    falling = np.arange(k, 0, -1.0)
    return {
        "top-k": Loss({"loss": "top_k", "k": k}),
        "Usunier": Loss({"loss": "usunier", "k": k}),
        "weighted top-k": Loss({"loss": "weighted_top_k", "rho": falling / falling.sum()}),
        "weighted Usunier": Loss({"loss": "weighted_usunier", "rho": falling / falling.sum()}),
    }


def distances(X, y):
    """Costs for the structured hinge: 0.5 to 1.5, more for classes whose means lie farther apart."""
    means = np.array([X[y == j].mean(axis=0, dtype=np.float64) for j in np.unique(y)])
    squares = (means**2).sum(axis=1)
    distance = np.sqrt(np.maximum(0.0, squares[:, None] + squares[None, :] - 2.0 * means @ means.T))
    cost = 0.5 + distance / (distance.max() or 1.0)
    np.fill_diagonal(cost, 0.0)
    return cost


def errors_by_place(rows: Rows, loss: Loss, Cs: tuple[float, ...], places: list[int], trials: int) -> dict:
    """For each place C is chosen by the held-out error at that place, so that no loss has a C meant for another."""
    chosen = [Cs[best] for best in held_out_errors(rows, "block", loss, Cs, places).argmin(axis=0)]
    worth_it = sorted(set(chosen))
    by_C = errors_in(rows, "block", loss, worth_it, [halves(rows, number) for number in range(trials)], places)
    found = np.column_stack([by_C[worth_it.index(C), :, column] for column, C in enumerate(chosen)])
    return {"C": chosen, "errors": found.tolist()}


def _fit_in_passes(clf, X, y, callback=None):
    """A fit that need not reach its tolerance."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ConvergenceWarning)
        return clf.fit(X, y, callback=callback)
