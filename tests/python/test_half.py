"""Rows of 16 bits: read in place, and the same job as the same values in float32."""
import subprocess
import sys

import numpy as np
import pytest
from sklearn.datasets import load_digits
from sklearn.metrics import make_scorer, accuracy_score

import topwolf
from topwolf import TopwolfClassifier, TopwolfClassifierCV
from topwolf._features import to_features


def bfloat16_rows(X):
    """X rounded towards 0, as topwolf.bfloat16 and in float32."""
    bits = np.ascontiguousarray(X, dtype=np.float32).view(np.uint32) >> 16
    return bits.astype(np.uint16).view(topwolf.bfloat16), (bits << 16).astype(np.uint32).view(np.float32)


def both(kind):
    """Digits in 16 bits and the same values in float32, and their labels."""
    X, y = load_digits(return_X_y=True)
    X /= np.linalg.norm(X, axis=1, keepdims=True)
    if kind == "float16":
        half = X.astype(np.float16)
        return half, half.astype(np.float32), y
    half, single = bfloat16_rows(X)
    if kind == "ml_dtypes":
        half = half.view(np.uint16).view(pytest.importorskip("ml_dtypes").bfloat16)
    return half, single, y


KINDS = ["float16", "bfloat16", "ml_dtypes"]


@pytest.mark.parametrize("kind", KINDS)
def test_rows_of_16_bits_are_read_where_they_are(kind):
    X = both(kind)[0]
    assert to_features(X).address == X.ctypes.data
    assert to_features(X[::3, 5:40]).address == X.ctypes.data + 10
    assert to_features(X[:, ::2]).cols == 32, "copied, as they do not lie in one piece"


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("solver", ["block", "lsfw"])
def test_the_same_values_in_float32_give_the_same_bits(kind, solver):
    half, single, y = both(kind)
    a, b = (TopwolfClassifier("usunier", k=3, solver=solver).fit(X, y, eval_set=[(X[:200], y[:200])]) for X in (half, single))
    assert a.coef_.dtype == a.intercept_.dtype == np.float32
    np.testing.assert_array_equal(a.coef_, b.coef_)
    np.testing.assert_array_equal(a.intercept_, b.intercept_)
    assert (a.primal_, a.dual_, a.evals_result_) == (b.primal_, b.dual_, b.evals_result_)
    np.testing.assert_array_equal(a.decision_function(half), b.decision_function(single))
    np.testing.assert_array_equal(a.predict(half[::7, :]), b.predict(single[::7, :]))
    np.testing.assert_array_equal(a.predict_top_k(half, k=4), b.predict_top_k(single, k=4))
    assert a.score(half, y) == b.score(single, y)
    assert a.top_k_error(half, y, k=2) == b.top_k_error(single, y, k=2)
    few = y < 2
    two = TopwolfClassifier().fit(half[few], y[few])
    assert two.coef_.shape == (1, 64) and two.coef_.dtype == np.float32
    np.testing.assert_array_equal(two.coef_, TopwolfClassifier().fit(single[few], y[few]).coef_)


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("scoring", [None, "top3", make_scorer(accuracy_score)])
def test_a_search_too(kind, scoring):
    half, single, y = both(kind)
    a, b = (TopwolfClassifierCV([0.1, 10], cv=3, scoring=scoring).fit(X, y) for X in (half, single))
    np.testing.assert_array_equal(a.scores_, b.scores_)
    np.testing.assert_array_equal(a.coef_, b.coef_)


@pytest.mark.parametrize("kind", KINDS)
def test_what_is_not_finite_is_refused(kind):
    half, _, y = both(kind)
    clf = TopwolfClassifier(max_iter=1, tol=1e9).fit(half, y)
    half.view(np.uint16)[17, 3] = 0x7F80 if kind != "float16" else 0x7C00
    for call in (lambda: clf.fit(half, y), lambda: clf.predict(half), lambda: TopwolfClassifier().fit(half[17:], y[17:])):
        with pytest.raises(ValueError, match="infinity"):
            call()
    with pytest.raises(ValueError, match="64 features|features"):
        clf.predict(half[:5, :10])
    with pytest.raises(ValueError, match="2D"):
        clf.predict(half[0])
    with pytest.raises(ValueError, match="inconsistent"):
        clf.fit(half[:10], y)


def test_uint16_is_a_number_unless_somebody_says_bfloat16():
    bits = np.array([[16256, 0], [0, 16256], [16000, 0]], dtype=np.uint16)
    y = [0, 1, 0]
    plain = TopwolfClassifier().fit(bits, y)
    assert plain.coef_.dtype == np.float64, "integers become double, as ever"
    told = TopwolfClassifier().fit(bits.view(topwolf.bfloat16), y)
    np.testing.assert_array_equal(told.coef_, TopwolfClassifier().fit((bits.astype(np.uint32) << 16).view(np.float32), y).coef_)


PEAK = """
import resource, sys
import numpy as np
import topwolf
rng = np.random.default_rng(0)
rows = np.empty((60000, 1024), dtype=np.float16)
for part in np.array_split(rows, 60):  # nothing larger was ever there
    part[:] = rng.standard_normal(part.shape, dtype=np.float32)
if sys.argv[1] == "bfloat16":
    rows.view(np.uint16)[:] >>= 1
    rows = rows.view(np.uint16).view(topwolf.bfloat16)
y = np.arange(len(rows)) % 3
clf = topwolf.TopwolfClassifier(max_iter=1, tol=1e9).fit(rows[:100], y[:100])
clf.predict(rows[:100])
before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
for solver in ("block", "lsfw"):
    clf = topwolf.TopwolfClassifier(max_iter=2, tol=1e9, solver=solver).fit(rows, y, eval_set=[(rows, y)])
clf.predict(rows), clf.score(rows, y), clf.top_k_error(rows, y, k=2)
print((resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - before) * 1024 / rows.nbytes)
"""


@pytest.mark.parametrize("kind", ["float16", "bfloat16"])
def test_no_copy_of_the_rows_is_made(kind):
    done = subprocess.run([sys.executable, "-c", PEAK, kind], capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    assert float(done.stdout) < 0.7, "a copy would be 1, one in float32 2"
