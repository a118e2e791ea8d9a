"""Small data sets, written in every format, and what the tests recompute by themselves."""

import json
import struct

import numpy as np


def blobs(n=120, d=6, m=4, seed=0, spread=0.6):
    """Rows around m random centres; labels 1 .. m, every class present."""
    rng = np.random.default_rng(seed)
    centres = rng.normal(size=(m, d))
    y = np.arange(n) % m
    X = centres[y] + spread * rng.normal(size=(n, d))
    return X.astype(np.float32), y + 1


def libsvm_text(X, y, base=1):
    lines = []
    for row, label in zip(X, y):
        values = " ".join(f"{j + base}:{x:.9g}" for j, x in enumerate(row) if x != 0)
        lines.append(f"{label} {values}".rstrip())
    return "\n".join(lines) + "\n"


def write_libsvm(path, X, y, base=1):
    path.write_text(libsvm_text(X, y, base))
    return path


def zstd_stored(data):
    """A zstd frame whose blocks are stored as they are."""
    frame = struct.pack("<IBI", 0xFD2FB528, 0xA0, len(data))
    step = 1 << 16
    for begin in range(0, len(data), step):
        block = data[begin : begin + step]
        last = begin + step >= len(data)
        frame += struct.pack("<I", len(block) << 3 | last)[:3] + block
    return frame


def read_liblinear(path):
    """Labels, bias and W (m x D) of a LIBLINEAR model file."""
    lines = path.read_text().split("\n")
    header = {}
    while lines[0] != "w":
        key, *values = lines.pop(0).split()
        header[key] = values
    W = np.array([[float(x) for x in line.split()] for line in lines[1:] if line.strip()])
    return header["label"], float(header["bias"][0]), W.T


def max_hinge_primal(W, X, y, lam):
    """P(W) in double, by the definition; y counts from 0."""
    X = np.asarray(X, dtype=np.float64)
    total = 0.0
    for x, true in zip(X, y):
        s = W @ x
        margins = np.ones(len(s))
        margins[true] = 0.0
        total += max(0.0, np.max(margins + s - s[true]))
    return lam / 2 * np.sum(W * W) + total / len(X)


def usunier_primal(W, X, y, lam, k):
    X = np.asarray(X, dtype=np.float64)
    total = 0.0
    for x, true in zip(X, y):
        s = W @ x
        margins = np.ones(len(s))
        margins[true] = 0.0
        z = np.sort(margins + s - s[true])[::-1]
        total += np.sum(np.maximum(z[:k], 0.0)) / k
    return lam / 2 * np.sum(W * W) + total / len(X)


def parse_strict(text):
    """JSON as the standard has it: NaN and Infinity are refused."""

    def refuse(word):
        raise ValueError(f"{word} is not JSON")

    return json.loads(text, parse_constant=refuse)
