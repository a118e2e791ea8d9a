"""What a fitted classifier does: scores, predictions, errors, other classes, files. How it was fitted is not its business."""

from __future__ import annotations

import copy
import numbers
import os
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any, Literal, overload

import numpy as np
from numpy.typing import ArrayLike
from sklearn.utils.metaestimators import available_if
from sklearn.utils.validation import _check_sample_weight, check_is_fitted

from . import _core
from ._features import checked, to_features
from ._labels import check_text, comparable, row_mean, to_names
from ._on_disk import on_disk
from ._paths import file_name
from ._structure import check_class_features, costs_of
from ._weights import Certified, Ready, constant_at, from_attributes, rounding_of, seal, sealed, to_attributes, without_claim

if TYPE_CHECKING:
    from ._estimator import TopwolfClassifier

MatrixLike = Any  # array-like or sparse
Path = str | os.PathLike[str]


def _gives_probabilities(clf):
    """Before it is fitted, and after."""
    fitted = getattr(clf, "_classifier", None)
    if fitted is None:
        return getattr(clf, "loss", None) == "softmax"
    return fitted.get("temperature", 0.0) > 0.0


class FittedClassifier(Certified):
    """The half of :class:`TopwolfClassifier` that begins after `fit`: `_take` sets its attributes from a model."""

    def __sklearn_is_fitted__(self):
        return hasattr(self, "coef_")

    def __setstate__(self, state):
        super().__setstate__(state)
        if hasattr(self, "_ready") and self._ready.restored():
            seal(*self._trained())  # NumPy forgets it

    def decision_function(self, X: MatrixLike) -> np.ndarray:
        """Scores of the classes.

        Returns
        -------
        scores : ndarray of shape (n_samples, n_classes), (n_samples,) for two classes
            For two classes the score of ``classes_[1]`` less that of ``classes_[0]``.
        """
        fitted = self._snapshot()
        features = fitted._features(X)
        scores = fitted._predictor().scores(features, fitted._threads())
        return scores[:, 1] - scores[:, 0] if len(fitted.classes_) == 2 else scores

    def predict(self, X: MatrixLike) -> np.ndarray:
        """The class with the highest score for each row of X."""
        return self.predict_top_k(X, k=1)[:, 0]

    @available_if(_gives_probabilities)
    def predict_proba(self, X: MatrixLike) -> np.ndarray:
        """Probabilities of the classes, in the order of `classes_`: ``exp(scores / temperature_)``, over their sum.

        Of ``loss="softmax"``, and of any loss after `calibrate`.

        Returns
        -------
        probabilities : ndarray of shape (n_samples, n_classes)
        """
        fitted = self._snapshot()
        features = fitted._features(X)
        return fitted._predictor().probabilities(features, fitted._threads())

    @available_if(_gives_probabilities)
    def predict_log_proba(self, X: MatrixLike) -> np.ndarray:
        """Logarithms of `predict_proba`, to the last digit where that rounds to 0 or 1."""
        fitted = self._snapshot()
        features = fitted._features(X)
        scores = fitted._predictor().scores(features, fitted._threads())
        scores[np.isnan(scores)] = -np.inf  # as where classes are ranked
        top = scores.max(axis=1, keepdims=True)
        with np.errstate(invalid="ignore", over="ignore"):
            exponents = np.where(scores == top, 0.0, (scores - top) / fitted.temperature_)
        return exponents - np.log(np.exp(exponents).sum(axis=1, keepdims=True))

    def calibrate(self, X: MatrixLike, y: ArrayLike, sample_weight: ArrayLike | None = None) -> Any:
        """Fit the temperature of `predict_proba` to rows that were not trained on.

        One number is fitted, by the least log loss (temperature scaling), so that predictions stay what they were.
        Weights and certificate stay, too. Labels that are none of `classes_` are left out.

        Returns
        -------
        self
        """
        fitted = self._snapshot()
        features = fitted._features(X)
        labels = fitted._class_numbers(y)
        if sample_weight is not None:
            sample_weight = _check_sample_weight(sample_weight, labels, dtype=np.float64, ensure_non_negative=True)
        # The fit that was asked gets it, and not one that came meanwhile.
        fitted._set_temperature(fitted._predictor().calibrate(features, labels, sample_weight, fitted._threads()))
        return self

    @property
    def temperature_(self) -> float:
        """Of `predict_proba`."""
        check_is_fitted(self)
        if not _gives_probabilities(self):
            raise AttributeError("This classifier gives no probabilities: its loss is not softmax, and it was not calibrated.")
        return self._classifier["temperature"]

    def _set_temperature(self, temperature):
        self._classifier = {**self._classifier, "temperature": temperature}
        self._ready = Ready()

    @overload
    def predict_top_k(self, X: MatrixLike, k: int | None = None, return_scores: Literal[False] = False) -> np.ndarray: ...

    @overload
    def predict_top_k(self, X: MatrixLike, k: int | None = None, *, return_scores: Literal[True]) -> tuple[np.ndarray, np.ndarray]: ...

    @overload
    def predict_top_k(self, X: MatrixLike, k: int | None, return_scores: Literal[True]) -> tuple[np.ndarray, np.ndarray]: ...

    def predict_top_k(
        self, X: MatrixLike, k: int | None = None, return_scores: bool = False
    ) -> np.ndarray | tuple[np.ndarray, np.ndarray]:
        """The k best classes for each row of X, best first.

        Parameters
        ----------
        X : {array-like, sparse matrix} of shape (n_samples, n_features), or names of files
            As for :meth:`fit`; files and memory maps are read by windows, here and wherever predictions are made.
        k : int, default=None
            From 1 to the number of classes. None: `k_`.
        return_scores : bool, default=False

        Returns
        -------
        labels : ndarray of shape (n_samples, k)
        scores : ndarray of shape (n_samples, k)
            Only if `return_scores`.
        """
        fitted = self._snapshot()
        features = fitted._features(X)
        k = fitted._check_k(k)
        best, scores = fitted._predictor().top_k(features, k, fitted._threads())
        labels = fitted.classes_[best]
        return (labels, scores) if return_scores else labels

    def top_k_error(
        self, X: MatrixLike, y: ArrayLike, k: int | None = None, sample_weight: ArrayLike | None = None
    ) -> float:
        """The share of rows whose label is not among the k best classes; k as in `predict_top_k`."""
        labels = self.predict_top_k(X, k)
        y = comparable(y, self.classes_)
        return row_mean(lambda: ~np.any(labels == y[:, None], axis=1), len(labels), y, sample_weight)

    def mean_cost(
        self,
        X: MatrixLike,
        y: ArrayLike,
        sample_weight: ArrayLike | None = None,
        margins: MatrixLike | None = None,
        margin_default: float = 1.0,
    ) -> float:
        """The mean cost of `predict`: by `margins` where they are given, else by `cost_matrix`, else 1 for every error."""
        fitted = self._snapshot()
        chosen, own = fitted._class_numbers(fitted.predict(X)), fitted._class_numbers(y)
        return row_mean(
            lambda: costs_of(chosen, own, len(fitted.classes_), fitted.cost_matrix, margins, margin_default),
            len(chosen),
            own,
            sample_weight,
        )

    def with_classes(self, classes: ArrayLike, class_features: MatrixLike) -> TopwolfClassifier:
        """This classifier for other classes, which need not have been seen in fitting; it must have `class_features`.

        Parameters
        ----------
        classes : array-like of shape (n_classes,)
            Labels, each once.
        class_features : {array-like, sparse matrix} of shape (n_classes, n_class_features)
            A row for each of `classes`.

        Returns
        -------
        clf : TopwolfClassifier
            Its `classes_` are sorted. It has no certificate, no costs and no loss of its own: those are about the
            classes of the fit.
        """
        check_is_fitted(self)
        fitted = self._snapshot()
        if fitted._classifier["class_features"] is None:
            raise ValueError("Only a classifier that was fitted with class_features can score other classes.")
        labels, order = np.unique(np.asarray(classes), return_index=True)
        check_text(labels)
        phi = check_class_features(class_features, len(np.asarray(classes)))[order]  # indexing copies
        if len(labels) != len(np.asarray(classes)) or len(labels) < 2:
            raise ValueError("classes must hold at least two labels, each once.")
        if phi.shape[1] != len(fitted.class_coef_):
            raise ValueError(f"class_features has {phi.shape[1]} columns, but {len(fitted.class_coef_)} were fitted.")
        other = copy.copy(fitted)
        for name in (*self._CLAIM, "trace_", "solver_choice_", "evals_result_", "_dual"):
            vars(other).pop(name, None)
        other.set_params(loss="max_hinge", k=None, rho=None, smoothing=0.0, temperature=None, cost_matrix=None, class_features=phi)
        other.classes_, other.k_ = labels, 1
        classifier = {
            **fitted._classifier,
            "weights": np.asarray(phi @ fitted.class_coef_.astype(np.float64)),
            "class_names": [str(j) for j in range(len(labels))],
            "class_features": phi,
            "class_weights": fitted.class_coef_.astype(np.float64),
            "temperature": 0.0,  # its probabilities were those of other classes
        }
        no_loss = {"loss": "max-hinge", "title": "", "k": None, "rho": None, "smoothing": 0.0, "temperature": None, "cost_matrix": None}
        other._take(classifier, {**without_claim(fitted._provenance), **no_loss}, fitted.coef_.dtype)
        return other

    def report(self, X: MatrixLike, y: ArrayLike, path: Path, *, others: Sequence[Any] = (), labels: list[str] | None = None) -> None:
        """Write a page (HTML, which needs nothing else) on how good this classifier is on rows X with labels y.

        Errors at every k with intervals, classes, confusions, and the certificate; with `others` where they differ, and
        rows that one alone gets right, as ``topwolf compare`` writes it.

        Parameters
        ----------
        X, y : rows and labels
            Not those of the fit, of which the errors are too low.
        path : str or path-like
        others : sequence of fitted classifiers, default=()
            To be compared with: ours, or any with `decision_function` or `predict_proba` and a score a class.
        labels : list of str, default=None
            Names of this one and the others; None: their losses.
        """
        check_is_fitted(self)
        from ._report import report_page

        page = report_page([self._snapshot(), *others], X, y, labels, self._threads())
        with open(file_name(path), "w", encoding="utf-8") as file:
            file.write(page)

    def save(self, path: Path) -> None:
        """Write a model file that the command line and `load` read. A file that is read-only is refused."""
        _core.save_model(*self._snapshot()._named_model(), file_name(path))

    def to_liblinear(self, path: Path) -> None:
        """Write the weights as a model that ``liblinear-predict`` reads. The labels must be integers."""
        _core.save_liblinear(*self._snapshot()._named_model(), file_name(path))

    def to_onnx(self, path: Path | None = None) -> Any:
        """The classifier as an ONNX model; needs the package onnx.

        Input ``X`` of the type of `coef_`; outputs ``label`` and ``scores`` (n_samples, n_classes), also for two classes,
        and ``probabilities`` where there is `predict_proba`.
        Returns the model, and writes it to `path` where one is given.
        """
        check_is_fitted(self)
        from ._onnx import to_onnx

        return to_onnx(self._snapshot(), None if path is None else file_name(path))

    def _class_numbers(self, y):
        """-1 for a label that is none of the classes."""
        y = comparable(y, self.classes_)
        place = np.searchsorted(self.classes_, y).clip(0, len(self.classes_) - 1)
        return np.where(self.classes_[place] == y, place, -1).astype(np.int32)

    def _take(self, classifier, provenance, dtype):
        """The attributes from a model; what they do not say is kept for the model file."""
        with _core.IeeeArithmetic():
            regularised = constant_at(provenance.get("mean"), classifier)
            self._take_weights(classifier, dtype)
        self.n_iter_ = provenance["iterations"]
        self._provenance = provenance
        if "status" in provenance:
            primal = provenance["primal"]
            if classifier["class_features"] is None:  # otherwise it is about class_coef_, which nothing multiplies
                primal += rounding_of(self._constant, regularised, classifier["bias"], provenance["lambda"], provenance["rho"])
            self._claim(primal, provenance["dual"], provenance["status"])

    def _take_weights(self, classifier, dtype):
        """What it takes to predict."""
        weights, class_weights = classifier.pop("weights"), classifier.pop("class_weights")
        if classifier["class_features"] is not None:
            self.class_coef_ = class_weights.astype(dtype)
        else:
            vars(self).pop("class_coef_", None)
        self.coef_, self.intercept_, self._constant = to_attributes(
            weights, classifier["columns"], classifier["d"], classifier["bias"], dtype
        )
        seal(*self._trained())
        self._assigned = False  # by anybody else
        self._classifier = classifier
        self._ready = Ready()

    def _predictor(self):
        """Of the attributes as they are now."""
        return self._ready.predictor(self.coef_, self.intercept_, lambda: _core.Predictor(self._plain(), self._threads()))

    def _plain(self):
        """The fields of a classifier from the attributes as they are now: classes are numbers, and have no features."""
        with _core.IeeeArithmetic():
            weights, columns = from_attributes(self.coef_, self.intercept_, self._constant, self._classifier["bias"])
        return {**self._classifier, "weights": weights, "columns": columns, "class_features": None}

    def _trained(self):
        return self.coef_, self.intercept_, getattr(self, "class_coef_", self.intercept_), self.classes_

    def _named_model(self):
        """The classifier with its labels, and its provenance, for a file."""
        check_is_fitted(self)
        label_type, names = to_names(self.classes_)
        classifier = {**self._plain(), "label_type": label_type, "class_names": names}
        provenance = self._provenance
        if self._assigned or not sealed(*self._trained()):  # somebody else's weights have no certificate
            classifier["precision"] = "float64"
            provenance = without_claim(provenance)
        elif self._classifier["class_features"] is not None:
            classifier["class_features"] = to_features(self._classifier["class_features"])
            with _core.IeeeArithmetic():
                classifier["class_weights"] = self.class_coef_.astype(np.float64)
        return classifier, provenance

    def _features(self, X):
        check_is_fitted(self)
        return to_features(checked(self, on_disk(X), reset=False))

    def _check_k(self, k):
        k = self.k_ if k is None else k
        if not isinstance(k, numbers.Integral) or not 1 <= k <= len(self.classes_):
            raise ValueError(f"k is {k!r}, but it must be an integer from 1 to the number of classes, {len(self.classes_)}.")
        return int(k)
