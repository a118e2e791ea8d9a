"""Embeddings to a top-3 classifier, with a certificate and a page to look at."""
import numpy as np
from sklearn.datasets import load_digits
from sklearn.model_selection import train_test_split
from sklearn.neural_network import MLPClassifier
from topwolf import TopwolfClassifierCV

# A network that has seen the digits 0 to 4 alone; what its last layer makes of a picture is the picture's embedding.
pictures, digits = load_digits(return_X_y=True)
pictures, seen = pictures / 16.0, digits < 5
network = MLPClassifier(64, max_iter=150, early_stopping=True, random_state=0).fit(pictures[seen], digits[seen])
X = np.maximum(pictures @ network.coefs_[0] + network.intercepts_[0], 0)
X = (X / np.linalg.norm(X, axis=1, keepdims=True)).astype(np.float32)
X_train, X_test, y_train, y_test = train_test_split(X, digits, stratify=digits, random_state=0)

# Chooses C by the top-3 error on held-out folds, and trains on all rows with it.
clf = TopwolfClassifierCV([0.1, 1, 10, 100], loss="usunier", k=3, scoring="top3").fit(X_train, y_train)
print(f"C = {clf.C_:g}; {clf.status_}: at most {100 * clf.dual_gap_ / clf.dual_:.2g} % above the optimum after {clf.n_iter_} passes")
print(f"top-1 error {clf.top_k_error(X_test, y_test, 1):.3f}, top-3 error {clf.top_k_error(X_test, y_test, 3):.3f}")
print("first row:", y_test[0], "among", clf.predict_top_k(X_test[:1])[0])
clf.report(X_test, y_test, "embeddings.html")
