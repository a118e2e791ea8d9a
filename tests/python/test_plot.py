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
