"""What every measurement shares: who measured what where, and running a program with its time and memory."""
import json
import os
import platform
import subprocess
import sys
import tempfile
import time
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent


def _processor():
    for line in Path("/proc/cpuinfo").read_text().splitlines():
        if line.startswith("model name"):
            return line.split(":", 1)[1].strip()
    return platform.machine()


def _commit():
    try:
        described = ["git", "-C", str(ROOT), "describe", "--always", "--dirty", "--exclude", "*"]
        return subprocess.run(described, capture_output=True, text=True, check=True).stdout.strip()
    except (OSError, subprocess.CalledProcessError):
        return "unknown"


COMMIT = _commit()  # when the measurement began: the tree may move on


def available_cores():
    return len(os.sched_getaffinity(0))


def line(benchmark, threads, **values):
    """What is known about a measurement, and its values."""
    context = {
        "benchmark": benchmark,
        "command": " ".join(sys.argv),
        "commit": COMMIT,
        "machine": f"{_processor()}, {os.cpu_count()} cores",
        "threads": threads,
    }
    return {**context, **values}


def emit(benchmark, threads, **values):
    """One JSON line on standard output."""
    print(json.dumps(line(benchmark, threads, **values)), flush=True)


def table(header, rows):
    """For people, on standard error."""
    widths = [max(len(str(row[c])) for row in [header, *rows]) for c in range(len(header))]
    for row in [header, *rows]:
        print("  ".join(str(cell).rjust(width) for cell, width in zip(row, widths)), file=sys.stderr)


def program(build, name):
    path = build / name
    if not path.exists():
        sys.exit(f"There is no {path}; build it with: cmake --preset release && cmake --build --preset release")
    return str(path)


def run(command, environment=None, accept=(0,)):
    """Seconds of the whole process, its peak resident bytes, and its standard output. The peak is taken by time(1):
    what a child of this process would report includes this process itself."""
    with tempfile.NamedTemporaryFile("r") as peak:
        start = time.perf_counter()
        process = subprocess.run(
            ["/usr/bin/time", "--quiet", "--format", "%M", "--output", peak.name, *command],
            stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, env={**os.environ, **(environment or {})},
        )
        seconds = time.perf_counter() - start
        kilobytes = int(peak.read().split()[-1])
    if process.returncode not in accept:
        sys.exit(f"{' '.join(command)} ended with exit code {process.returncode}.")
    return seconds, kilobytes * 1024, process.stdout.decode()
