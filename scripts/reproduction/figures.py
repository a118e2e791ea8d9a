"""The pictures, each as PNG and SVG."""

from __future__ import annotations

from pathlib import Path
from textwrap import fill

import matplotlib

matplotlib.use("Agg")
import matplotlib.pyplot as plt
from matplotlib.ticker import NullFormatter
from sets import About
from tables import ByLoss

COLOURS = {"PG": "#7f7f7f", "StdFW": "#1f77b4", "LSFW": "#d62728", "block": "#2ca02c"}
HINGES = {"max hinge": "black", "structured hinge": "#9467bd"}  # which know no k


def convergence(folder: Path, name: str, title: str, curves: dict, sets: dict[str, About], against: str) -> Path:
    """A column per set: objective error above, duality gap below. curves[set][method] has `against`, "error" and "gap"."""
    figure, axes = plt.subplots(2, len(curves), figsize=(3.3 * len(curves), 6.4), squeeze=False, sharex="col")
    for column, (key, methods) in enumerate(curves.items()):
        for axis, quantity in zip(axes[:, column], ("error", "gap")):
            for method, curve in methods.items():
                axis.plot(curve[against], curve[quantity], label=method, color=COLOURS[method], linewidth=1.3)
            axis.set(xscale="log", yscale="log")
            axis.xaxis.set_minor_formatter(NullFormatter())  # over less than two decades they would run into each other
            axis.grid(alpha=0.3)
        axes[0, column].set_title(_label(sets[key]), fontsize=8)
        axes[1, column].set_xlabel(against)
    axes[0, 0].set_ylabel("objective error")
    axes[1, 0].set_ylabel("duality gap")
    axes[0, 0].legend(fontsize=8)
    figure.suptitle(title)
    return _save(figure, folder, name)


def error_against_k(folder: Path, name: str, title: str, found: dict[str, ByLoss], sets: dict[str, About]) -> Path:
    """A row per set, a column per k'."""
    columns = max(len(by_loss.places) for by_loss in found.values())
    figure, axes = plt.subplots(len(found), columns, figsize=(2.7 * columns, 3.0 * len(found)), squeeze=False)
    for row, (key, by_loss) in enumerate(found.items()):
        for column, axis in enumerate(axes[row]):
            if column < len(by_loss.places):
                _panel(axis, by_loss, column)
            else:
                axis.set_axis_off()
        axes[row, 0].set_ylabel(_label(sets[key]), fontsize=8)
    axes[0, 0].legend(fontsize=6)
    figure.suptitle(title)
    return _save(figure, folder, name)


def _panel(axis, by_loss, column):
    for loss, by_k in by_loss.errors.items():
        means = [100 * errors[:, column].mean() for errors in by_k.values()]
        if loss in HINGES:
            axis.axhline(means[0], linestyle="--", linewidth=1, color=HINGES[loss], label=loss)
        else:
            axis.plot(list(by_k), means, marker="o", markersize=3, linewidth=1.2, label=loss)
    place = by_loss.places[column]
    axis.axvline(place, color="black", linewidth=0.6, alpha=0.4)
    axis.set_xscale("log")
    axis.set_xticks(by_loss.places, [str(k) for k in by_loss.places])
    axis.minorticks_off()
    axis.grid(alpha=0.3)
    axis.set_title(f"top-{place} error, %", fontsize=9)
    axis.set_xlabel("k trained for", fontsize=8)


def _label(about):
    return f"{about.title}\n{fill(about.label, 34)}"


def _save(figure, folder, name):
    figure.tight_layout()
    folder.mkdir(parents=True, exist_ok=True)
    for kind in ("svg", "png"):
        figure.savefig(folder / f"{name}.{kind}", dpi=110)
    plt.close(figure)
    return folder / f"{name}.png"
