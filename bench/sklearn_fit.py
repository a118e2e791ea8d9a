"""Fits scikit-learn's LinearSVC(multi_class="crammer_singer") on LIBSVM text and prints seconds and objective as JSON.
Run by bench/versus --scikit-learn with an interpreter that has scikit-learn: FILE C TOL."""
import json
import sys
import time

import numpy as np
from sklearn.datasets import load_svmlight_file
from sklearn.svm import LinearSVC


def main():
    path, C, tol = sys.argv[1], float(sys.argv[2]), float(sys.argv[3])
    X, y = load_svmlight_file(path)
    if X.nnz >= 0.25 * X.shape[0] * X.shape[1]:
        X = X.toarray()
    else:  # LinearSVC takes no other indices
        X.indices, X.indptr = X.indices.astype(np.int32), X.indptr.astype(np.int32)
    model = LinearSVC(multi_class="crammer_singer", C=C, tol=tol, fit_intercept=False, max_iter=100000)
    start = time.perf_counter()
    model.fit(X, y)
    seconds = time.perf_counter() - start
    # Two classes come as one vector: the shortest W with that difference is half of it each.
    W = model.coef_ if len(model.classes_) > 2 else np.vstack([-model.coef_ / 2, model.coef_ / 2])
    S = X @ W.T
    own = np.searchsorted(model.classes_, y)
    rows = np.arange(len(y))
    Z = S - S[rows, own][:, None] + 1.0
    Z[rows, own] = 0.0
    objective = 0.5 * (W**2).sum() / (C * len(y)) + Z.max(axis=1).mean()
    print(json.dumps({"train": seconds, "primal": objective, "passes": int(model.n_iter_)}))


if __name__ == "__main__":
    main()
