"""Every allocation, open, read, write, fsync and rename fails once: a documented exit code, one sentence, and every file
either as it was or whole and new."""

import bz2
import concurrent.futures
import gzip
import json
import lzma
import struct
import threading

import numpy as np
import pytest

import support
from conftest import environment, run

KINDS = ["allocation", "open", "read", "write", "fsync", "rename"]
CODES = {"allocation": {0, 6}, "open": {0, 4}, "read": {0, 4}, "write": {0, 4}, "fsync": {0, 4}, "rename": {0, 4}}
OLD = b"what was there before"
ROWS = support.libsvm_text(*support.blobs(n=24, d=4, m=3))

# Words, and the files that they write.
TRAIN = ["--force", "--quiet", "--threads", "1", "--tolerance", "0.1"]
CASES = {
    "train": (["train", *TRAIN, "--json", "t.svm", "m.topwolf", "--dual", "d", "--trace", "trace"], {"m.topwolf", "d", "trace"}),
    "train with checkpoints": (["train", *TRAIN, "--checkpoint", "job", "--checkpoint-every", "1e-9", "t.csv.gz", "m.topwolf"], {"m.topwolf", "job"}),
    "resume": (["train", *TRAIN, "--resume", "from.ckpt", "--checkpoint", "/dev/null", "t.svm", "m.topwolf"], {"m.topwolf"}),
    "cv": (["cv", *TRAIN, "--json", "--folds", "2", "-c", "0.1,1", "t.svm.xz", "m.topwolf"], {"m.topwolf"}),
    "sweep": (["sweep", *TRAIN, "--json", "-c", "0.1,1", "t.svm.bz2", "models"], {"models/C_0.1.topwolf", "models/C_1.topwolf"}),
    "predict": (["predict", "--quiet", "--threads", "1", "t.svm.zst", "given.topwolf", "-o", "out"], {"out"}),
    "predict from a cache": (["predict", "--quiet", "--threads", "1", "given.twd", "given.topwolf", "-o", "out"], {"out"}),
    "calibrate": (["calibrate", "--force", "--threads", "1", "t.svm", "given.topwolf", "-o", "m.topwolf"], {"m.topwolf"}),
    "verify": (["verify", "--threads", "1", "t.svm", "given.topwolf", "--dual", "given.dual"], set()),
    "convert to a cache": (["convert", "--threads", "1", "t.npz", "t.twd"], {"t.twd"}),
    "convert to npz": (["convert", "--threads", "1", "t.svm", "out.npz"], {"out.npz"}),
    "convert to LIBLINEAR": (["convert", "given.topwolf", "m.liblinear"], {"m.liblinear"}),
}


@pytest.fixture(scope="module")
def source(tmp_path_factory):
    """A folder with the inputs of all cases."""
    folder = tmp_path_factory.mktemp("source")
    X, y = support.blobs(n=24, d=4, m=3)
    (folder / "t.svm").write_text(ROWS)
    (folder / "t.svm.xz").write_bytes(lzma.compress(ROWS.encode()))
    (folder / "t.svm.bz2").write_bytes(bz2.compress(ROWS.encode()))
    (folder / "t.svm.zst").write_bytes(support.zstd_stored(ROWS.encode()))
    csv = "".join(",".join(map(str, row)) + f",{label}\n" for row, label in zip(X, y))
    (folder / "t.csv.gz").write_bytes(gzip.compress(csv.encode()))
    np.savez_compressed(folder / "t.npz", X=X, y=y)
    (folder / "models").mkdir()
    assert run(folder, ["convert", "t.svm", "given.twd"]).returncode == 0
    assert run(folder, ["train", *TRAIN, "--max-iterations", "2", "--checkpoint", "from.ckpt", "t.svm", "given.topwolf"]).returncode == 5
    assert run(folder, ["train", *TRAIN, "--dual", "given.dual", "t.svm", "given.topwolf"]).returncode == 0
    return folder


def is_whole(name, data, fresh):
    """Whether a file that a run left is what an undisturbed run writes; traces and checkpoints hold seconds."""
    if name == "trace":
        lines = [json.loads(line) for line in data.decode().splitlines()]
        return data.endswith(b"\n") and [line["iteration"] for line in lines] == list(range(1, fresh.count(b"\n") + 1))
    if name == "job":
        length = struct.unpack("<Q", data[:8])[0]
        table = json.loads(data[8 : 8 + length])
        table.pop("__metadata__")
        return len(data) == 8 + length + max(entry["data_offsets"][1] for entry in table.values())
    return data == fresh


class Campaign:
    def __init__(self, source, folder, case):
        self.words, self.outputs = CASES[case]
        self.source, self.folder, self.local = source, folder, threading.local()
        self.fresh = {}  # what an undisturbed run writes
        self.check("", 0, {})
        self.fresh = {name: (self.here() / name).read_bytes() for name in self.outputs}

    def here(self):
        """Each thread has its own copy of the inputs."""
        if not hasattr(self.local, "folder"):
            self.local.folder = self.folder / f"copy{threading.get_ident()}"
            self.local.folder.mkdir()
            for path in self.source.iterdir():
                if path.is_dir():
                    (self.local.folder / path.name).mkdir()
                else:
                    (self.local.folder / path.name).write_bytes(path.read_bytes())
        return self.local.folder

    def count(self, kind):
        done = run(self.here(), self.words, environment(kind, FAIL_COUNT="count"))
        assert done.returncode == 0, done.stderr
        count = self.here() / "count"
        number = int(count.read_text())
        count.unlink()
        return number

    def check(self, kind, at, more):
        folder = self.here()
        for name in self.outputs:
            (folder / name).write_bytes(OLD)
        before = {path.relative_to(folder) for path in folder.rglob("*")}
        done = run(folder, self.words, environment(kind, at, **more))
        lines = done.stderr.splitlines()
        if done.returncode == 0:
            assert all(line.startswith("topwolf: warning: ") for line in lines), done.stderr
        else:
            assert done.returncode in CODES[kind], (done.returncode, done.stderr)
            assert [line for line in lines if not line.startswith("topwolf: warning: ")] == lines[-1:], done.stderr
            assert lines[-1].startswith("topwolf: ") and not lines[-1].startswith("topwolf: a defect"), done.stderr
        assert {path.relative_to(folder) for path in folder.rglob("*")} == before
        for name in self.outputs if self.fresh else ():
            data = (folder / name).read_bytes()
            # A checkpoint that cannot be written is a warning.
            kept = data == OLD and (done.returncode != 0 or (name == "job" and lines))
            assert kept or is_whole(name, data, self.fresh[name]), (name, data[:100])
        return done.returncode


def spread(count, most):
    """Numbers from 1 to count, at most so many, the first and the last among them."""
    if count <= most:
        return range(1, count + 1)
    return sorted({1 + round(k * (count - 1) / (most - 1)) for k in range(most)})


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("case", CASES)
def test_a_call_that_fails_harms_nothing(source, tmp_path, long, case, kind):
    """Alone, and with all that come after it."""
    campaign = Campaign(source, tmp_path, case)
    count = campaign.count(kind)
    assert count > 0 or (kind in ("fsync", "rename") and not campaign.outputs)
    jobs = [(kind, at, {}) for at in spread(count, count if long else 10)]
    jobs += [(kind, at, {"FAIL_ON": "1"}) for at in spread(count, 100 if long else 5)]
    faults = []

    def attempt(job):
        try:
            return campaign.check(*job)
        except Exception as error:
            faults.append((job, repr(error)))

    with concurrent.futures.ThreadPoolExecutor(2) as pool:
        codes = list(pool.map(attempt, jobs))
    assert not faults, f"{len(faults)} of {len(jobs)}, such as {faults[:3]}"
    assert any(codes) or not jobs, "nothing failed"
