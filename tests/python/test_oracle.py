"""Losses of one's own, by their oracle: what the class promises, and what happens to those that are wrong."""
import copy
import os
import pickle
import subprocess

import numpy as np
import pytest
from numpy.testing import assert_allclose
from sklearn.base import clone
from sklearn.datasets import load_digits
from sklearn.preprocessing import normalize
from topwolf import Loss, TopwolfClassifier, TopwolfClassifierCV, TopwolfJointClassifier, load, probe

X, y = load_digits(return_X_y=True)
X, y = normalize(X)[:80], y[:80]
pytestmark = pytest.mark.filterwarnings("ignore:The best C:UserWarning")


class TopK(Loss):
    def __init__(self, k=1):
        self.k, self.name = k, f"top {k}"

    def value(self, z, y):
        return np.maximum(0, np.sort(z, axis=1)[:, -self.k :].mean(axis=1))

    def vertex(self, z, y):
        u, rows = np.zeros(z.shape), np.arange(len(z))[:, None]
        u[rows, np.argsort(-z, axis=1, kind="stable")[:, : self.k]] = -1 / self.k
        u[rows[:, 0], y] += 1
        return u * (self.value(z, y) > 0)[:, None]


def fitted(loss=None, **settings):
    settings = {"C": 0.3, "tol": 1e-2, "n_jobs": 2, **settings}
    return TopwolfClassifier(loss=loss or TopK(3), **settings).fit(X, y)


@pytest.mark.parametrize("solver", ["block", "apg", "lsfw"])
@pytest.mark.parametrize("smoothing", [0.0, 0.1])
def test_is_certified_as_the_loss_that_has_a_name(solver, smoothing):
    settings = {"solver": solver, "smoothing": smoothing, "tol": 0.05 if solver == "lsfw" else 1e-2}
    mine, named = fitted(**settings), fitted("top_k", k=3, **settings)
    assert mine.status_ == named.status_ == "converged"
    assert max(mine.dual_, named.dual_) <= min(mine.primal_, named.primal_)
    assert mine.certificate_.endswith(" % above the optimum, if the oracle is right")
    assert named.certificate_.endswith(" % above the optimum")


def test_reaches_the_optimum_of_the_loss_that_has_a_name():
    mine, named = fitted(tol=1e-6, C=0.03), fitted("top_k", k=3, tol=1e-6, C=0.03)
    assert_allclose(mine.primal_, named.primal_, rtol=1e-6)


def test_frank_wolfe_takes_the_same_steps():
    settings = {"solver": "lsfw", "max_iter": 20, "tol": 1e-9}
    with pytest.warns(match="max_iter"):
        mine, named = fitted(**settings), fitted("top_k", k=3, **settings)
    assert_allclose(mine.trace_["primal"], named.trace_["primal"], rtol=1e-9)
    assert_allclose(mine.coef_, named.coef_, atol=1e-9)


def test_is_verified():
    clf = fitted(warm_start=True)
    found = clf.verify(X, y)
    assert found["holds"] and "if the oracle is right" in found["finding"]
    assert found["relative_gap"] <= 1e-2 * (1 + 1e-6)
    clf._dual[0][2][:] *= 1.01
    assert "not feasible" in clf.verify(X, y)["finding"]
    assert not clf.verify(X, np.roll(y, 1))["holds"]
    with pytest.raises(ValueError, match="warm_start=True"):
        fitted().verify(X, y)


def test_losses_that_have_a_name_are_verified_too():
    for loss, weights in (("max_hinge", None), ("softmax", np.linspace(0, 2, len(y)))):
        clf = TopwolfClassifier(loss, warm_start=True).fit(X, y, sample_weight=weights)
        assert clf.verify(X, y, sample_weight=weights)["holds"]
        assert weights is None or not clf.verify(X, y)["holds"]


def test_two_classes_and_every_other_manner_of_fitting():
    pair = y < 2
    clf = TopwolfClassifier(TopK(), warm_start=True).fit(X[pair], y[pair])
    assert clf.verify(X[pair], y[pair])["holds"] and clf.score(X[pair], y[pair]) > 0.9
    assert TopwolfClassifierCV(loss=TopK(2), Cs=[0.1, 1], cv=2).fit(X, y).score(X, y) > 0.8
    psi = np.eye(3)[None, :, :, None] * X[:60, None, None, 20:28]
    joint = TopwolfJointClassifier(TopK(), tol=0.05).fit(psi.reshape(60, 3, -1), y[:60] % 3)
    assert joint.certificate_.endswith("if the oracle is right")


def test_is_swept_and_cross_validated_by_a_probe(tmp_path):
    for rows in ((X[:60], y[:60], X[60:], y[60:]), (X, y)):
        found = probe(*rows, Cs=[0.1, 1.0], loss=TopK(2), tol=1e-2, report=tmp_path / "p.html", **({} if len(rows) == 4 else {"cv": 2}))
        assert found.status == "converged" and found.estimator.relative_gap_ <= 1e-2
        assert found.estimator.certificate_.endswith("if the oracle is right")
        assert "top 2" in (tmp_path / "p.html").read_text()


def test_is_copied_pickled_saved_and_loaded(tmp_path):
    clf = fitted()
    for other in (copy.deepcopy(clf), pickle.loads(pickle.dumps(clf))):
        assert np.array_equal(other.predict(X), clf.predict(X))
    assert clone(clf).loss.k == 3
    path = tmp_path / "m.topwolf"
    clf.save(path)
    back = load(path)
    assert back.certificate_ == clf.certificate_ and "top 3" in back.loss
    assert np.array_equal(back.predict(X), clf.predict(X))
    with pytest.raises(ValueError, match="loss"):
        back.fit(X, y)  # the oracle is not in the file


@pytest.mark.program
def test_the_command_line_predicts_and_names_what_it_lacks(tmp_path):
    clf = fitted()
    clf.save(tmp_path / "m.topwolf")
    np.savez(tmp_path / "d.npz", X=X, y=y)

    def topwolf(*arguments):
        return subprocess.run([os.environ["TOPWOLF_BIN"], *arguments], cwd=tmp_path, capture_output=True, text=True)

    assert topwolf("evaluate", "d.npz", "m.topwolf").returncode == 0
    assert "if the oracle is right" in topwolf("inspect", "m.topwolf").stdout
    audit = topwolf("audit", "d.npz", "m.topwolf")
    assert (audit.returncode, "top 3" in audit.stderr) == (3, True)


# ---- Oracles that are wrong: one sentence each, and the estimator is left as it was.


class Spoilt(TopK):
    """Right for so many calls."""

    def __init__(self, spoil, calls=0):
        super().__init__()
        self.spoil, self.calls, self.asked = spoil, calls, 0

    def vertex(self, z, y):
        self.asked += 1
        u = super().vertex(z, y)
        return self.spoil(u) if self.asked > self.calls else u


def _raise(u):
    raise RuntimeError("out of order")


@pytest.mark.parametrize(
    "spoil, error, words",
    [
        (lambda u: u * np.nan, ValueError, "has nan"),
        (lambda u: u[:, 1:], ValueError, "returns shape"),
        (lambda u: u[0], ValueError, "returns shape"),
        (lambda u: "nothing", ValueError, "where numbers are needed"),
        (lambda u: None, ValueError, "returns"),
        (lambda u: u + 0.1, ValueError, "above 0 for class"),
        (lambda u: 5 * u, ValueError, "further than its reach of 1"),
        (_raise, RuntimeError, "out of order"),
    ],
)
@pytest.mark.parametrize("calls", [0, 150])
def test_what_an_oracle_may_not_say(spoil, error, words, calls):
    clf = TopwolfClassifier("max_hinge", solver="lsfw", tol=1e-6, max_iter=50, n_jobs=2)
    with pytest.warns(match="max_iter"):
        clf.fit(X, y)
    before = clf.coef_
    clf.set_params(loss=Spoilt(spoil, calls))
    with pytest.raises(error, match=words):
        clf.fit(X, y)
    assert clf.coef_ is before and clf.status_ == "iteration_limit"


@pytest.mark.parametrize(
    "value, words",
    [
        (lambda z: -1 + 0 * z[:, 0], "0 must be among its directions"),
        (lambda z: z[:, 0] * np.nan, "no number"),
        (lambda z: 0.5 * z.max(axis=1), "but its vertex there is worth"),
        (lambda z: z.max(), "returns shape"),
    ],
)
def test_a_value_that_is_not_the_vertex_s(value, words):
    loss = TopK()
    loss.value = lambda z, y: value(z)
    with pytest.raises(ValueError, match=words):
        TopwolfClassifier(loss).fit(X, y)


def test_one_that_agrees_with_itself_but_is_not_convex():
    class Last(Loss):
        def _chosen(self, z, y):
            above = z > 0
            return np.where(above.any(axis=1), z.shape[1] - 1 - above[:, ::-1].argmax(axis=1), y)

        def value(self, z, y):
            return z[np.arange(len(z)), self._chosen(z, y)]

        def vertex(self, z, y):
            u, rows = np.zeros(z.shape), np.arange(len(z))
            u[rows, y] += 1
            u[rows, self._chosen(z, y)] -= 1
            return u

    with pytest.raises(ValueError, match="worth .* there|not convex"):
        TopwolfClassifier(Last()).fit(X, y)


def test_no_loss_at_all():
    for loss in (3, None, object()):
        with pytest.raises(ValueError, match="loss"):
            TopwolfClassifier(loss).fit(X, y)
    with pytest.raises(ValueError, match="second derivatives"):
        fitted(solver="newton")
    with pytest.raises(ValueError, match="takes no k"):
        fitted(k=3)
    loss = TopK()
    loss.reach = "far"
    with pytest.raises(ValueError, match="reach"):
        TopwolfClassifier(loss).fit(X, y)


def test_a_value_that_shrinks_after_the_fit_makes_no_certificate():
    """With two classes the weights are made to agree, and the primal is computed once more."""

    class Shrinking(TopK):
        share = 1.0

        def value(self, z, y):
            return self.share * super().value(z, y)

        def vertex(self, z, y):
            u, rows = np.zeros(z.shape), np.arange(len(z))
            u[rows, np.argmax(z, axis=1)] = -1
            u[rows, y] += 1
            return u

    loss = Shrinking()

    def late(record):
        if record.iteration == 3:
            loss.share = 0.05
        return False

    two = y < 2
    before = TopwolfClassifier(loss=loss, C=0.3, tol=1e-9, max_iter=4)
    with pytest.raises((RuntimeError, ValueError), match="oracle of .* is wrong"):
        before.fit(X[two], y[two], callback=late)
    assert not hasattr(before, "primal_")
