"""Who looks on while a model is fitted: the progress table, rows that are held out, and the caller's own callback."""

from __future__ import annotations

import sys

from . import _core
from ._features import checked, to_features
from ._weights import bare_classifier

_EVALUATED_KS = (1, 3, 5, 10)


class Observed:
    """The part of :class:`TopwolfClassifier` that is called after every pass."""

    def _evaluations(self, eval_set, watched):
        """Name: (features, class numbers, errors so far)."""
        evaluations = {}
        ks = [k for k in _EVALUATED_KS if k < len(self.classes_)]
        if not isinstance(eval_set, (list, type(None))) or any(len(pair) != 2 for pair in eval_set or []):
            raise ValueError("eval_set must be a list of pairs: eval_set=[(X, y)].")
        for number, (X, y) in enumerate(eval_set or []):
            X, y = checked(self, X, y, reset=False)
            errors = {f"top_{k}_error": [] for k in ks}
            evaluations[f"validation_{number}"] = (to_features(X, watched), self._class_numbers(y), errors)
        return evaluations

    def _observer(self, callback, evaluations, columns):
        """What is called after every pass, None if nobody looks, and the progress table, if there is one; `columns` have weights."""
        table = _core.ProgressTable(sys.stdout.write) if self.verbose else None
        if callback is None and table is None and not evaluations:
            return None, None

        def observe(record):
            if table is not None:
                table.observe(record)
            if evaluations:
                self._evaluate(evaluations, record.weights(), columns)
            return bool(callback(record)) if callback is not None else False

        return observe, table

    def _evaluate(self, evaluations, weights, columns):
        bias = float(self.intercept_scaling) if self.fit_intercept else 0.0
        predictor = _core.Predictor(bare_classifier(weights, columns, self.n_features_in_, bias), self._threads())
        for features, y, errors in evaluations.values():
            ks = [int(name.split("_")[1]) for name in errors]
            for values, error in zip(errors.values(), predictor.top_k_errors(features, y, ks, self._threads())):
                values.append(error)
