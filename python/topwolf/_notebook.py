"""What a notebook shows of a fitted classifier beside its parameters: the certificate as a sentence, and how it was come by."""

from __future__ import annotations

import html
import math

_WIDTH, _HEIGHT = 260.0, 90.0


def with_certificate(page: str, clf) -> str:
    """scikit-learn's page with the certificate above it, where there is one."""
    if not hasattr(clf, "relative_gap_"):
        return page
    return f"<div style=\"font-family: sans-serif\"><p>{html.escape(sentence(clf))}</p>{_curve(clf)}</div>{page}"


def sentence(clf) -> str:
    """``converged after 12 passes: at most 0.07 % above the optimum (primal 0.4, dual 0.3997)``, rounded upwards."""
    passes = f"{clf.n_iter_} pass{'es' if clf.n_iter_ != 1 else ''}"
    how = {
        "converged": f"Converged after {passes}",
        "stalled": f"Came no closer after {passes}, for rounding allows no more",
        "interrupted": f"Interrupted after {passes}",
        "time_limit": f"Stopped at the time limit after {passes}",
        "iteration_limit": f"Stopped at the limit of {passes}",
    }[clf.status_]
    return f"{how}: {clf.certificate_} (primal {clf.primal_:.6g}, dual {clf.dual_:.6g})."


def claim(clf, asked: bool) -> str:
    """What is proven, rounded upwards, and, of a loss whose oracle was asked, what that presupposes."""
    excess = f"{_rounded_up(100 * clf.dual_gap_ / clf.dual_)} %" if clf.dual_ > 0 else _rounded_up(clf.dual_gap_)
    return f"at most {excess} above the optimum" + (", if the oracle is right" if asked else "")


def _rounded_up(value):
    if not value > 0:
        return "0"
    unit = 10.0 ** (math.floor(math.log10(value)) - 1)
    return f"{math.ceil(value / unit * (1 - 1e-12)) * unit:.6g}"


def _curve(clf):
    """The relative gap against passes, on a log scale."""
    trace = getattr(clf, "trace_", None)
    points = [(x, math.log10(y)) for x, y in zip(trace["iteration"], trace["relative_gap"]) if y > 0] if trace else []
    if len(points) < 2:
        return ""
    (left, right), (low, high) = ((min(column), max(column)) for column in zip(*points))
    place = [
        f"{8 + (_WIDTH - 16) * (x - left) / (right - left or 1):.1f},{8 + (_HEIGHT - 24) * (high - y) / (high - low or 1):.1f}"
        for x, y in points
    ]
    caption = f"relative gap, {10**high:.0e} to {10**low:.0e}, against {int(right)} passes"
    return (
        f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {_WIDTH:g} {_HEIGHT:g}" width="{_WIDTH:g}" role="img" aria-label="{caption}">'
        f'<polyline fill="none" stroke="#0072b2" stroke-width="2" points="{" ".join(place)}"/>'
        f'<text x="8" y="{_HEIGHT - 4:g}" font-size="11" fill="currentColor">{caption}</text></svg>'
    )
