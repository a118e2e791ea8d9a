"""scripts/reproduce: reads the sets, runs the jobs that are not done, and writes the report."""

from __future__ import annotations

import fcntl

import experiments
import report
import sets
from arguments import fail, parse
from plan import FULL, QUICK, Plan


def lock(out):
    """Two runs at once would time each other. The lock goes with the process, however it ends."""
    file = open(out / "lock", "w")
    try:
        fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError:
        fail(4, f"another run writes into {out} already.")
    return file


def run(asked):
    asked.out.mkdir(parents=True, exist_ok=True)
    with lock(asked.out):
        if asked.data is not None and not sets.found_any(asked.data):
            fail(3, f"{asked.data} holds none of the sets; docs/appendix/reproduction.md says what they are called.")
        print("Reading the sets.", flush=True)
        plan = Plan(QUICK if asked.quick else FULL, asked.data, asked.quick, asked.out / "jobs")
        for about in plan.sets.values():
            n, d, m = about.shape
            print(f"  {about.title}: {n:,} x {d:,}, {m} classes ({about.label})")
        plan.prepare().run()
        print(f"The report is {report.write(plan, asked.out, asked.quick)}.")


def main():
    asked = parse()
    try:
        run(asked)
    except sets.BadSet as error:
        fail(3, str(error))
    except experiments.Unsolved as error:
        fail(5, str(error))
    except OSError as error:
        fail(4, f"{error.filename or asked.out} cannot be used: {error.strerror}.")
    except KeyboardInterrupt:
        fail(130, "stopped; the same command goes on from here.")


main()
