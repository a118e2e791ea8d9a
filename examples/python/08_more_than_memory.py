"""More rows than memory: from a Parquet file, batch by batch. What does not fit stays on disk, and the optimum is certified all the same."""
import numpy as np
import pyarrow as pa
import pyarrow.parquet as parquet
from topwolf import TopwolfClassifier

# What another program left: embeddings and labels, sorted by label.
rng = np.random.default_rng(0)
centres = rng.normal(size=(20, 128))
names = pa.list_(pa.float32(), 128)
with parquet.ParquetWriter("embeddings.parquet", pa.schema({"embedding": names, "label": pa.string()})) as file:
    for j, centre in enumerate(centres):
        X = centre + 3 * rng.normal(size=(500, 128))
        X = pa.array((X / np.linalg.norm(X, axis=1, keepdims=True)).astype(np.float32).ravel())
        columns = [pa.FixedSizeListArray.from_arrays(X, type=names), pa.array([f"kind {j}"] * 500)]
        file.write_table(pa.table(dict(zip(["embedding", "label"], columns))))


def batches():
    """No more than a batch is in memory at a time. They may as well come from a database, or from a network that makes embeddings."""
    with parquet.ParquetFile("embeddings.parquet") as file:
        for batch in file.iter_batches(batch_size=1000):
            yield batch.select(["embedding"]), batch["label"]


clf = TopwolfClassifier("top_k", k=3, C=10, memory="1G").fit_iter(batches)
print(f"{clf.status_}: at most {100 * clf.dual_gap_ / clf.dual_:.2g} % above the optimum after {clf.n_iter_} passes")
errors = [clf.top_k_error(X, y, k=3) for X, y in batches()]
print(f"top-3 error {np.mean(errors):.3f} on the rows themselves")
