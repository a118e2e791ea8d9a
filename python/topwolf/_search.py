"""The classifier that chooses its C by cross-validation. The search is the extension's; no fit is made from here."""

from __future__ import annotations

import numbers
import sys
import warnings
from collections.abc import Callable, Iterable, Mapping
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import ArrayLike
from sklearn.exceptions import ConvergenceWarning
from sklearn.metrics import check_scoring, get_scorer_names
from sklearn.model_selection import check_cv
from sklearn.utils._param_validation import HasMethods, Interval, StrOptions
from sklearn.utils.validation import check_array, check_consistent_length, column_or_1d

from . import _core
from ._estimator import TopwolfClassifier
from ._features import to_features, with_own_indices, working_dtype
from ._fitted import MatrixLike
from ._observers import FRAMES, fitting
from ._oracle import Loss, asked, by_oracle
from ._weights import antisymmetric, bare_classifier

if TYPE_CHECKING:
    from typing_extensions import Self


def _metric_of(scoring):
    """What the extension minimises; None where a scorer of scikit-learn's judges."""
    if scoring is None or scoring == "accuracy":
        return "top1"
    if not isinstance(scoring, str) or scoring in get_scorer_names():
        return None
    try:
        _core.metric_has_costs(scoring)
    except ValueError as error:
        raise ValueError(f"{error}, or the name of one of scikit-learn's scorers.") from None
    return scoring


def grid_of(Cs):
    """The values of C that `Cs` stands for, ascending."""
    if isinstance(Cs, numbers.Integral):
        return np.logspace(-2, 2, Cs) if Cs > 1 else np.ones(1)
    try:
        grid = np.unique(check_array(Cs, ensure_2d=False, dtype=np.float64, input_name="Cs").ravel())
    except OverflowError:  # an integer that no double holds
        raise ValueError("Cs must hold numbers that are finite in double precision.") from None
    if not (grid > 0).all():
        raise ValueError("Cs must hold numbers above 0.")
    return grid


def _mean_of(values, made):
    """Of each row, over the folds that had a fit; NaN where none had."""
    sums = np.where(made, values, 0.0).sum(axis=1)
    return np.divide(sums, made.sum(axis=1), out=np.full(len(values), np.nan), where=made.any(axis=1))


def _row_numbers(part, n):
    """Of one part of a fold, which is row numbers, or a mask over the n rows as scikit-learn takes it too."""
    part = np.asarray(part)
    if part.dtype.kind == "b":
        if part.shape != (n,):
            raise ValueError(f"cv has a mask of shape {part.shape}, but {n} rows need ({n},).")
        return np.flatnonzero(part)
    if part.dtype.kind not in "iu" and part.size > 0:
        raise ValueError(f"cv must give row numbers or masks, not {part.dtype}.")
    return part.astype(np.int64)


class TopwolfClassifierCV(TopwolfClassifier):
    """:class:`TopwolfClassifier` with C, and if asked the loss and its k, chosen by cross-validation.

    All folds of the smallest C come first, then those of the next, each fit starting from the one before it in its
    fold; fits run side by side and share the rows, and the Gram matrix where there is one. Every fit is certified to
    `tol`. A C whose errors on some folds already add up to more than those of another on all folds is not tried on the
    rest, unless a larger C starts from there; the choice is the same.

    ``loss="auto"`` tries ``max_hinge``, ``weighted_usunier``, ``softmax``, and ``usunier`` and ``top_k`` with 2 and 4
    times the k of `scoring`, in a race: everything on the first fold, and after each fold the better half of what is
    left. That takes three to five times as long as ``max_hinge``; `time_limit` ends it sooner, with the best so far.

    When `time_limit` or Ctrl-C ends the search, the best C so far is fitted to all rows, with a
    :class:`~sklearn.exceptions.ConvergenceWarning`: the limit keeps time for that, and a second Ctrl-C abandons it with
    KeyboardInterrupt. Before a fit is finished there is nothing to choose: TimeoutError, or KeyboardInterrupt.

    Parameters
    ----------
    Cs : int or array-like of shape (n_cs,), default=9
        The values of C, or how many, log-spaced from 0.01 to 100.
    cv : int, cross-validation generator or iterable, default=5
        As for :class:`~sklearn.model_selection.GridSearchCV`: an integer stands for that many stratified folds. One fold, as
        of a :class:`~sklearn.model_selection.PredefinedSplit`, will do. Splitters that keep groups together are told
        `groups` of :meth:`fit`.
    scoring : str, callable or None, default=None
        What is to be high on the held-out rows: None is the accuracy, "top5" (or any other number) the share of rows
        whose class is among the five best, "cost" minus the mean cost by `margins` or `cost_matrix`, and
        "0.7*top1+0.3*top5" a mix, whose weights are scaled to add up to 1 (names without one weigh 1); all weighted by
        `sample_weight` and `class_weight`. Others are scikit-learn's scorers, by name or as callables, which do not see
        weights.
    choose : {"best", "one_se"}, default="best"
        The best mean score, or the smallest C whose mean is within one standard error of it.
    refit : bool, default=True
        Fit to all rows with the best C. Without it there is nothing to predict with, nor anything left of an earlier fit.
    loss : str or Loss, default="max_hinge"
        As for :class:`TopwolfClassifier`, or "auto", which chooses it, with `k`; then `k`, `rho`, `smoothing` and
        `temperature` are not given. Scorers of scikit-learn's say no k: 1 is taken.
    k, rho, cost_matrix, class_features, smoothing, temperature, tol, solver, max_iter, time_limit, fit_intercept, intercept_scaling, \
center, class_weight, n_jobs, device, random_state, verbose
        As for :class:`TopwolfClassifier`; `time_limit` is for the search and the fit to all rows together. With `center`
        the folds share the mean of all rows, for which no label is looked at.

    Attributes
    ----------
    loss_ : str
        That of `C_`: `loss`, or what "auto" chose.
    C_ : float
        The best C of those that were tried on all folds (of equals the smallest), or by one standard error. Where none
        was, of those that were tried on the most. A :class:`UserWarning` where the best is the first or last of several.
    Cs_ : ndarray of shape (n_cs,)
        The values of C, ascending.
    scores_ : ndarray of shape (n_points, n_splits)
        The score of every C on every fold; NaN where it was not tried. A point is a value of C, or with "auto" a loss
        at one: loss by loss, C ascending.
    best_score_ : float
        The mean score of `C_`, which is ``cv_results_["param_C"][best_index_]``.
    cv_results_ : dict of ndarrays
        As GridSearchCV's: "param_C", "param_loss", "param_k", "mean_test_score", "std_test_score", "rank_test_score",
        "split<i>_test_score", "mean_fit_time"; besides, "relative_gap" (n_points, n_splits) and "n_iter" (n_points,
        n_splits). Means are over the folds that were tried (of a race that was ended, over its complete rounds), and
        ranks those of the points that could be chosen; the others come after them.
    status_ : {"converged", "iteration_limit", "time_limit", "stalled", "interrupted"}
        "time_limit" or "interrupted" where the search was ended before everything was tried; otherwise of the fit to
        all rows.
    trace_ : dict of ndarrays
        The end of the fit to all rows: one entry.
    coef_, intercept_, classes_, n_iter_, k_, primal_, dual_, dual_gap_, relative_gap_, n_features_in_
        Of the fit to all rows, as for :class:`TopwolfClassifier`.

    Examples
    --------
    >>> from sklearn.datasets import load_iris
    >>> from topwolf import TopwolfClassifierCV
    >>> X, y = load_iris(return_X_y=True)
    >>> clf = TopwolfClassifierCV([0.1, 1, 10]).fit(X, y)
    >>> clf.scores_.shape
    (3, 5)
    """

    _parameter_constraints = {
        **{key: value for key, value in TopwolfClassifier._parameter_constraints.items() if key not in ("C", "warm_start")},
        "Cs": [Interval(numbers.Integral, 1, None, closed="left"), "array-like"],
        "loss": [StrOptions({*_core.LOSSES, "auto"}), HasMethods(["vertex", "value"])],
        "cv": ["cv_object"],
        "scoring": [str, callable, None],
        "choose": [StrOptions({"best", "one_se"})],
        "refit": ["boolean"],
    }

    def __init__(
        self,
        Cs: int | ArrayLike = 9,
        *,
        cv: int | Iterable | Any = 5,
        scoring: str | Callable | None = None,
        choose: str = "best",
        refit: bool = True,
        loss: str | Loss = "max_hinge",
        k: int | None = None,
        rho: ArrayLike | None = None,
        cost_matrix: ArrayLike | None = None,
        class_features: MatrixLike | None = None,
        smoothing: float = 0.0,
        temperature: float | None = None,
        tol: float = 1e-3,
        solver: str = "auto",
        max_iter: int = 100_000,
        time_limit: float | None = None,
        fit_intercept: bool = True,
        intercept_scaling: float = 1.0,
        center: bool = False,
        class_weight: Mapping[Any, float] | str | None = None,
        n_jobs: int | None = None,
        device: str = "cpu",
        random_state: int | np.random.RandomState | None = None,
        verbose: int = 0,
    ) -> None:
        self.Cs = Cs
        self.cv = cv
        self.scoring = scoring
        self.choose = choose
        self.refit = refit
        self.loss = loss
        self.k = k
        self.rho = rho
        self.cost_matrix = cost_matrix
        self.class_features = class_features
        self.smoothing = smoothing
        self.temperature = temperature
        self.tol = tol
        self.solver = solver
        self.max_iter = max_iter
        self.time_limit = time_limit
        self.fit_intercept = fit_intercept
        self.intercept_scaling = intercept_scaling
        self.center = center
        self.class_weight = class_weight
        self.n_jobs = n_jobs
        self.device = device
        self.random_state = random_state
        self.verbose = verbose

    # What the classifier would ask its own parameters for.
    C = property(lambda self: getattr(self, "C_", 1.0))
    warm_start = False
    memory = None

    @property
    def fit_iter(self) -> Any:  # type: ignore[override]
        """There is none: folds need their rows in memory."""
        raise AttributeError("TopwolfClassifierCV has no fit_iter: its folds need the rows in memory. TopwolfClassifier has one.")

    @fitting
    def fit(
        self,
        X: MatrixLike,
        y: ArrayLike,
        sample_weight: ArrayLike | None = None,
        margins: MatrixLike | None = None,
        margin_default: float = 1.0,
        groups: ArrayLike | None = None,
    ) -> Self:
        """Choose C on folds of X and y, and fit to all rows with it.

        Parameters
        ----------
        X, y, sample_weight, margins, margin_default
            As for :meth:`TopwolfClassifier.fit`. A row of weight 0 counts neither in training nor in a score.
        groups : array-like of shape (n_samples,), default=None
            For a `cv` that keeps groups of rows together, such as :class:`~sklearn.model_selection.GroupKFold`. Within
            other meta-estimators ``set_fit_request(groups=True)`` asks for them.

        Returns
        -------
        self
        """
        callbacks = self._with_set_callbacks(None, X, y)
        fitted = self._blank()
        with _core.IeeeArithmetic():
            result = fitted._search(X, y, sample_weight, margins, margin_default, groups)
        self._become(fitted)
        if callbacks is not None:
            callbacks.finish(self._found())
        fitted._warn_of_search(result)
        if result["error"] is not None and result["ended"] is None:
            raise result["error"]  # Ctrl-C when there was nothing left to be ended
        return self

    def _search(self, X, y, sample_weight, margins, margin_default, groups=None, page_of=""):
        """Of a blank estimator; returns what the search did, with a page about the call `page_of` where there is one."""
        X, y, weights = self._rows(X, y, sample_weight)
        grid = grid_of(self.Cs)
        folds = [tuple(_row_numbers(part, len(y)) for part in pair) for pair in self._splits(X, y, groups)]
        if not folds:
            raise ValueError("cv gives no fold.")
        options = self._search_options(len(y), margins, margin_default)
        judge, metric = None, _metric_of(self.scoring)
        if metric is None:
            X = with_own_indices(X)  # a scorer is code of the caller's
            judge = self._judge(X, y, folds)
        features = to_features(X)
        result = _core.cross_validate(
            features,
            y,
            len(self.classes_),
            options,
            weights,
            grid,
            folds,
            metric or "top1",
            self.choose == "one_se",
            judge,
            self.refit,
            self._narrator(),
            page_of,
        )
        if result["error"] is not None and result["given_up"]:
            raise result["error"]
        if result["fits"] == 0:
            raise TimeoutError(f"time_limit={self.time_limit} s passed before a fit was finished: there is nothing to choose from.")
        self._take_scores(result, grid, negative=metric is None or _core.metric_has_costs(metric))
        if self.refit:
            chosen = {"loss": asked(self.loss_), "k": result["k"][self.best_index_], "C": self.C_}
            self._take_refit(result, features, working_dtype(X), y, {**options, **chosen}, weights)
        if not result["complete"]:
            self.status_ = result["ended"]
        return result

    def _search_options(self, n, margins, margin_default):
        options = self._options(n, margins, margin_default)
        options |= {"keep_dual": False, "start": None, "any_loss": self.loss == "auto"}
        if self.loss != "auto":
            return options
        given = [name for name, value in (("k", self.k), ("rho", self.rho), ("temperature", self.temperature)) if value is not None]
        given += ["smoothing"] if self.smoothing else []
        if given:
            raise ValueError(f"loss='auto' chooses the loss with its parameters, and takes no {given[0]}.")
        return {**options, "loss": "max_hinge"}

    def _take_refit(self, result, features, dtype, y, options, weights):
        self._take_result(result["refitted"], features, dtype, y, options, weights)
        self.evals_result_ = {}
        self._dual = None
        # Of the fit to all rows, which nobody looked at, the end is known.
        end = {"iteration": self.n_iter_, "seconds": result["refitted"]["seconds"], "primal": self.primal_}
        end |= {"dual": self.dual_, "relative_gap": self.relative_gap_}
        self.trace_ = {name: np.array([value]) for name, value in end.items()}

    def _warn_of_search(self, result):
        if result["at_edge"]:
            best = result["C"][result["best"]]
            warnings.warn(f"The best C, {best:g}, is an end of Cs; try values beyond it.", UserWarning, stacklevel=3 + FRAMES)
        if result["complete"] and result["ended"] != "interrupted":
            if self.refit:
                self._warn_unless_converged(stacklevel=4 + FRAMES)
            return
        cause = "Ctrl-C" if result["ended"] == "interrupted" else f"time_limit={self.time_limit} s"
        if result["complete"]:
            sentence = f"{cause} ended the fit to all rows at a relative gap of {self.relative_gap_:.2g}, above tol={self.tol:g}."
        else:
            competes = np.array(result["competes"])
            tried = (self.cv_results_["n_iter"] > 0).sum(axis=1)[competes].min()  # on how many folds
            chosen = f"loss_='{self.loss_}', C_={self.C_:g}" if self.loss == "auto" else f"C_={self.C_:g}"
            sentence = (
                f"{cause} ended the search after {result['fits']} of {result['wanted']} fits. {chosen} is the best of those "
                f"that were tried on {tried} of {self.scores_.shape[1]} folds, {competes.sum()} of {len(competes)}."
            )
            if self.refit and self.relative_gap_ > self.tol:
                sentence += f" The fit to all rows ended at a relative gap of {self.relative_gap_:.2g}, above tol={self.tol:g}."
        warnings.warn(sentence, ConvergenceWarning, stacklevel=3 + FRAMES)  # past fit and its decorator

    def _splits(self, X, y, groups):
        if groups is not None:
            groups = column_or_1d(groups)
            check_consistent_length(y, groups)
        # What a splitter is told of X is how many rows there are.
        return check_cv(self.cv, y, classifier=True).split(np.zeros((len(y), 1)), y, groups)

    def _judge(self, X, y, folds):
        """Minus the score of weights (m x D) on a fold."""
        scorer = check_scoring(TopwolfClassifier(), scoring=self.scoring)
        labels = self.classes_[y]
        m, dtype = len(self.classes_), working_dtype(X)
        columns = _core.kept_columns(to_features(X), m)
        bias = float(self.intercept_scaling) if self.fit_intercept else 0.0

        def judge(fold, weights, temperature):
            weights = weights.reshape(m, -1)
            if m == 2:
                weights = antisymmetric(weights, dtype)
            fitted = TopwolfClassifier(cost_matrix=self.cost_matrix, fit_intercept=self.fit_intercept, n_jobs=1)
            fitted.classes_, fitted.n_features_in_, fitted.k_ = self.classes_, self.n_features_in_, 1
            fitted._take_weights(bare_classifier(weights, columns, self.n_features_in_, bias, temperature), dtype)
            held_out = folds[fold][1]
            return -float(scorer(fitted, X[held_out], labels[held_out]))

        return judge

    def _narrator(self):
        if not self.verbose:
            return None

        def narrate(finished, total, seconds, left):
            rest = "" if left is None else f", about {left:.0f} s left"
            sys.stdout.write(f"{finished} of {total} fits, {seconds:.1f} s{rest}\n")

        return narrate

    def _take_scores(self, result, grid, negative):
        self.Cs_ = grid
        self.scores_ = -result["errors"] if negative else 1.0 - result["errors"]
        made = result["iterations"] > 0
        mean = -result["means"] if negative else 1.0 - result["means"]
        mean = np.round(mean, 12)  # equal scores may add up to different numbers
        chosen = int(result["chosen"])
        ranked = np.where(np.array(result["competes"]) & ~np.isnan(mean), mean, -np.inf)
        self.loss_ = self.loss if by_oracle(self.loss) else result["losses"][chosen]
        self.C_ = float(result["C"][chosen])
        self.best_score_, self.best_index_ = float(mean[chosen]), chosen
        self.cv_results_ = {
            "param_C": result["C"],
            "param_loss": np.array(result["losses"]),
            "param_k": np.array(result["k"], dtype=object),
            "mean_test_score": mean,
            "std_test_score": np.sqrt(_mean_of((self.scores_ - _mean_of(self.scores_, made)[:, None]) ** 2, made)),
            "rank_test_score": 1 + (ranked[None, :] > ranked[:, None]).sum(axis=1).astype(np.int32),
            "mean_fit_time": _mean_of(result["seconds"], made),
            "relative_gap": result["relative_gaps"],
            "n_iter": result["iterations"],
            **{f"split{f}_test_score": scores for f, scores in enumerate(self.scores_.T)},
        }
