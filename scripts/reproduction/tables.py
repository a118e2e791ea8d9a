"""The tables, from the jobs' results: captions, headers, and cells with <b> and <ins> where something is to stand out."""

from __future__ import annotations

import itertools
import math
from typing import NamedTuple

import numpy as np
from experiments import losses_for
from paper import FIGURE_SETS, NOT_TOLD_APART, PLACES, SETS, TABLE_1, TABLE_2
from plan import METHODS, SCALINGS, SMOOTHINGS, TUNED, Plan, choice_job, curve_job, loss_job, trial_job
from scipy.stats import t as students_t

SIGNIFICANT = 0.05
SOLVED = 1e-3  # of the objective, relative
TOP = [f"top-{k}" for k in PLACES]


class Table(NamedTuple):
    caption: str
    header: list[str]
    rows: list[list[str]]


class Paired(NamedTuple):
    """Two methods in the same halves, by t-tests of the differences."""

    difference: float
    p: float  # taking the halves for independent, as the paper does
    corrected_p: float  # they overlap: Nadeau and Bengio's correction for test sets as large as the training sets

    @property
    def told_apart(self) -> bool:
        return self.p < SIGNIFICANT

    def __str__(self):
        return f"{self.difference:+.3f}, p {self.p:.2g} / {self.corrected_p:.2g}"


def paired(a: np.ndarray, b: np.ndarray) -> Paired:
    differences = np.asarray(a) - np.asarray(b)
    mean, trials = differences.mean(), len(differences)
    if np.ptp(differences) < 1e-12:  # the same in every half, but for rounding
        p = 1.0 if abs(mean) < 1e-12 else 0.0
        return Paired(mean, p, p)
    t = mean / differences.std(ddof=1)
    p, corrected_p = (2 * students_t.sf(abs(t) / math.sqrt(v), trials - 1) for v in (1 / trials, 1 / trials + 1))
    return Paired(mean, p, corrected_p)


def sets(plan: Plan) -> Table:
    rows = []
    for name, here in plan.sets.items():
        paper = SETS[name]
        n, d, m = here.shape
        rows.append([here.title, f"{paper.n:,} x {paper.d:,}, {paper.m}", f"{n:,} x {d:,}, {m}", here.label])
    return Table("The sets.", ["set", "paper: n x d, m", "here: n x d, m", "what differs"], rows)


# Table 1


def errors_of(plan: Plan, name: str) -> dict[str, np.ndarray]:
    """For each row of Table 1 the errors, trials x places."""
    trials = range(plan.settings.trials)
    return {
        method: np.array([plan.jobs.result(trial_job(name, method, number))["errors"] for number in trials])
        for method in (*METHODS, TUNED)
    }


def recognition(plan: Plan, name: str) -> Table:
    """Table 1 for one set. The row that has also chosen its loss is not among those compared."""
    found = errors_of(plan, name)
    means = {method: found[method].mean(axis=0) for method in found}
    rows = []
    for method, errors in found.items():
        cells = []
        for place in range(len(PLACES)):
            best = min(METHODS, key=lambda other: means[other][place])
            cell = f"{means[method][place]:.3f}"
            if method in METHODS and not paired(errors[:, place], found[best][:, place]).told_apart:
                cell = f"<ins>{cell}</ins>"
            if method in METHODS and math.isclose(means[method][place], means[best][place]):
                cell = f"<b>{cell}</b>"
            cells.append(f"{cell} ({errors[:, place].std(ddof=1):.3f})")
        rows.append([method, _chosen(plan, name, method), *cells, *_paper_cells(name, method)])
    about = plan.sets[name]
    return Table(f"{about.title}: {about.label}.", ["", "chosen", *TOP, *[f"paper: {place}" for place in TOP]], rows)


def _chosen(plan, name, method):
    chosen = plan.jobs.result(choice_job(name, method))
    at_the_end = chosen["C"] in (plan.settings.Cs[0], plan.settings.Cs[-1])
    loss = f", {chosen['loss']} loss" if method == TUNED else ""
    return f"C = {chosen['C']:g}{' (end of the grid)' if at_the_end else ''}{loss}"


def _paper_cells(name, method):
    if method not in TABLE_1[name]:
        return ["-"] * len(PLACES)
    cells = []
    for k, (mean, sd) in zip(PLACES, TABLE_1[name][method]):
        cell = f"{mean:.3f}"
        if method == "LSFW":
            cell = f"<b><ins>{cell}</ins></b>"
        elif k in NOT_TOLD_APART.get(name, {}).get(method, ()):
            cell = f"<ins>{cell}</ins>"
        cells.append(f"{cell} ({sd:.3f})")
    return cells


def verdict(here: Paired, paper_tells_apart: bool) -> str:
    """On LSFW against another, which the paper always finds worse."""
    if not here.told_apart:
        return "not told apart here" if paper_tells_apart else "agrees: not told apart"
    if not paper_tells_apart:
        return f"told apart here only, {'worse' if here.difference > 0.0 else 'better'}"
    return "opposite" if here.difference > 0.0 else "agrees"


def ordering(plan: Plan) -> Table:
    """Whether LSFW is better than the others, as in the paper, where the rows can be compared with the paper's."""
    rows = []
    for name, about in plan.sets.items():
        found = errors_of(plan, name)
        for other in ("PG", "StdFW"):
            cells = []
            for place, k in enumerate(PLACES):
                here = paired(found["LSFW"][:, place], found[other][:, place])
                claimed = k not in NOT_TOLD_APART.get(name, {}).get(other, ())
                paper = TABLE_1[name]["LSFW"][place][0] - TABLE_1[name][other][place][0]
                said = f"{verdict(here, claimed)}: " if about.comparable else ""
                cells.append(f"{said}{here} (paper {paper:+.3f}{'' if claimed else ', not told apart'})")
            rows.append([about.title, f"LSFW - {other}", *cells])
    caption = (
        f"The paper's order of its methods: LSFW before PG and StdFW. Mean difference of the errors, p of the paired t-test "
        f"(which decides, at {SIGNIFICANT:g}) / of the corrected one. No verdict where the rows cannot be compared."
    )
    return Table(caption, ["set", "difference", *TOP], rows)


def against_block(plan: Plan) -> Table:
    """What an exact solution changes, and what choosing the loss does."""
    rows = []
    for name, about in plan.sets.items():
        found = errors_of(plan, name)
        for first, second in (("block", "LSFW"), ("block", "PG"), (TUNED, "block")):
            cells = [str(paired(found[first][:, place], found[second][:, place])) for place in range(len(PLACES))]
            rows.append([about.title, f"({first}) - {second}", *cells])
    caption = "The exact solution against the others. Mean difference of the errors, p of the paired t-test / of the corrected one."
    return Table(caption, ["set", "difference", *TOP], rows)


def by_C(plan: Plan) -> Table:
    """What the choice of C was made from: where a method does not get to the optimum, errors grow with C."""
    rows = []
    for name, about in plan.sets.items():
        for method in METHODS:
            held_out = plan.jobs.result(choice_job(name, method))["errors"]
            cells = [f"<b>{error:.3f}</b>" if error == min(held_out) else f"{error:.3f}" for error in held_out]
            rows.append([about.title, method, *cells])
    caption = "Held-out error for every C, by which C is chosen: the mean of the four errors, over the folds."
    return Table(caption, ["set", "", *[f"C = {C:g}" for C in plan.settings.Cs]], rows)


# Table 2, and what the figures show in numbers


def seconds_per_iteration(plan: Plan) -> Table:
    rows = []
    for name in FIGURE_SETS:
        curves = [plan.jobs.result(curve_job(name, False, 0.0, method)) for method in METHODS]
        n, d, m = plan.sets[name].shape
        ours = [f"{curve['seconds_per_iteration']:.4f}" for curve in curves]
        paper = [f"{seconds:.3f}" for seconds in TABLE_2[name]]
        rows.append([f"{plan.sets[name].title}, {n:,} x {d:,}, {m} classes", *ours, *paper])
    caption = (
        "Seconds per iteration: the median; for block, in double, of a pass over the examples that are due. "
        f"Here: {' and '.join(measured_on(plan))}. The paper's are of another machine, and of its own sets."
    )
    return Table(caption, ["set", *METHODS, "paper: PG", "paper: StdFW", "paper: LSFW"], rows)


def measured_on(plan: Plan) -> list[str]:
    """Each machine that timed something."""
    return sorted({curve["machine"] for method in METHODS for curve in _curves(plan, method)})


def gap_of_optima(plan: Plan) -> float:
    """The largest."""
    return max(curve["optimum"]["primal"] - curve["optimum"]["dual"] for curve in _curves(plan, "block"))


def _curves(plan, method):
    problems = itertools.product(FIGURE_SETS, SCALINGS, SMOOTHINGS)
    return [plan.jobs.result(curve_job(*problem, method)) for problem in problems]


def time_to_solve(plan: Plan, unit: bool) -> Table:
    rows = []
    for name in FIGURE_SETS:
        for smoothing in SMOOTHINGS:
            curves = {method: plan.jobs.result(curve_job(name, unit, smoothing, method)) for method in METHODS}
            best = curves["block"]["optimum"]["primal"]
            cells = [_time_to_solve(curve, best) for curve in curves.values()]
            rows.append([plan.sets[name].title, f"{smoothing:g}", *cells])
    caption = f"{scaling(unit)}: until the objective of the iterate is within {100 * SOLVED:g} % of the optimum."
    return Table(caption, ["set", "smoothing", *METHODS], rows)


def scaling(unit: bool) -> str:
    return "Rows of unit length" if unit else "Rows as they are"


def _time_to_solve(curve, best):
    excess = np.array(curve["primal"]) / best - 1.0
    good = np.flatnonzero(excess <= SOLVED)
    if len(good):
        return f"{curve['seconds'][good[0]]:.2f} s ({curve['iteration'][good[0]]} iterations)"
    lowest = excess.min()
    at_best = f"{100 * lowest:.3g} % above" if lowest < 1.0 else f"{1.0 + lowest:,.0f} times the optimum"
    return f"not in {curve['seconds'][-1]:.1f} s (at best {at_best})"


# Does training for top-k pay at k?


class ByLoss(NamedTuple):
    """Errors of one set: for each loss and k trained for, trials x places."""

    places: list[int]
    errors: dict[str, dict[int, np.ndarray]]


def errors_by_k(plan: Plan, name: str) -> ByLoss:
    """At k = 1 every family is the max hinge."""
    errors = {}
    for k in plan.ks(name):
        for loss in losses_for(k):
            errors.setdefault(loss, {})[k] = np.array(plan.jobs.result(loss_job(name, loss, k))["errors"])
    hinge = errors["max hinge"][1]
    return ByLoss(plan.ks(name), {loss: by_k if 1 in by_k else {1: hinge, **by_k} for loss, by_k in errors.items()})


def does_k_pay(plan: Plan, found: dict[str, ByLoss]) -> Table:
    """Each loss at the k it was trained for, against the max hinge."""
    families = list(losses_for(2))
    rows = []
    for name, by_loss in found.items():
        for column, place in enumerate(by_loss.places):
            hinge = by_loss.errors["max hinge"][1][:, column]
            others = [("structured hinge", 1)] + [(family, place) for family in families if place > 1]
            cells = []
            for loss, k in others:
                errors = by_loss.errors[loss][k][:, column]
                here = paired(errors, hinge)
                cells.append(f"{100 * errors.mean():.2f} (p {here.p:.2g} / {here.corrected_p:.2g})")
            cells += ["the max hinge"] * (1 + len(families) - len(cells))
            rows.append([plan.sets[name].title, f"top-{place}", f"{100 * hinge.mean():.2f}", *cells])
    caption = (
        f"Error at k in %, mean of {plan.settings.k_trials} trials, of classifiers trained for that k (C chosen for that k, "
        f"too{_at_the_ends(plan, found)}), on rows of unit length. In brackets, against the max hinge: p of the paired t-test / "
        "of the corrected one."
    )
    return Table(caption, ["set", "error", "max hinge", "structured hinge", *families], rows)


def _at_the_ends(plan, sets):
    jobs = [loss_job(name, loss, k) for name in sets for k in plan.ks(name) for loss in losses_for(k)]
    chosen = [C for job in jobs for C in plan.jobs.result(job)["C"]]
    at_the_ends = sum(C in (plan.settings.k_Cs[0], plan.settings.k_Cs[-1]) for C in chosen)
    return f"; {at_the_ends} of {len(chosen)} choices at an end of the grid"
