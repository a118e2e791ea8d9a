"""Text as tf-idf rows of unit length, in LIBSVM files: generated documents, and the word counts of news20.

A generated document is of one class and about a few topics, which classes share: half of its words are common ones
(Zipf's law), the rest are those of its topics. More than half of the documents quote most of an earlier one and add a
few words, some of them in another class, as messages and descriptions of software do: rows that are nearly the same
with different labels are what makes text hard at a large C.
"""
import lzma
import os
from pathlib import Path

import numpy as np

from common import ROOT

CACHE = ROOT / "data-cache"
NEWS20 = Path(os.environ.get("TOPWOLF_DATA", ROOT.parent / "shared" / "data")) / "news20/news20_counts.train.libsvm.xz"
SHAPES = {"tfidf_40000x30000x57": (40_000, 30_000, 57), "tfidf_10000x15000x57": (10_000, 15_000, 57)}
NAMES = (*SHAPES, "news20_tfidf")


def _zipf(rng, words):
    """A distribution over all words: Zipf's law over them in an order of its own."""
    share = np.zeros(words)
    share[rng.permutation(words)] = 1.0 / np.arange(1, words + 1)
    return share / share.sum()


def _documents(n, d, m, seed=0):
    """Labels, and the words of every document."""
    rng = np.random.default_rng(seed)
    common = np.cumsum(_zipf(rng, d))
    topics = [np.cumsum(_zipf(rng, d)) for _ in range(m)]
    about = [rng.choice(m, 4, replace=False) for _ in range(m)]
    sizes = 1.0 / np.arange(1, m + 1) ** 0.7
    sizes /= sizes.sum()
    before = []
    for _ in range(n):
        y, words = int(rng.choice(m, p=sizes)), np.empty(0, dtype=np.int64)
        length = int(np.clip(rng.lognormal(2.8, 0.5), 4, 1000))
        if before and rng.random() < 0.6:
            theirs, quoted = before[rng.integers(max(0, len(before) - 1000), len(before))]
            y = theirs if rng.random() < 0.7 else y
            words = rng.permutation(quoted)[: max(1, int(rng.uniform(0.5, 1.0) * len(quoted)))]
            length = int(rng.integers(1, 5))
        at, kind = rng.random(length), rng.random(length)
        fresh = np.searchsorted(common, at)
        topic = np.take(about[y], rng.choice(4, length, p=rng.dirichlet(np.full(4, 0.5))))
        for t in np.unique(topic):
            chosen = (topic == t) & (kind >= 0.5)
            fresh[chosen] = np.searchsorted(topics[t], at[chosen])
        words = np.concatenate([words, np.minimum(fresh, d - 1)])
        before.append((y, words))
        yield y, words


def _news20():
    """Its training half: labels, and words as often as they occur."""
    with lzma.open(NEWS20, "rt") as file:
        for line in file:
            label, *pairs = line.split()
            columns, counts = np.array([pair.split(":") for pair in pairs], dtype=np.float64).reshape(-1, 2).T
            yield int(float(label)), np.repeat(columns.astype(np.int64) - 1, counts.astype(np.int64))


def path_of(name):
    """The file of a set, made if it is not there; None where the real data is missing."""
    path = CACHE / f"{name}.svm"
    if path.exists():
        return path
    if name == "news20_tfidf" and not NEWS20.exists():
        return None
    CACHE.mkdir(exist_ok=True)
    documents = [(y, *np.unique(words, return_counts=True))
                 for y, words in (_news20() if name == "news20_tfidf" else _documents(*SHAPES[name]))]
    seen = np.bincount(np.concatenate([columns for _, columns, _ in documents]))
    idf = 1.0 + np.log((1.0 + len(documents)) / (1.0 + seen))  # as scikit-learn's TfidfVectorizer
    part = path.with_name(path.name + ".part")
    with open(part, "w") as file:
        for y, columns, counts in documents:
            x = counts * idf[columns]
            file.write(f"{y} " + " ".join(f"{c + 1}:{v:.7g}" for c, v in zip(columns, x / np.linalg.norm(x))) + "\n")
    part.replace(path)
    return path
