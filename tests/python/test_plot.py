"""The pictures hold what the fits say."""
import matplotlib

matplotlib.use("Agg")

import matplotlib.pyplot as plt
import numpy as np
import pytest
from sklearn.datasets import load_digits

from topwolf import TopwolfClassifier, plot


@pytest.fixture(scope="module")
def fits():
    X, y = load_digits(return_X_y=True)
    X = X / np.linalg.norm(X, axis=1, keepdims=True)
    return X, y, [TopwolfClassifier("usunier", k=k).fit(X, y) for k in (1, 5)]


@pytest.fixture(autouse=True)
def close():
    yield
    plt.close("all")


def test_convergence(fits, tmp_path):
    _, _, (one, five) = fits
    axes = plot.convergence(one, five)
    assert axes.shape == (2, 2)
    np.testing.assert_array_equal(axes[0, 0].lines[0].get_ydata(), one.trace_["relative_gap"])
    np.testing.assert_array_equal(axes[0, 1].lines[2].get_xdata(), five.trace_["seconds"])
    assert [text.get_text() for text in axes[0, 1].get_legend().get_texts()] == ["usunier", "usunier, k = 5"]
    axes[0, 0].figure.savefig(tmp_path / "c.png")
    again = plot.convergence(one, labels=["mine"], axes=axes)
    assert again[0, 0] is axes[0, 0]


def test_top_k(fits, tmp_path):
    X, y, (one, five) = fits
    ax = plot.top_k([one, five], X, y)
    ks, errors = ax.lines[1].get_data()
    assert list(ks) == list(range(1, 10))
    assert errors[2] == pytest.approx(100 * five.top_k_error(X, y, 3))
    assert (np.diff(errors) <= 0).all()
    ax.figure.savefig(tmp_path / "k.png")
    assert list(plot.top_k(one, X, y, ks=[1, 3]).lines[0].get_xdata()) == [1, 3]


def test_bad_input(fits):
    with pytest.raises(ValueError, match="at least one"):
        plot.convergence()
    with pytest.raises(ValueError, match="there are 1 labels for 2 fits"):
        plot.convergence(*fits[2], labels=["a"])


def test_the_end_of_a_search_is_drawn(fits):
    from topwolf import TopwolfClassifierCV

    X, y, (one, _) = fits
    search = TopwolfClassifierCV([0.1, 1.0], cv=2, tol=0.05).fit(X, y)
    axes = plot.convergence(search, one)
    assert list(axes[0, 0].lines[0].get_xdata()) == [search.n_iter_]
    assert list(axes[0, 0].lines[0].get_ydata()) == [search.relative_gap_]


def test_others_are_drawn_beside_ours(fits):
    from sklearn.linear_model import LogisticRegression
    from sklearn.svm import LinearSVC

    X, y, (one, _) = fits
    others = [LinearSVC().fit(X, y), LogisticRegression().fit(X, y)]
    ax = plot.top_k([one, *others], X, y)
    assert [text.get_text() for text in ax.get_legend().get_texts()] == ["usunier", "LinearSVC", "LogisticRegression"]
    for line, clf in zip(ax.lines[1:], others):
        assert line.get_ydata()[0] == pytest.approx(100 * (1 - clf.score(X, y)))
    few = y < 2
    two = LinearSVC().fit(X[few], y[few])
    assert plot.top_k(two, X[few], y[few], ks=[1]).lines[0].get_ydata()[0] == pytest.approx(100 * (1 - two.score(X[few], y[few])))
