"""Rows like those of a deep network's last layer, generated on a GPU: `python3 bench/generate_rows.py FOLDER N D M`.

Class centres and noise in D directions, the k-th of which is scaled by 1/sqrt(k), turned at random, cut at 0 (ReLU) and
brought to unit length: non-negative rows with a large mean, as in deep features. Writes FOLDER/X.npy (float32),
FOLDER/y.npy, and half as many rows, at most 50,000, to FOLDER/X_test.npy and FOLDER/y_test.npy."""

import pathlib
import sys

import numpy as np
import torch


def rows_of(labels, centres, spectrum, turn, generator):
    """The rows of these labels, a part at a time."""
    for part in labels.split(1 << 16):
        noise = torch.randn(len(part), len(spectrum), generator=generator, device="cuda")
        rows = torch.relu(((centres[part] + noise) * spectrum) @ turn)
        yield (rows / rows.norm(dim=1, keepdim=True).clamp_min(1e-20)).cpu().numpy()


def main():
    folder, n, d, m = pathlib.Path(sys.argv[1]), *map(int, sys.argv[2:5])
    folder.mkdir(parents=True, exist_ok=True)
    generator = torch.Generator(device="cuda").manual_seed(7)
    centres = torch.randn(m, d, generator=generator, device="cuda")
    spectrum = torch.arange(1, d + 1, device="cuda").float().rsqrt()
    turn = torch.linalg.qr(torch.randn(d, d, generator=generator, device="cuda"))[0]
    for name, count in (("", n), ("_test", min(n // 2, 50_000))):
        labels = torch.randint(m, (count,), generator=generator, device="cuda")
        X = np.lib.format.open_memmap(folder / f"X{name}.npy", "w+", np.float32, (count, d))
        at = 0
        for rows in rows_of(labels, centres, spectrum, turn, generator):
            X[at : at + len(rows)] = rows
            at += len(rows)
        np.save(folder / f"y{name}.npy", labels.cpu().numpy().astype(np.int32))


if __name__ == "__main__":
    main()
