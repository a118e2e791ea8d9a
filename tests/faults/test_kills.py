"""kill -9 at random moments: jobs with checkpoints, resumed, end with the bits of a job that nobody disturbed."""

import json
import random
import struct
import time

import pytest

import support
from conftest import run, start, temporaries

COMMON = ["--quiet", "--threads", "2", "--tolerance", "1e-5", "rows.svm"]
JOBS = {
    "train": ["train", *COMMON, "m.topwolf"],
    "sweep": ["sweep", *COMMON, "models", "-c", "0.01:1:4"],
    "cv": ["cv", *COMMON, "m.topwolf", "-c", "0.01,0.1", "--folds", "3"],
}


def results(folder):
    """All models: their weights as bytes, and what they say of themselves, the command apart."""
    found = {}
    for path in sorted(folder.rglob("*.topwolf")):
        data = path.read_bytes()
        said = json.loads(run(folder, ["inspect", "--json", path]).stdout)
        said.pop("command")
        found[path.relative_to(folder)] = (data[8 + struct.unpack("<Q", data[:8])[0] :], said)
        path.unlink()
    return found


@pytest.mark.parametrize("command", JOBS)
def test_a_killed_job_ends_with_the_same_bits(tmp_path, long, command):
    support.write_libsvm(tmp_path / "rows.svm", *support.blobs(n=1000, d=30, m=10, spread=1.5))
    begun = time.monotonic()
    code = run(tmp_path, JOBS[command]).returncode
    seconds = time.monotonic() - begun
    assert code in (0, 5)
    undisturbed = results(tmp_path)
    assert undisturbed
    checkpoint, draw = tmp_path / "job.ckpt", random.Random(f"{command} {long}")
    kills, ended = 0, 0
    wanted = 67 if long else 7
    while kills < wanted or checkpoint.exists():
        # After enough of them the job is left alone.
        source = ["--resume", "job.ckpt"] if checkpoint.exists() else ["--checkpoint", "job.ckpt"]
        process = start(tmp_path, [*JOBS[command], *source, "--checkpoint-every", "0.01"])
        try:
            process.wait(draw.uniform(0.0, seconds) if kills < wanted else 120)
        except Exception:
            assert kills < wanted, "the job does not end"
            process.kill()
            kills += 1
        out, err = process.communicate()
        if process.returncode == -9:
            continue
        assert process.returncode == code, (out, err)
        assert results(tmp_path) == undisturbed
        assert temporaries(tmp_path) == []
        checkpoint.unlink(missing_ok=True)
        ended += 1
    assert ended > 0 or kills >= wanted
