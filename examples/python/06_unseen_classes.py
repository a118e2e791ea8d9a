"""Classes that no training row had, scored from their attributes: 40 kinds are seen in training, 10 are not."""

import numpy as np
from topwolf import TopwolfClassifier

rng = np.random.default_rng(0)
attributes = rng.integers(0, 2, size=(50, 12)).astype(float)  # of every kind: striped, swims, ...
shown_by = rng.normal(size=(12, 64))  # how an attribute looks


def draw(kinds, rows):
    y = rng.choice(kinds, size=rows)
    return attributes[y] @ shown_by + 3.0 * rng.normal(size=(rows, 64)), y


seen, unseen = np.arange(40), np.arange(40, 50)
X, y = draw(seen, 4000)
clf = TopwolfClassifier("usunier", k=3, C=0.01, class_features=attributes[seen]).fit(X, y)
print(f"{clf.status_}: relative gap {clf.relative_gap_:.1e}")

X_test, y_test = draw(seen, 1000)
print(f"40 kinds seen in training:  top-1 error {clf.top_k_error(X_test, y_test, 1):.1%}, top-3 error {clf.top_k_error(X_test, y_test, 3):.1%}")

X_new, y_new = draw(unseen, 1000)
other = clf.with_classes(unseen, attributes[unseen])
print(f"10 kinds never seen:        top-1 error {other.top_k_error(X_new, y_new, 1):.1%}, top-3 error {other.top_k_error(X_new, y_new, 3):.1%}")
print(f"guessing among the ten:     top-1 error {9 / 10:.1%}, top-3 error {7 / 10:.1%}")
