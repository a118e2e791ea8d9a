"""A long computation as jobs: the result of each is a file, and what is there already is not computed again."""

from __future__ import annotations

import json
import os
import time
from collections.abc import Callable
from pathlib import Path
from typing import NamedTuple


class Job(NamedTuple):
    name: str
    key: dict  # what the result depends on; a result with another key is computed anew
    expected_s: float
    work: Callable[[], dict]


class Jobs:
    def __init__(self, folder: Path):
        self.folder = folder
        self.list: list[Job] = []
        folder.mkdir(parents=True, exist_ok=True)

    def result(self, name: str) -> dict:
        return json.loads(self._path(name).read_text())["result"]

    def run(self) -> None:
        """In order, with progress over the whole."""
        waiting = [job for job in self.list if not self._done(job)]
        done, left_s = len(self.list) - len(waiting), sum(job.expected_s for job in waiting)
        print(f"{len(self.list)} jobs, {done} of them done before; {clock(left_s)} to go.", flush=True)
        # What is expected counts as seen with this weight, so that the first jobs do not throw the estimate about.
        spent_s = seen_s = 0.05 * left_s
        for job in waiting:
            start = time.perf_counter()
            result = job.work()
            took_s = time.perf_counter() - start
            write_whole(self._path(job.name), json.dumps({"key": job.key, "took_s": took_s, "result": result}))
            done, left_s = done + 1, left_s - job.expected_s
            spent_s, seen_s = spent_s + took_s, seen_s + job.expected_s
            to_go = clock(left_s * spent_s / seen_s)
            print(f"[{done}/{len(self.list)}] {job.name}: {took_s:.1f} s; {to_go} to go", flush=True)

    def _done(self, job):
        try:
            return json.loads(self._path(job.name).read_text())["key"] == json.loads(json.dumps(job.key))
        except (FileNotFoundError, ValueError, KeyError, TypeError):
            return False

    def _path(self, name):
        return self.folder / f"{name}.json"


def write_whole(path: Path, text: str) -> None:
    """The file appears whole or not at all."""
    part = path.with_name(path.name + ".part")
    part.write_text(text)
    os.replace(part, path)


def clock(seconds: float) -> str:
    minutes = int(max(0.0, seconds) / 60 + 0.5)
    if minutes >= 60:
        return f"about {minutes // 60} h {minutes % 60:02d} min"
    return f"about {minutes} min" if minutes > 0 else "less than a minute"
