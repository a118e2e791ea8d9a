"""Losses of one's own, by their oracles, and how the extension asks them: shapes and types are looked at here, what the
numbers mean there."""

from __future__ import annotations

import numbers

import numpy as np


class Loss:
    """A loss of your own: derive from this, or write any object with the same methods, and pass it as ``loss=``.

    Rows are examples. ``z`` has shape (n_rows, n_classes) and holds the violations ``margin + score - score of the
    label``, so that ``z[i, y[i]]`` is 0; ``y`` has shape (n_rows,) and holds class numbers, the places in `classes_`. The
    loss must be the largest of ``-(z[i] * u).sum()`` over some set of directions u of shape (n_classes,) that has 0 in it,
    where no direction is above 0 but at the label, and each sums to 0. Margins and costs are in ``z`` already.

    Before a fit the methods are tried on random violations, and what they return is looked at all the time; what cannot be
    right is a ValueError. That proves nothing: the certificate holds if the oracle is right.

    Attributes
    ----------
    name : str
        What models say their loss is.
    reach : float
        No direction is above this at the label.

    Examples
    --------
    The loss of Crammer and Singer:

    >>> import numpy as np
    >>> from sklearn.datasets import load_iris
    >>> from topwolf import Loss, TopwolfClassifier
    >>> class Hinge(Loss):
    ...     name = "hinge"
    ...     def value(self, z, y):
    ...         return z.max(axis=1)
    ...     def vertex(self, z, y):
    ...         rows, u = np.arange(len(z)), np.zeros(z.shape)
    ...         u[rows, y] += 1
    ...         u[rows, z.argmax(axis=1)] -= 1
    ...         return u
    >>> X, y = load_iris(return_X_y=True)
    >>> clf = TopwolfClassifier(loss=Hinge(), tol=0.01).fit(X[::5], y[::5])
    >>> clf.certificate_.endswith("if the oracle is right")
    True
    """

    name = "loss"
    reach = 1.0

    def value(self, z: np.ndarray, y: np.ndarray) -> np.ndarray:
        """The losses, of shape (n_rows,)."""
        raise NotImplementedError

    def vertex(self, z: np.ndarray, y: np.ndarray) -> np.ndarray:
        """For each row a direction where the loss is attained, of shape (n_rows, n_classes).

        A method ``project(a, y)`` may stand beside it: for each row of `a` the nearest point of the directions' convex
        hull. Without one that point is found from vertices.
        """
        raise NotImplementedError


def by_oracle(loss):
    return not isinstance(loss, str)


def loss_name(loss):
    return str(getattr(loss, "name", type(loss).__name__)) if by_oracle(loss) else loss


def asked(loss):
    """As the extension wants it: a name, or what answers."""
    return _Asked(loss) if by_oracle(loss) else loss


class _Asked:
    """What a loss answers, made sure of."""

    def __init__(self, loss):
        self._loss, self.name = loss, loss_name(loss)
        reach = getattr(loss, "reach", 1.0)
        if isinstance(reach, bool) or not isinstance(reach, numbers.Real):
            raise ValueError(f"The reach of the loss {self.name} is {reach!r}, but it must be a number.")
        self.reach = float(reach)
        self.projects = callable(getattr(loss, "project", None))

    def vertex(self, z, y):
        return self._answer("vertex", z, y, z.shape)

    def project(self, a, y):
        return self._answer("project", a, y, a.shape)

    def value(self, z, y):
        return self._answer("value", z, y, (len(z),)).reshape(-1, 1)

    def _answer(self, what, z, y, shape):
        answer = getattr(self._loss, what)(z, y)
        try:
            array = np.ascontiguousarray(answer, dtype=np.float64)
        except (TypeError, ValueError) as error:
            raise ValueError(f"The loss {self.name} returns {type(answer).__name__} from {what}, where numbers are needed.") from error
        if np.shape(answer) != shape:
            raise ValueError(
                f"The loss {self.name} returns shape {np.shape(answer)} from {what} for z of shape {z.shape}, where {shape} is needed."
            )
        return array
