"""Embeddings to a top-5 classifier, with a certificate."""
import numpy as np
from sklearn.datasets import make_blobs
from sklearn.model_selection import train_test_split
from topwolf import TopwolfClassifier

# Stand-ins for the embeddings of some network: 4,000 rows, 128 features, 50 classes.
X, y = make_blobs(4000, 128, centers=50, cluster_std=15.0, random_state=0)
X = (X / np.linalg.norm(X, axis=1, keepdims=True)).astype(np.float32)
X_train, X_test, y_train, y_test = train_test_split(X, y, stratify=y, random_state=0)

clf = TopwolfClassifier("usunier", k=5, C=10).fit(X_train, y_train)
print(f"{clf.status_}: at most {100 * clf.dual_gap_ / clf.dual_:.2g} % above the optimum after {clf.n_iter_} passes")
print(f"top-1 error {clf.top_k_error(X_test, y_test, 1):.3f}, top-5 error {clf.top_k_error(X_test, y_test, 5):.3f}")
print("first row:", y_test[0], "among", clf.predict_top_k(X_test[:1])[0])
