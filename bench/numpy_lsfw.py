"""Algorithm 1 of the paper, corrected, for weighted Usunier without smoothing: the float32 NumPy transcription that
bench/iteration compares with. Line 3 computes W from A; with --keep-W it is updated instead, which saves a product.
Usage: numpy_lsfw.py FEATURES.npy LABELS.npy ITERATIONS [--keep-W]; prints one JSON document.
The number of threads is OpenBLAS's: set OPENBLAS_NUM_THREADS.
"""
import json
import sys
import time

import numpy as np


def lsfw(X, y, iterations, keep_W):
    """Seconds at the end of each iteration, and the dual that each saw before its step."""
    n, m = len(y), int(y.max()) + 1
    lambda_n = np.float32(1.0)  # C = 1
    rho = np.array([5, 4, 3, 2, 1][: m - 1], dtype=np.float32)
    rho /= rho.sum()
    rows = np.arange(n)
    C = np.full((n, m), -1, dtype=np.float32)
    C[rows, y] = 0
    W = np.zeros((m, X.shape[1]), dtype=np.float32)
    A = np.zeros((n, m), dtype=np.float32)
    seconds, duals = [], []
    for iteration in range(iterations):
        if not keep_W:
            W = A.T @ X / lambda_n
        S = X @ W.T
        G = C - S
        Z = G[rows, y][:, None] - G
        if iteration == 0:  # not timed; all scores are 0, and ties go to the lower class
            best = np.argsort(-Z, axis=1, kind="stable")[:, : len(rho)]
        else:
            best = np.argpartition(-Z, len(rho) - 1, axis=1)[:, : len(rho)]
        z = np.take_along_axis(Z, best, axis=1)
        order = np.argsort(-z, axis=1, kind="stable")
        best = np.take_along_axis(best, order, axis=1)
        beta = np.where(np.take_along_axis(z, order, axis=1) > 0, rho, np.float32(0))
        U = np.zeros((n, m), dtype=np.float32)
        np.put_along_axis(U, best, -beta, axis=1)
        U[rows, y] += beta.sum(axis=1)
        duals.append((np.vdot(C, A) - lambda_n * np.vdot(W, W) / 2) / n)
        dA = U - A
        dW = dA.T @ X / lambda_n
        numerator, denominator = np.vdot(dA, G), lambda_n * np.vdot(dW, dW)
        gamma = np.clip(numerator / denominator, 0, 1) if denominator > 0 else np.float32(numerator > 0)
        A += gamma * dA
        if keep_W:
            W += gamma * dW
        seconds.append(time.perf_counter())
    return seconds, duals


def main():
    X, y = np.load(sys.argv[1]), np.load(sys.argv[2])
    seconds, duals = lsfw(X, y, int(sys.argv[3]), "--keep-W" in sys.argv)
    per_iteration = (seconds[-1] - seconds[0]) / (len(seconds) - 1)
    print(json.dumps({"seconds": per_iteration, "dual": float(duals[-1])}))


if __name__ == "__main__":
    main()
