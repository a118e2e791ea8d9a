"""The sets of bench/versus: the real ones as scripts/data prepares them, with rows of unit length, and generated ones."""
import subprocess
import sys
from pathlib import Path

import numpy as np

import text_sets
from common import ROOT

CACHE = ROOT / "data-cache"
REAL = ("cub200", "flower102", "caltech101", "silhouettes16", "silhouettes28", "usps", "letter", "ar_faces", "news20svd")
TEXT = ("news20",)
DENSE = {  # name: (n, d, m)
    "dense_6000x1024x100": (6000, 1024, 100),
    "dense_20000x512x1000": (20000, 512, 1000),
    "dense_16000x4096x20": (16000, 4096, 20),  # 262 MB: for the peak memory
}
SPARSE = {"sparse_16000x62000x20": (16000, 62000, 20)}  # 80 non-zeros a row
NAMES = [*REAL, *TEXT, *DENSE, *SPARSE, *text_sets.NAMES]


def _write(path, lines):
    part = path.with_name(path.name + ".part")
    with open(part, "w") as file:
        file.writelines(lines)
    part.replace(path)


def _dense_lines(n, d, m):
    """Like embeddings: class means and noise, unit rows. Classes come in families of five."""
    rng = np.random.default_rng(0)
    family = rng.standard_normal((m // 5 + 1, d))
    means = family[np.arange(m) // 5] + rng.standard_normal((m, d))
    pattern = " ".join(f"{c + 1}:%.7g" for c in range(d))
    for i in range(n):
        y = i % m
        x = means[y] + 4.0 * rng.standard_normal(d)
        yield f"{y} " + pattern % tuple(x / np.linalg.norm(x)) + "\n"


def _sparse_lines(n, d, m):
    """Like text: words by Zipf's law, a tenth of them from the class's own list; log counts, unit rows."""
    rng = np.random.default_rng(0)
    share = 1.0 / np.arange(1, d + 1)
    edges = np.cumsum(share / share.sum())
    own = rng.permuted(np.tile(np.arange(d), (m, 1)), axis=1)
    for i in range(n):
        y = i % m
        words = set()
        while len(words) < 80:
            word = int(np.searchsorted(edges, rng.random()))
            words.add(int(own[y, word]) if rng.random() < 0.1 else min(word, d - 1))
        columns = sorted(words)
        x = np.log1p(rng.geometric(0.6, size=80))
        pairs = (f"{c + 1}:{v:.7g}" for c, v in zip(columns, x / np.linalg.norm(x)))
        yield f"{y} " + " ".join(pairs) + "\n"


def path_of(name):
    """The LIBSVM file of a set, made if it is not there; None where the real data is missing."""
    if name in text_sets.NAMES:
        return text_sets.path_of(name)
    if name in DENSE or name in SPARSE:
        path = CACHE / f"{name}.svm"
        if not path.exists():
            CACHE.mkdir(exist_ok=True)
            _write(path, _dense_lines(*DENSE[name]) if name in DENSE else _sparse_lines(*SPARSE[name]))
        return path
    path = CACHE / (f"{name}.train.svm" if name in TEXT else f"{name}_unit.train.svm")
    if not path.exists():
        made = subprocess.run([sys.executable, str(ROOT / "scripts" / "data"), "--unit", name], stdout=sys.stderr)
        if made.returncode != 0:
            return None
    return path


class Rows:
    """LIBSVM text as arrays, to compute the objective of a model with nothing of topwolf's."""

    def __init__(self, path):
        labels, columns, values, starts = [], [], [], [0]
        for line in Path(path).read_text().splitlines():
            label, _, rest = line.partition(" ")
            labels.append(int(label))
            pairs = np.array(rest.replace(":", " ").split(), dtype=np.float64)
            columns.append(pairs[0::2].astype(np.int64) - 1)
            values.append(pairs[1::2].astype(np.float32).astype(np.float64))
            starts.append(starts[-1] + len(values[-1]))
        self.y = np.array(labels)
        self.starts, self.columns, self.values = np.array(starts), np.concatenate(columns), np.concatenate(values)
        self.n = len(labels)
        self.nonzeros = len(self.values)

    def max_hinge_objective(self, W, classes, C):
        """lambda/2 ||W||^2 + mean max hinge, lambda = 1/(C n); W is (d x m), its columns in the order of classes."""
        place = {label: j for j, label in enumerate(classes)}
        y = np.array([place[label] for label in self.y.tolist()])
        loss = 0.0
        for begin in range(0, self.n, 200):
            end = min(self.n, begin + 200)
            S = np.zeros((end - begin, W.shape[1]))
            for i in range(begin, end):
                at = slice(self.starts[i], self.starts[i + 1])
                S[i - begin] = self.values[at] @ W[self.columns[at]]
            own = S[np.arange(end - begin), y[begin:end]]
            Z = S - own[:, None] + 1.0
            Z[np.arange(end - begin), y[begin:end]] = 0.0
            loss += Z.max(axis=1).sum()
        return 0.5 * (W**2).sum() / (C * self.n) + loss / self.n
