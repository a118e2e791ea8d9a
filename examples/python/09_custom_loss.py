"""A loss of your own, by its oracle: a hinge for every group of classes, and the top-k hinge as everybody has it."""
import numpy as np
from sklearn.datasets import load_digits
from sklearn.preprocessing import normalize
from topwolf import Loss, TopwolfClassifier


class GroupHinge(Loss):
    """The mean over groups of classes of their largest violation, or 0: neither of the two families has it."""

    name = "group hinge"

    def __init__(self, group):
        self.group = np.asarray(group)

    def worst(self, z, y):
        """For every row and group the class that is worst, or the label, whose z is 0."""
        rows, columns = np.arange(len(z)), []
        for g in np.unique(self.group):
            members = np.flatnonzero(self.group == g)
            largest = members[z[:, members].argmax(axis=1)]
            columns.append(np.where(z[rows, largest] > 0, largest, y))
        return np.stack(columns, axis=1)

    def value(self, z, y):
        return np.take_along_axis(z, self.worst(z, y), axis=1).mean(axis=1)

    def vertex(self, z, y):
        u, worst = np.zeros(z.shape), self.worst(z, y)
        for column in worst.T:
            u[np.arange(len(z)), column] -= 1 / worst.shape[1]
            u[np.arange(len(z)), y] += 1 / worst.shape[1]
        return u


class TopK(Loss):
    """max(0, the mean of the k largest violations), which topwolf has by name."""

    def __init__(self, k):
        self.k, self.name = k, f"top {k}"

    def value(self, z, y):
        return np.maximum(0, np.sort(z, axis=1)[:, -self.k :].mean(axis=1))

    def vertex(self, z, y):
        u, rows = np.zeros(z.shape), np.arange(len(z))[:, None]
        u[rows, np.argsort(-z, axis=1, kind="stable")[:, : self.k]] = -1 / self.k
        u[rows[:, 0], y] += 1
        return u * (self.value(z, y) > 0)[:, None]


X, y = load_digits(return_X_y=True)
X, y = normalize(X)[:200], y[:200]

# Digits that are written alike are a group.
clf = TopwolfClassifier(loss=GroupHinge([0, 1, 2, 3, 1, 3, 0, 1, 3, 2]), C=1, warm_start=True).fit(X, y)
print(f"group hinge: {clf.status_}, {clf.certificate_}")
print(clf.verify(X, y)["finding"])

mine = TopwolfClassifier(loss=TopK(3), C=0.1, tol=1e-4).fit(X, y)
named = TopwolfClassifier(loss="top_k", k=3, C=0.1, tol=1e-4).fit(X, y)
print(f"top-k: {mine.primal_:.4f} by its oracle, {named.primal_:.4f} by name")
