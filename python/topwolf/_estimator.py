"""The classifier in scikit-learn's manners. What it computes, the extension computes."""

from __future__ import annotations

import numbers
import sys
import warnings
from collections.abc import Callable, Mapping, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import ArrayLike
from sklearn.base import BaseEstimator, ClassifierMixin
from sklearn.exceptions import ConvergenceWarning
from sklearn.utils._param_validation import HasMethods, Interval, StrOptions
from sklearn.utils.validation import check_is_fitted

from . import _core
from ._batches import FromBatches
from ._features import to_features, working_dtype
from ._fitted import FittedClassifier, MatrixLike, Path
from ._input import TrainingInput
from ._labels import from_names
from ._called import as_call, parameters_of
from ._on_disk import to_train_on
from ._observers import FRAMES, CallbackSupportMixin, Observed, fitting
from ._oracle import Loss
from ._paths import file_to_read
from ._structure import from_arrays
from ._weights import antisymmetric, without_claim

if TYPE_CHECKING:
    from typing_extensions import Self

_LARGEST = int(np.iinfo(np.int64).max)
_MOST_JOBS = int(np.iinfo(np.int32).max)


class _Doubles(Interval):
    """Those of the interval that a double can hold: an integer may be larger."""

    def __contains__(self, value):
        return super().__contains__(value) and abs(value) <= sys.float_info.max



class TopwolfClassifier(TrainingInput, FromBatches, Observed, FittedClassifier, CallbackSupportMixin, ClassifierMixin, BaseEstimator):
    """Linear multi-class SVM for top-k errors, with a certified duality gap.

    Minimises ``lambda / 2 ||W||^2 + 1 / N sum_i w_i loss(W x_i, y_i)`` (with `class_features` ``||V||^2``) with ``lambda = 1 / (C N)``, where ``N`` is the
    sum of the sample weights ``w_i`` (the number of rows without them). LIBLINEAR's objective is ``C N`` times this one,
    so that ``C`` means the same as in :class:`sklearn.svm.LinearSVC`.

    Parameters
    ----------
    loss : {"max_hinge", "top_k", "usunier", "weighted_top_k", "weighted_usunier", "softmax"} or Loss, default="max_hinge"
        ``max_hinge`` is Crammer and Singer's loss, as ``LinearSVC(multi_class="crammer_singer")``. ``top_k`` and
        ``usunier`` take the mean of the `k` largest margin violations, cut at 0 after and before the mean. The weighted
        losses take weights `rho` over the ranks. ``softmax`` is the loss of :class:`sklearn.linear_model.LogisticRegression`,
        with margins of 0 where none are given; its models have `predict_proba`. An object is a loss of your own, by its
        oracle: see :class:`topwolf.Loss`. The certificate then holds if the oracle is right.

    k : int, default=None
        Of ``top_k`` and ``usunier``: below the number of classes. None: 5, or one less than the number of classes where
        that is less. Other losses make no use of it, and ignore it.

    rho : array-like, default=None
        Of the weighted losses: weights over the ranks, not increasing. None: (5, 4, 3, 2, 1) / 15, cut to the number of
        classes less one and scaled to sum 1. Other losses ignore it.

    cost_matrix : array-like of shape (n_classes, n_classes), default=None
        What it costs to take a row of class i for class j: the margin asked for. At least 0, and 0 on the diagonal; in
        the order of `classes_`. None: 1 off the diagonal.

    class_features : {array-like, sparse matrix} of shape (n_classes, n_class_features), default=None
        Features of the classes, in the order of `classes_`: the score of a class is then ``x @ V.T @ phi`` with one V
        for all classes, so that classes share what their features share, and `with_classes` can score classes that
        were not seen in fitting. V is what is regularised: features ten times as large are a C a hundred times as
        large. None: every class has weights of its own.

    smoothing : float, default=0.0
        Above 0 the loss is replaced by its Moreau envelope with this parameter. Not of ``softmax``.

    temperature : float, default=None
        Of ``softmax``: T log(sum(exp(z / T))). None: 1, that of logistic regression. Other losses ignore it.

    C : float, default=1.0
        Inverse strength of the regularisation.

    tol : float, default=1e-3
        A relative duality gap: fitting ends when (primal - dual) <= tol * primal, which proves that the optimum is at
        least (1 - tol) times the objective reached. Unlike LIBLINEAR's ``tol`` this is a guarantee about the answer.

    solver : {"auto", "block", "newton", "apg", "lsfw", "stdfw", "pg"}, default="auto"
        ``auto`` is ``block``, exact block ascent, wherever it fits into memory, and ``newton`` where there are thousands of
        rows for every weight, or few weights and rows that are long for this C.

    max_iter : int, default=100000
        Passes over the data, as many as the command line allows: `tol` and `time_limit` are what ends a fit.

    time_limit : float, default=None
        Seconds after which fitting ends with what there is.

    fit_intercept : bool, default=True
        Add a constant feature, which costs no copy of X. Its weight is regularised like the others.

    intercept_scaling : float, default=1.0
        The constant feature's value.

    center : bool, default=False
        Regularise the weights that rows less their mean would have, and fold the mean into `intercept_`, so that the
        model is one of rows as they are: ``intercept_`` is then regularised at the mean of the rows, not at the origin,
        and nothing depends on where the origin of the features lies. It is another objective than LIBLINEAR's (and than
        with False), as a rule with nearly the same errors and fewer passes. `primal_` and `dual_` are about it. The mean
        is weighted by `sample_weight` and `class_weight`; sparse rows stay sparse. Needs `fit_intercept`.

    class_weight : dict or "balanced", default=None
        Factors on the weights of the rows of each class. "balanced": inversely proportional to the weight of the class.

    warm_start : bool, default=False
        Begin at the dual of the last fit, where that had the same labels in the same order; any parameter may have
        changed. The certificate does not depend on where fitting began. The solvers stdfw and pg always begin at 0.

    n_jobs : int, default=None
        Threads. None: all cores the process may use, or OMP_NUM_THREADS. A forked child (multiprocessing, joblib, a
        server that loads before it forks) starts threads of its own.

    memory : int or str, default=None
        Bytes that the process may take in all: 8_000_000_000, or "500M" or "8G". Rows that :meth:`fit` is given as files or as
        a memory map are then read by windows where they do not fit; the optimum and the certificate are those of rows in
        memory. Python and its packages are counted as 280 MB, and labels and weights with the fit; what else your program
        holds is not. None: what the system allows, and a memory map is read where it is.

    device : str, default="cpu"
        Who multiplies: "cpu", or the NVIDIA GPU "cuda", or the one of that number, "cuda:1", in a build with CUDA. The
        certificate is the same kind of proof, and needs no GPU to be verified. Not with `class_features`.

    random_state : int, RandomState instance or None, default=None
        Seed of the order in which rows are visited; None: 0. The same seed gives the same bits, on any number of threads.

    verbose : int, default=0
        1: print the progress table.

    Attributes
    ----------
    coef_ : ndarray of shape (n_classes, n_features), (1, n_features) for two classes
        float32 where X is, or has 16 bits, and read-only. A SciPy CSR matrix of the same shape where X is sparse and fewer than half of
        its features occur in it, if that saves 64 MiB: the others weigh 0. Assign another array to predict with other
        weights; what the certificate says (`primal_` to `status_`) is then gone, here and in what `save` writes, as it is
        when `intercept_`, `class_coef_` or `classes_`, all of them read-only, are assigned.
    intercept_ : ndarray of shape (n_classes,), (1,) for two classes
        Of the type of `coef_`; float64 where `intercept_scaling` is not 1, whose multiples float32 would round.
    class_coef_ : ndarray of shape (n_class_features, n_features) or (n_class_features, n_features + 1)
        With `class_features`: V, its last column that of the constant feature where there is one. Then `coef_` is
        ``class_features @ V`` (for two classes the difference of its rows) without that column, rounded to the type
        of X, and the certificate is about V.
    classes_ : ndarray of shape (n_classes,)
    temperature_ : float
        Of `predict_proba`: that of ``softmax``, or what `calibrate` found. Others have none.
    n_iter_ : int
        Passes made.
    k_ : int
        How many ranks the loss looks at.
    primal_, dual_ : float
        The objective, and the lower bound on the optimum, both computed in double at `coef_` and `intercept_` as they
        stand. A fit sets all attributes at once, when it is finished; one that fails leaves those of the last, and one that a
        callback's exception or Ctrl-C ends has what it found.
    dual_gap_, relative_gap_ : float
        primal_ - dual_, and that over primal_.
    certificate_ : str
        The same in a sentence: how far above the optimum the objective can be, and, with a loss of your own, what that
        presupposes.
    status_ : {"converged", "iteration_limit", "time_limit", "stalled", "interrupted"}
    trace_ : dict of ndarrays
        `iteration`, `seconds`, `primal`, `dual`, `relative_gap`, `step`, `iterate_primal` and `iterate_dual` of every pass, as
        in :class:`IterationRecord`.
    evals_result_ : dict
        With `eval_set`: for ``"validation_0"``, ... a dict of ``"top_1_error"``, ..., lists with an entry per pass.
    solver_choice_ : str
        Which solver ran, and why.
    n_features_in_ : int
    feature_names_in_ : ndarray of shape (n_features_in_,)

    Notes
    -----
    There is no ``partial_fit``: a certificate is about all rows at once, and a step on some of them has none. When rows
    are added, fit to all of them; when a parameter has changed, ``warm_start=True`` begins at the last dual.

    Callbacks of scikit-learn 1.9 (``set_callbacks``) are called after every pass, as `callback` of :meth:`fit` is.

    Examples
    --------
    >>> from sklearn.datasets import load_iris
    >>> from topwolf import TopwolfClassifier
    >>> X, y = load_iris(return_X_y=True)
    >>> clf = TopwolfClassifier("usunier", k=2).fit(X, y)
    >>> clf.status_
    'converged'
    >>> clf.predict_top_k(X[:1], k=2).tolist()
    [[0, 1]]
    """

    _parameter_constraints = {
        "loss": [StrOptions(set(_core.LOSSES)), HasMethods(["vertex", "value"])],
        "k": [Interval(numbers.Integral, 1, _LARGEST, closed="both"), None],
        "rho": ["array-like", None],
        "cost_matrix": ["array-like", None],
        "class_features": ["array-like", "sparse matrix", None],
        "smoothing": [_Doubles(numbers.Real, 0, None, closed="left")],
        "temperature": [_Doubles(numbers.Real, 0, None, closed="neither"), None],
        "C": [_Doubles(numbers.Real, 0, None, closed="neither")],
        "tol": [_Doubles(numbers.Real, 0, None, closed="neither")],
        "solver": [StrOptions(set(_core.SOLVERS))],
        "max_iter": [Interval(numbers.Integral, 1, _LARGEST, closed="both")],
        "time_limit": [_Doubles(numbers.Real, 0, None, closed="neither"), None],
        "fit_intercept": ["boolean"],
        "intercept_scaling": [_Doubles(numbers.Real, 0, None, closed="neither")],
        "center": ["boolean"],
        "class_weight": [StrOptions({"balanced"}), dict, None],
        "warm_start": ["boolean"],
        "n_jobs": [Interval(numbers.Integral, None, _MOST_JOBS, closed="right"), None],
        "memory": [Interval(numbers.Integral, 1, _LARGEST, closed="both"), str, None],
        "device": [str],
        "random_state": ["random_state"],
        "verbose": ["verbose"],
    }

    def __init__(
        self,
        loss: str | Loss = "max_hinge",
        *,
        k: int | None = None,
        rho: ArrayLike | None = None,
        cost_matrix: ArrayLike | None = None,
        class_features: MatrixLike | None = None,
        smoothing: float = 0.0,
        temperature: float | None = None,
        C: float = 1.0,
        tol: float = 1e-3,
        solver: str = "auto",
        max_iter: int = 100_000,
        time_limit: float | None = None,
        fit_intercept: bool = True,
        intercept_scaling: float = 1.0,
        center: bool = False,
        class_weight: Mapping[Any, float] | str | None = None,
        warm_start: bool = False,
        n_jobs: int | None = None,
        memory: int | str | None = None,
        device: str = "cpu",
        random_state: int | np.random.RandomState | None = None,
        verbose: int = 0,
    ) -> None:
        self.loss = loss
        self.k = k
        self.rho = rho
        self.cost_matrix = cost_matrix
        self.class_features = class_features
        self.smoothing = smoothing
        self.temperature = temperature
        self.C = C
        self.tol = tol
        self.solver = solver
        self.max_iter = max_iter
        self.time_limit = time_limit
        self.fit_intercept = fit_intercept
        self.intercept_scaling = intercept_scaling
        self.center = center
        self.class_weight = class_weight
        self.warm_start = warm_start
        self.n_jobs = n_jobs
        self.memory = memory
        self.device = device
        self.random_state = random_state
        self.verbose = verbose

    @property
    def partial_fit(self) -> Any:
        """There is none: hasattr says so, and who asks is told what there is instead."""
        raise AttributeError(
            f"{type(self).__name__} has no partial_fit: a certificate is about all rows at once. Fit to all rows together; "
            "warm_start=True begins at the last dual where a parameter has changed. Where rows are more than memory holds, "
            "TopwolfClassifier leaves them in their files (memory=) or takes them in batches (fit_iter)."
        )

    def _html_repr(self):
        from ._notebook import with_certificate

        return with_certificate(super()._html_repr(), self)

    def __sklearn_tags__(self):
        tags = super().__sklearn_tags__()
        tags.input_tags.sparse = True
        return tags

    @fitting
    def fit(
        self,
        X: MatrixLike | Path | Sequence[Path],
        y: ArrayLike | Path | Sequence[Path] | None = None,
        sample_weight: ArrayLike | None = None,
        eval_set: Sequence[tuple[MatrixLike, ArrayLike]] | None = None,
        callback: Callable[[_core.IterationRecord], bool | None] | None = None,
        margins: MatrixLike | None = None,
        margin_default: float = 1.0,
    ) -> Self:
        """Fit to rows X with labels y.

        Parameters
        ----------
        X : {array-like, sparse matrix} of shape (n_samples, n_features), or names of files
            float32 and float64 rows, dense or CSR, and dense float16 and bfloat16 rows (`topwolf.bfloat16`) are read
            where they are; others are converted. Those of 16 bits are widened a few at a time: they are computed with,
            and have weights, in float32. A CSR matrix of which a quarter or more is non-zero is trained as dense rows,
            for which it is copied. Tables may have one Arrow column of lists of a fixed size in the place of one column a feature.
            A file (.npy in C order, or .twd), a list of files, or a pattern such as ``"emb_*.npy"`` is one array after the
            other, and is not loaded where `memory` has no room for it; a memory map (``np.load(path, mmap_mode="r")``)
            neither, where `memory` is given. Their numbers are checked as they are read.
        y : array-like of shape (n_samples,), or names of files
            Labels: integers, text, booleans, or floats that are whole numbers. Where X is files: an array, a file (.npy, or
            text with a label a line), a pattern, or a list as long as X; None: those that .twd files hold.
        sample_weight : array-like of shape (n_samples,), default=None
            At least 0. A weight of 2 is a row given twice, a weight of 0 a row left out.
        eval_set : list of (X, y), default=None
            Rows whose top-k errors are recorded after every pass, in `evals_result_`.
        callback : callable, default=None
            Called as ``callback(record)`` after every pass with an :class:`IterationRecord`; fitting ends, with status
            "interrupted", when it returns True. Meanwhile ``record.weights()`` are the weights after that pass;
            where `coef_` will be sparse, those of the features that occur.
        margins : {array-like, sparse matrix} of shape (n_samples, n_classes), default=None
            What it costs to take a row for each of `classes_`, row by row, instead of `cost_matrix`: at least 0, and 0
            for its own class. Copied.
        margin_default : float, default=1.0
            What a sparse `margins` does not store.

        Returns
        -------
        self
        """
        callback = self._with_set_callbacks(callback, X, y)
        fitted = self._blank()
        with _core.IeeeArithmetic():
            error = fitted._fit(
                X, y, sample_weight, eval_set, callback, margins, margin_default, getattr(self, "_dual", None)
            )
        self._become(fitted)
        if self._own_callback(callback) is not None:
            callback.finish(self._found())
        if error is not None:
            raise error
        fitted._warn_unless_converged()
        return self

    def verify(
        self,
        X: MatrixLike,
        y: ArrayLike,
        sample_weight: ArrayLike | None = None,
        margins: MatrixLike | None = None,
        margin_default: float = 1.0,
    ) -> dict[str, Any]:
        """Check the certificate of the last fit against its rows and its dual, by plain loops that share no code with the solvers.

        The arguments must be those of the fit, which keeps its dual with `warm_start`.

        Returns
        -------
        found : dict
            ``holds``, ``finding`` (a sentence), and what could be proven: ``primal``, ``dual``, ``gap``,
            ``relative_gap``, ``infeasibility``.
        """
        check_is_fitted(self)
        fitted = self._snapshot()
        if getattr(fitted, "_dual", None) is None:
            raise ValueError("verify needs the dual of the fit, which is kept where warm_start=True.")
        if not hasattr(fitted, "primal_"):
            raise ValueError("verify has nothing to confirm: the weights are no longer those of the fit.")
        probe = fitted._blank()
        X, y, weights = probe._rows(X, y, sample_weight)
        if not np.array_equal(probe.classes_, fitted.classes_):
            raise ValueError("y has other classes than the fit had.")
        options = {**probe._options(len(y), margins, margin_default), "keep_dual": True, "start": None}
        classifier, provenance = fitted._named_model()
        classifier = {**classifier, "class_names": [str(j) for j in range(len(fitted.classes_))], "label_type": "integer"}
        with _core.IeeeArithmetic():
            return _core.verify(to_features(X), y, options, weights, classifier, provenance, fitted._dual[0])

    def _fit(self, X, y, sample_weight, eval_set, callback, margins, margin_default, last):
        """Of a blank estimator; what ended it from outside, such as KeyboardInterrupt, is returned."""
        self._memory()  # before any file is opened
        X, y, weights = self._rows(*to_train_on(X, y, self.memory), sample_weight)
        options = self._options(len(y), margins, margin_default)
        options |= {"keep_dual": self.warm_start, "start": self._start(y, last)}
        features = to_features(X, watched=callback is not None)
        evaluations = self._evaluations(eval_set, watched=callback is not None)
        columns = _core.kept_columns(features, len(self.classes_)) if evaluations else None
        if self._own_callback(callback) is not None:
            columns = _core.kept_columns(features, len(self.classes_))
        observer, table = self._observer(callback, evaluations, columns, working_dtype(X))
        result = _core.train(features, y, len(self.classes_), options, weights, observer)
        if table is not None:
            table.finish()
        self._take_result(result, features, working_dtype(X), y, options, weights)
        self._dual = (result["dual"], y) if self.warm_start else None
        self.evals_result_ = {name: errors for name, (_, _, errors) in evaluations.items()}
        return result["error"]

    @staticmethod
    def load(path: Path) -> TopwolfClassifier:
        """A fitted classifier from a model file, topwolf's or LIBLINEAR's.

        Where the command line normalised its rows, `predict` and `decision_function` do so too (`coef_` alone does
        not tell); `fit` would not.
        """
        classifier, provenance = _core.load_model(file_to_read(path))
        bias, lambda_ = classifier["bias"], provenance["lambda"]
        by_oracle = provenance["loss"] == "oracle"  # which is not in the file
        clf = TopwolfClassifier(
            loss=f"oracle: {provenance['title']}" if by_oracle else provenance["loss"].replace("-", "_"),
            k=provenance["k"],
            rho=None if by_oracle else provenance["rho"],
            cost_matrix=provenance["cost_matrix"],
            class_features=from_arrays(classifier["class_features"]),
            smoothing=provenance["smoothing"],
            temperature=provenance["temperature"],
            C=1.0 / (lambda_ * provenance["weight_sum"]) if lambda_ > 0 else 1.0,
            fit_intercept=bias != 0.0,
            intercept_scaling=bias or 1.0,
            center=provenance["mean"] is not None,
            **parameters_of(provenance["command"]),
        )
        clf.classes_ = from_names(classifier["label_type"], classifier["class_names"])
        clf.n_features_in_ = classifier["d"]
        clf.k_ = provenance["k"] or (1 if provenance["rho"] is None else len(provenance["rho"]))
        classifier["class_features"] = clf.class_features
        weights, plain = classifier["weights"], clf.class_features is None
        if plain and len(clf.classes_) == 2 and not np.array_equal(weights[0], -weights[1]):
            # One vector tells less than the file, and the certificate is not about it.
            classifier["weights"] = antisymmetric(weights, classifier["precision"])
            provenance = without_claim(provenance)
        clf._take(classifier, provenance, classifier["precision"])
        return clf

    def _take_result(self, result, features, dtype, y, options, weights):
        """The attributes from what training returned."""
        classifier, provenance = result["classifier"], result["provenance"]
        classifier["class_features"] = from_arrays(classifier["class_features"])  # a copy: the caller may change theirs
        if len(self.classes_) == 2 and classifier["class_features"] is None:
            classifier["weights"] = antisymmetric(classifier["weights"], dtype)
            provenance["primal"] = _core.objective(features, y, 2, options, weights, classifier["weights"])
        provenance["command"] = as_call(self)
        self._take(classifier, provenance, dtype)
        self.k_ = result["K"]
        self.trace_ = result["trace"]
        self.solver_choice_ = result["choice"]

    def _warn_unless_converged(self, stacklevel=3 + FRAMES):
        remedies = {
            "iteration_limit": f"max_iter={self.max_iter} passes were made. Increase max_iter",
            "time_limit": f"time_limit={self.time_limit} s passed. Increase time_limit",
            "stalled": f"the rounding of {self.coef_.dtype} numbers allows no more. "
            + ("Give X as float64" if self.coef_.dtype == np.float32 else "Lower C"),
        }
        if self.status_ in remedies:
            warnings.warn(
                f"Fitting ended at a relative gap of {self.relative_gap_:.2g}, above tol={self.tol:g}: "
                f"{remedies[self.status_]}, scale the rows of X to unit length, or raise tol.",
                ConvergenceWarning,
                stacklevel=stacklevel,  # past fit and its decorator
            )


def load(path: Path) -> TopwolfClassifier:
    """A fitted :class:`TopwolfClassifier` from a model file, topwolf's or LIBLINEAR's."""
    return TopwolfClassifier.load(path)
