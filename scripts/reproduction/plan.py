"""Which jobs there are, what their results depend on, and how long they should take."""

from __future__ import annotations

import time
from dataclasses import dataclass
from functools import lru_cache
from pathlib import Path

import experiments
import numpy as np
import sets
from experiments import BATCH, PAPER_LOSS, Loss, losses_for
from jobs import Job, Jobs
from paper import FIGURE_SETS, SETS

RECIPE = 1  # raise it when a job's result would change, and it is not seen from its key
METHODS = (*BATCH, "block")
TUNED = "block, loss too"  # the row of Table 1 that also chooses its loss
SMOOTHINGS = (0.0, 0.01)
SCALINGS = (False, True)  # rows as they are, as it seems the paper has them, and of unit length
# What that row chooses from.
MENU = {"paper's": PAPER_LOSS, **{f"usunier:{k}": Loss({"loss": "usunier", "k": k}) for k in (1, 5, 10, 20)}}
K_SETS = ("silhouettes16", "flower102", "cub200")


@dataclass(frozen=True)
class Settings:
    iterations: int = 1000
    trials: int = 20
    Cs: tuple[float, ...] = (0.001, 0.01, 0.1, 1.0, 10.0)  # for rows as they are
    ks: tuple[int, ...] = (1, 3, 5, 10, 20, 50)
    k_trials: int = 10
    k_Cs: tuple[float, ...] = (0.3, 1.0, 3.0, 10.0, 30.0)  # for rows of unit length


FULL = Settings()
QUICK = Settings(iterations=50, trials=3, Cs=(0.01, 1.0), ks=(1, 5, 10), k_trials=2, k_Cs=(1.0, 10.0))


class Plan:
    def __init__(self, settings: Settings, folder: Path | None, quick: bool, out: Path):
        self.settings = settings
        # One set in memory at a time.
        self.rows = lru_cache(maxsize=1)(lambda name: sets.load(name, folder, quick))
        self.unit_rows = lru_cache(maxsize=1)(lambda name: self.rows(name).in_unit_length())
        self.sets = {name: self.rows(name).about() for name in SETS if sets.there_is(name, folder)}
        self.jobs = Jobs(out)

    def prepare(self) -> Jobs:
        """What is timed comes first, so that the machine can be used again after it; small sets before large ones."""
        clock = Clock()
        for add in (self._add_figures, self._add_table, self._add_every_loss):
            for name in sorted(self.sets, key=lambda name: np.prod(self.sets[name].shape)):
                add(name, clock)
        return self.jobs

    def ks(self, name: str) -> list[int]:
        """Half of the classes are ranks enough, and are there in every fold."""
        return [k for k in self.settings.ks if k <= self.sets[name].shape[2] // 2]

    def menu(self, name: str) -> dict[str, Loss]:
        return {loss: value for loss, value in MENU.items() if value.parameters.get("k", 1) <= self.sets[name].shape[2] // 2}

    def _add(self, job_name, name, expected_s, work, **parameters):
        key = {"recipe": RECIPE, "rows": self.sets[name].checksum, **parameters}
        self.jobs.list.append(Job(job_name, key, expected_s, work))

    def _add_figures(self, name, clock):
        if name not in FIGURE_SETS:
            return
        shape, passes = self.sets[name].shape, self.settings.iterations
        for unit in SCALINGS:
            rows = self.unit_rows if unit else self.rows
            for smoothing in SMOOTHINGS:
                work = lambda rows=rows, a=smoothing: experiments.block_curve(rows(name), a)  # noqa: E731
                self._add(curve_job(name, unit, smoothing, "block"), name, 40 * clock.block_s(shape), work)
                for method in BATCH:
                    work = lambda rows=rows, a=(method, smoothing): experiments.batch_curve(rows(name), *a, passes)  # noqa: E731
                    job = curve_job(name, unit, smoothing, method)
                    self._add(job, name, passes * clock.pass_s(shape), work, passes=passes)

    def _add_table(self, name, clock):
        s, half = self.settings, self.sets[name].half
        n, d, m = half
        for method in (*METHODS, TUNED):
            fit_s = s.iterations * clock.pass_s((n, min(n, d), m)) if method in BATCH else clock.block_s(half)
            key = {"Cs": s.Cs, "iterations": s.iterations if method in BATCH else None}
            if method == TUNED:
                key["menu"] = list(self.menu(name))
            candidates = len(s.Cs) * (len(self.menu(name)) if method == TUNED else 1)
            self._add(choice_job(name, method), name, 2 * candidates * fit_s, lambda a=method: self._choose(name, a), **key)
            for number in range(s.trials):
                work = lambda a=(method, number): self._trial(name, *a)  # noqa: E731
                self._add(trial_job(name, method, number), name, fit_s, work, **key)

    def _choose(self, name, method):
        s, rows = self.settings, self.rows(name)
        if method != TUNED:
            return experiments.choose_C(rows, method, PAPER_LOSS, s.Cs, s.iterations)
        menu = self.menu(name).items()
        found = {loss: experiments.choose_C(rows, "block", value, s.Cs, s.iterations) for loss, value in menu}
        best = min(found, key=lambda loss: found[loss]["error"])
        return {**found[best], "loss": best}

    def _trial(self, name, method, number):
        chosen = self.jobs.result(choice_job(name, method))
        loss = MENU[chosen["loss"]] if method == TUNED else PAPER_LOSS
        solver = "block" if method == TUNED else method
        found = experiments.trial(self.rows(name), solver, loss, chosen["C"], number, self.settings.iterations)
        return {"errors": found}

    def _add_every_loss(self, name, clock):
        if name not in K_SETS:
            return
        s, fit_s = self.settings, clock.block_s(self.sets[name].half)
        fits = 2 * len(s.k_Cs) + 2 * s.k_trials
        key = {"Cs": s.k_Cs, "places": self.ks(name), "trials": s.k_trials}
        for k in self.ks(name):
            for loss, value in losses_for(k).items():
                work = lambda a=value: experiments.errors_by_place(  # noqa: E731
                    self.unit_rows(name), a, s.k_Cs, self.ks(name), s.k_trials
                )
                harder = 1 + k / 10 if "top-k" in loss else 1  # the more ranks share the loss, the more passes
                self._add(loss_job(name, loss, k), name, harder * fits * fit_s, work, **key)


# The names of the jobs.


def curve_job(name: str, unit: bool, smoothing: float, method: str) -> str:
    return f"{name}.{'unit' if unit else 'raw'}.convergence.{smoothing:g}.{method}"


def choice_job(name: str, method: str) -> str:
    return f"{name}.choice.{_slug(method)}"


def trial_job(name: str, method: str, number: int) -> str:
    return f"{name}.trial.{_slug(method)}.{number:02d}"


def loss_job(name: str, loss: str, k: int) -> str:
    return f"{name}.trained_for.{_slug(loss)}.{k}"


def _slug(words):
    return words.replace(",", "").replace(" ", "_")


class Clock:
    """How long things take here, from the speed of a matrix product; the constants are from two cores of a server."""

    def __init__(self):
        A, B = np.ones((2048, 2048), np.float32), np.ones((2048, 256), np.float32)
        taken_s = []
        for _ in range(8):
            start = time.perf_counter()
            A @ B
            taken_s.append(time.perf_counter() - start)
        self._flops = 2.0 * A.size * B.shape[1] / min(taken_s)

    def pass_s(self, shape: tuple[int, int, int]) -> float:
        n, d, m = shape
        return 3.0 * n * d * m / self._flops + 6e-9 * n * m + 2e-4

    def block_s(self, shape: tuple[int, int, int]) -> float:
        return 40 * self.pass_s(shape) + 5e-5 * shape[0]
