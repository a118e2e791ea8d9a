"""Who looks on while a model is fitted: the progress table, rows that are held out, and the caller's own callback."""

from __future__ import annotations

import sys
from collections.abc import Callable
from typing import Any, TypeVar

from sklearn.base import _fit_context

from . import _core
from ._features import checked, to_features
from ._labels import Numbered
from ._on_disk import on_disk
from ._weights import antisymmetric, bare_classifier

try:
    from sklearn.callback import CallbackSupportMixin, with_callbacks

    FRAMES = 2  # of decorators, between a fit and who calls it
except ImportError:  # before scikit-learn 1.9

    class CallbackSupportMixin:  # type: ignore[no-redef]
        """Nothing: there are no callbacks to support."""

    def with_callbacks(method):
        return method

    FRAMES = 1

_EVALUATED_KS = (1, 3, 5, 10)


Method = TypeVar("Method", bound=Callable[..., Any])


def fitting(method: Method) -> Method:
    """A `fit` whose parameters scikit-learn checks, and around which its callbacks are set up and taken down."""
    return with_callbacks(_fit_context(prefer_skip_nested_validation=True)(method))


class Observed:
    """The part of :class:`TopwolfClassifier` that is called after every pass."""

    def _evaluations(self, eval_set, watched):
        """Name: (features, class numbers, errors so far)."""
        evaluations = {}
        ks = [k for k in _EVALUATED_KS if k < len(self.classes_)]
        if not isinstance(eval_set, (list, type(None))) or any(len(pair) != 2 for pair in eval_set or []):
            raise ValueError("eval_set must be a list of pairs: eval_set=[(X, y)].")
        for number, (X, y) in enumerate(eval_set or []):
            X, y = checked(self, on_disk(X), y, reset=False)
            errors = {f"top_{k}_error": [] for k in ks}
            evaluations[f"validation_{number}"] = (to_features(X, watched), self._class_numbers(y), errors)
        return evaluations

    def _with_set_callbacks(self, callback, X, y):
        """The caller's callback and those of `set_callbacks`, for which a pass is a task within the fit."""
        if not hasattr(self, "_init_callback_context"):
            return callback
        context = self._init_callback_context(max_subtasks=None)
        if not context._callbacks:
            return callback
        if isinstance(y, Numbered):  # of batches
            y = y.classes[y.numbers]
        return _SetCallbacks(self, context, X, y, callback)

    @staticmethod
    def _own_callback(callback):
        """Which wants to see the classifier of every pass."""
        return callback if isinstance(callback, _SetCallbacks) else None

    def _at(self, weights, columns, dtype):
        """The attributes of a fit that had ended with these weights; no certificate is known of them."""
        if len(weights) == 2:
            weights = antisymmetric(weights, dtype)
        fitted = self._blank()
        fitted.classes_, fitted.n_features_in_, fitted.k_ = self.classes_, self.n_features_in_, 1
        bias = float(self.intercept_scaling) if self.fit_intercept else 0.0
        temperature = float(self._used("temperature") or 1.0) if self.loss == "softmax" else 0.0
        fitted._take_weights(bare_classifier(weights, columns, self.n_features_in_, bias, temperature), dtype)
        return fitted._found()

    def _observer(self, callback, evaluations, columns, dtype=None):
        """What is called after every pass, None if nobody looks, and the progress table, if there is one; `columns` have weights."""
        table = _core.ProgressTable(sys.stdout.write, float(self.tol)) if self.verbose else None
        if callback is None and table is None and not evaluations:
            return None, None
        own = self._own_callback(callback)

        def observe(record):
            if table is not None:
                table.observe(record)
            if evaluations:
                self._evaluate(evaluations, record.weights(), columns)
            if own is not None:
                return own(record, lambda: self._at(record.weights(), columns, dtype))
            return bool(callback(record)) if callback is not None else False

        return observe, table

    def _evaluate(self, evaluations, weights, columns):
        bias = float(self.intercept_scaling) if self.fit_intercept else 0.0
        predictor = _core.Predictor(bare_classifier(weights, columns, self.n_features_in_, bias), self._threads())
        for features, y, errors in evaluations.values():
            ks = [int(name.split("_")[1]) for name in errors]
            for values, error in zip(errors.values(), predictor.top_k_errors(features, y, ks, self._threads())):
                values.append(error)


class _SetCallbacks:
    """Those of `set_callbacks`, and the caller's own after them."""

    def __init__(self, estimator, context, X, y, callback):
        self._estimator, self._context, self._callback = estimator, context, callback
        self._rows = {"X": X, "y": y}
        context.call_on_fit_task_begin(estimator=estimator, **self._rows)

    def __call__(self, record, attributes):
        task = self._context.subcontext(task_name="pass")
        task.call_on_fit_task_begin(estimator=self._estimator, **self._rows)
        stop = task.call_on_fit_task_end(estimator=self._estimator, **self._rows, reconstruction_attributes=attributes)
        return bool(stop) | (bool(self._callback(record)) if self._callback is not None else False)

    def finish(self, attributes):
        self._context.call_on_fit_task_end(estimator=self._estimator, **self._rows, reconstruction_attributes=attributes)
