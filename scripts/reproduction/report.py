"""One page of everything, as HTML, and the same tables as Markdown for docs/appendix/reproduction.md."""

from __future__ import annotations

import base64
import html
import itertools
import json
import re
from dataclasses import asdict
from datetime import date
from pathlib import Path

import experiments
import figures
import numpy as np
import tables
import topwolf
from arguments import ROOT
from jobs import write_whole
from paper import FIGURE_SETS
from plan import K_SETS, METHODS, SCALINGS, SMOOTHINGS, TUNED, Plan, curve_job

STYLE = """
body { font: 16px/1.5 system-ui, sans-serif; max-width: 75rem; margin: 2rem auto; padding: 0 1rem; color: #222 }
table { border-collapse: collapse; margin: 1rem 0; font-size: 0.85rem }
caption { text-align: left; font-weight: 600; padding: 0.3rem 0 }
th, td { border-bottom: 1px solid #ddd; padding: 0.25rem 0.6rem; text-align: left; vertical-align: top }
img { max-width: 100%; height: auto } .scroll { overflow-x: auto } code { background: #f3f3f3 }
.warning { background: #fff3cd; padding: 0.5rem 1rem }
"""


def write(plan: Plan, out: Path, quick: bool) -> Path:
    by_k = {name: tables.errors_by_k(plan, name) for name in K_SETS}
    pictures = _figures(plan, by_k, out / "figures")
    parts = {
        "The sets": [tables.sets(plan)],
        "Figure 1: convergence": [pictures["figure1_iterations"], pictures["figure1_seconds"]],
        "Figure 2: with smoothing 0.01": [pictures["figure2_iterations"], pictures["figure2_seconds"]],
        "The same with rows of unit length": [pictures[f"unit_figure{n}_{a}"] for n in (1, 2) for a in ("iterations", "seconds")],
        "How long it takes": [tables.time_to_solve(plan, unit) for unit in SCALINGS],
        "Table 1: errors": [tables.recognition(plan, name) for name in plan.sets],
        "The order of the methods": [tables.ordering(plan), tables.against_block(plan), tables.by_C(plan)],
        "Table 2: seconds per iteration": [tables.seconds_per_iteration(plan)],
        "Does training for top-k pay at k?": [pictures["error_against_k"], tables.does_k_pay(plan, by_k)],
    }
    found = [thing._asdict() for things in parts.values() for thing in things if isinstance(thing, tables.Table)]
    about = {"version": topwolf.__version__, "settings": asdict(plan.settings), "timed_on": tables.measured_on(plan)}
    write_whole(out / "results.json", json.dumps({**about, "tables": found}, indent=1))
    write_whole(out / "tables.md", "\n".join(_markdown(title, things) for title, things in parts.items()))
    page = out / "report.html"
    write_whole(page, _page(plan, quick, "".join(_html(title, things) for title, things in parts.items())))
    return page


def _figures(plan, by_k, folder):
    made = {}
    for unit, (number, smoothing) in itertools.product(SCALINGS, enumerate(SMOOTHINGS, 1)):
        curves = {name: _curves(plan, name, unit, smoothing) for name in FIGURE_SETS}
        loss = "weighted Usunier loss, C = 1" + (f", smoothing {smoothing:g}" if smoothing else "")
        for against in ("iterations", "seconds"):
            key = f"{'unit_' if unit else ''}figure{number}_{against}"
            title = f"Objective error and duality gap against {against}: {loss}. {tables.scaling(unit)}"
            made[key] = figures.convergence(folder, key, title, curves, plan.sets, against)
    title = "Errors at k' (grey line) of classifiers trained for k"
    made["error_against_k"] = figures.error_against_k(folder, "error_against_k", title, by_k, plan.sets)
    return made


def _curves(plan, name, unit, smoothing):
    curves = {method: plan.jobs.result(curve_job(name, unit, smoothing, method)) for method in METHODS}
    optimum = curves["block"]["optimum"]
    return {method: _above(optimum, curve) for method, curve in curves.items()}


def _above(optimum, curve):
    """Up to where the gap is that of the optimum itself: below it there is nothing to be seen."""
    primal, gap = np.array(curve["primal"]), np.subtract(curve["primal"], curve["dual"])
    end = int(np.argmax(gap <= max(experiments.OPTIMUM_GAP, optimum["primal"] - optimum["dual"]))) or len(gap)
    against = {"iterations": curve["iteration"][:end], "seconds": curve["seconds"][:end]}
    return {**against, "error": (primal - optimum["primal"])[:end], "gap": gap[:end]}


def _page(plan, quick, body):
    few = "A quick run on few rows: it shows that everything works, and nothing else."
    return f"""<!doctype html>
<html lang="en"><meta charset="utf-8"><meta name="viewport" content="width=device-width">
<title>The paper, reproduced</title><style>{STYLE}</style>
<h1>The paper, reproduced</h1>
<p>"Frank-Wolfe algorithm for learning SVM-type multi-category classifiers", by topwolf {topwolf.__version__}, {date.today()}.
Timed on {html.escape(" and ".join(tables.measured_on(plan)))}.</p>
{f'<p class="warning">{few}</p>' if quick else ""}
{_settings(plan)}
{body}
<h2>Errata of the paper</h2>
{_errata()}
</html>
"""


def _settings(plan):
    s = plan.settings
    return f"""<p>Weighted Usunier loss with rho_j = max(0, 6 - j) / 15. Rows are as they are, with a constant feature, unless it says that they
have unit length. Block works in double, the others in single precision.</p>
<p>Figures: lambda = 1/n (C = 1), {s.iterations:,} passes; the optimum is block's at a gap of
{experiments.OPTIMUM_GAP:g}, or what the rounding of double allows: at most {tables.gap_of_optima(plan):.2g}.</p>
<p>Table 1: {s.trials} random halves. C is one of {", ".join(f"{C:g}" for C in s.Cs)} (lambda = 1 / (C n)), chosen once per solver
and set by {experiments.FOLDS} folds of the first training half, by the mean of the four errors. PG, StdFW and LSFW are taken at
iterate {s.iterations:,}, block at its own tolerance (a certified relative gap of {topwolf.TopwolfClassifier().tol:g}).
<b>Bold</b>: the best of these four. <ins>Underlined</ins>: not told apart from it by a paired t-test at {tables.SIGNIFICANT:g}.
"{TUNED}" chooses its loss by the same folds, and is not among those compared.</p>
<p>The paired test takes the halves for independent; they overlap. Where two p are given, the second is of Nadeau and Bengio's
corrected test. There are many tests: one in twenty is below 0.05 by chance.</p>
<p>Losses for top-k: the weighted ones have weights falling as k, k - 1, ..., 1; the structured hinge has costs of 0.5 to 1.5
that grow with the distance of the class means.</p>"""


def _errata():
    """As the ledger has them."""
    text = (ROOT / "docs" / "reference" / "ledger.md").read_text().split("## Errata", 1)[1].split("\n## ")[0]
    items = re.split(r"^\d+\. ", text, flags=re.MULTILINE)[1:]
    return "<ol>" + "".join(f"<li>{_inline(item.strip())}</li>" for item in items) + "</ol>"


def _inline(markdown):
    text = html.escape(markdown)
    text = re.sub(r"`([^`]*)`", r"<code>\1</code>", text)
    return re.sub(r"\*\*([^*]*)\*\*", r"<b>\1</b>", text)


def _html(title, things):
    out = [f"<h2>{html.escape(title)}</h2>"]
    for thing in things:
        if isinstance(thing, Path):
            data = base64.b64encode(thing.read_bytes()).decode()
            out.append(f'<p><img alt="{html.escape(thing.stem)}" src="data:image/png;base64,{data}"></p>')
            continue
        head = "".join(f"<th>{cell}</th>" for cell in thing.header)
        rows = "".join("<tr>" + "".join(f"<td>{cell}</td>" for cell in row) + "</tr>" for row in thing.rows)
        caption = html.escape(thing.caption)
        out.append(f'<div class="scroll"><table><caption>{caption}</caption><tr>{head}</tr>{rows}</table></div>')
    return "\n".join(out)


def _markdown(title, things):
    out = [f"## {title}", ""]
    for thing in things:
        if isinstance(thing, Path):
            out += [f"![{thing.stem}](reproduction/{thing.name})", ""]
            continue
        lines = ["| " + " | ".join(cells) + " |" for cells in (thing.header, ["---"] * len(thing.header), *thing.rows)]
        out += [thing.caption, "", *lines, ""]
    return "\n".join(out)
