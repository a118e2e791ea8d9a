"""Which of two embeddings is better? A linear probe of each, in one call, certified at every C."""
import numpy as np
import topwolf
from sklearn.datasets import make_blobs
from sklearn.preprocessing import normalize

# Stand-ins for what two networks make of the same 3,000 pictures of 40 kinds: the second one blurs them.
X, y = make_blobs(3000, 64, centers=40, cluster_std=12.0, random_state=0)
blur = np.random.default_rng(0).normal(size=(64, 24))
for name, embedding in {"sharp": X, "blurred": X @ blur}.items():
    rows = normalize(embedding).astype(np.float16)
    found = topwolf.probe(rows[:2000], y[:2000], rows[2000:], y[2000:], Cs=[0.1, 1, 10, 100], scoring="top1")
    print(f"{name}: {found}")
    for C, top1, top5, gap in zip(*(found.table[column] for column in ("C", "top_1_error", "top_5_error", "relative_gap"))):
        print(f"  C = {C:<5g} top-1 error {top1:.3f}  top-5 error {top5:.3f}  certified to {gap:.1e}")
