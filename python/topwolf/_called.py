"""How a model was fitted, as the text that its file keeps: the call of the estimator, and what `load` reads from it."""

from __future__ import annotations

import ast
import inspect
from collections.abc import Mapping
from typing import Any

import numpy as np

# What says how to fit, and is no field of a model's own.
_KEPT = ("tol", "solver", "max_iter", "class_weight", "random_state")


def as_call(estimator) -> str:
    """``TopwolfClassifier(C=10, tol=0.01)``: what differs from the defaults, arrays and objects as ``...``."""
    defaults = inspect.signature(type(estimator).__init__).parameters
    changed = {name: value for name, value in estimator.get_params(deep=False).items() if not _same(value, defaults[name].default)}
    return f"{type(estimator).__name__}({', '.join(f'{name}={_literal(value)}' for name, value in changed.items())})"


def parameters_of(command: str) -> dict[str, Any]:
    """Those parameters that only the call knows; none where the command line or another program made the model."""
    try:
        call = ast.parse(command, mode="eval").body
    except (SyntaxError, ValueError):
        return {}
    if not isinstance(call, ast.Call):
        return {}
    found = {}
    for keyword in call.keywords:
        try:
            value = ast.literal_eval(keyword.value)
        except (ValueError, TypeError):
            continue
        if keyword.arg in _KEPT and value is not ...:
            found[keyword.arg] = value
    return found


def _same(value, default):
    try:
        return value is default or bool(value == default)
    except ValueError:  # an array
        return False


def _literal(value):
    if isinstance(value, np.generic):
        value = value.item()
    if isinstance(value, Mapping):
        parts = [(_literal(key), _literal(factor)) for key, factor in value.items()]
        return "..." if "..." in sum(parts, ()) else "{" + ", ".join(f"{key}: {factor}" for key, factor in parts) + "}"
    return repr(value) if value is None or isinstance(value, (bool, int, float, str)) else "..."
