"""Many small fits in one process leave nothing behind: memory, threads and descriptors stay as they were after the first.

TOPWOLF_FITS says how many; scripts/test --long makes 10,000."""

import os
import subprocess
import sys

SCRIPT = """
import os, sys
import numpy as np
import topwolf
from topwolf import TopwolfClassifier

y = np.arange(1100) % 4
X = np.random.default_rng(0).normal(size=(4, 5))[y] + np.random.default_rng(1).normal(size=(1100, 5))

def fits(count, path):
    for _ in range(count):
        clf = TopwolfClassifier(tol=0.1).fit(X[:60], y[:60])
        clf.save(path)
        topwolf.load(path).predict(X)

def state():
    resident = int(open("/proc/self/statm").read().split()[1]) * os.sysconf("SC_PAGE_SIZE")
    return resident, len(os.listdir("/proc/self/task")), len(os.listdir("/proc/self/fd"))

count, path = int(sys.argv[1]), sys.argv[2]
fits(100, path)
before = state()
fits(count, path)
print(*before, *state())
"""


def test_memory_threads_and_descriptors_stay_flat(tmp_path):
    count = os.environ.get("TOPWOLF_FITS", "300")
    done = subprocess.run(
        [sys.executable, "-W", "ignore", "-c", SCRIPT, count, str(tmp_path / "model.topwolf")],
        env={**os.environ, "OMP_NUM_THREADS": "3"},
        capture_output=True,
        text=True,
        timeout=3600,
    )
    assert done.returncode == 0, done.stderr
    resident, threads, descriptors, resident_after, threads_after, descriptors_after = map(int, done.stdout.split())
    assert threads_after == threads
    assert descriptors_after == descriptors
    assert resident_after - resident < 4e6
