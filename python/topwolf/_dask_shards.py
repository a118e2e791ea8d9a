"""Shards on the workers of a Dask cluster, and who carries questions to them.

A question is an ordinary task for each shard, on the worker that has it if that is there, and tasks that add up the
answers in the tree that `topwolf train --shards` adds up in (ledger, B3). Dask may run a task again, run it elsewhere, or
never: a shard answers a question that it was asked last with what it answered last, and one that has missed a question, or
is a copy that went on without the others, does not answer at all.
"""

from __future__ import annotations

import hashlib
import threading
import time
import uuid
from concurrent.futures import CancelledError

import distributed
import numpy as np
from distributed.comm import CommClosedError
from distributed.scheduler import KilledWorker
from scipy import sparse

from . import _core
from ._features import to_features

_MOST_TRIES = 40  # with pauses of up to a second
_MOST_KILLED = 5  # tries at which Dask gave a task up because it had killed every worker that it ran on
_MOST_ALONE_S = 300.0  # without any worker
_LOOK_S = 2.0
_LARGE = 10_000  # bytes: what is larger goes to workers, not to the scheduler
_LEFT_BEHIND_S = 3600.0  # by a client that was killed

# ---- On the workers


class _Held:
    """A shard. `token` tells it from another one of the same rows, `asked` is the number of the question that it answered last."""

    def __init__(self, number, part):
        self.number, self.part, self.shard = number, part, None
        self.token, self.asked, self.said = uuid.uuid4().hex, 0, None
        self.lock, self.used = threading.Lock(), time.monotonic()

    def answer(self, question, classes):
        if self.shard is None:
            X, y, weights = self.part
            y = np.searchsorted(classes, y).astype(np.int32)
            X = X if X.shape[0] > 0 else sparse.csr_matrix((0, X.shape[1]), dtype=np.float32)
            threads = distributed.get_worker().state.nthreads
            self.shard = _core.Shard(to_features(X), y, weights, self.number, threads)
            self.part = None
        self.used = time.monotonic()
        return self.shard.answer(question)


_held: dict[tuple[str, int], _Held] = {}
_guard = threading.Lock()


def _open(fit, number, part, told, classes, asked):
    """Begins a shard, told what it missed; returns what is to be known of it."""
    held = _Held(number, part)
    X, y, _ = part
    found = {"number": number, "token": held.token, "n": X.shape[0], "labels": np.unique(y)}
    answers = [held.answer(question, classes) for question in told]
    found["described"] = _digest(answers[0]) if answers else None
    held.asked = asked
    with _guard:
        now = time.monotonic()
        for key in [key for key, other in _held.items() if now - other.used > _LEFT_BEHIND_S]:
            del _held[key]
        _held[fit, number] = held
    return found | {"home": distributed.get_worker().address}


def _answer(shared, fit, number, token):
    """What a shard answers, and {number: (where it is, what it said)}; None where it is not here."""
    asked, question, classes = shared
    with _guard:
        held = _held.get((fit, number))
    if held is None or held.token != token:
        return _absent(number)
    with held.lock:
        if held.asked == asked - 1:
            held.said, held.asked = held.answer(question, classes), asked
        if held.asked != asked:
            return _absent(number)
        return held.said, {number: (distributed.get_worker().address, _digest(held.said) if asked == 1 else None)}


def _absent(number):
    return _core.Shard.lost(), {number: None}


def _add(left, right):
    return _core.Shard.add(left[0], right[0]), {**left[1], **right[1]}


def _forget(fit):
    with _guard:
        for key in [key for key in _held if key[0] == fit]:
            del _held[key]


def _digest(answer):
    return hashlib.sha256(answer).hexdigest()


# ---- At the client


class Carrier:
    """Carries questions to the shards of a fit, and their sum back. `open` comes first."""

    def __init__(self, client, parts):
        self.client, self.parts, self.fit = client, parts, uuid.uuid4().hex
        self.classes = None
        self.interrupt = None  # KeyboardInterrupt, for whoever looks after the fit
        self._asked, self._told = 0, []
        self._homes, self._tokens, self._described = {}, {}, {}
        self._lost, self._missed, self._tries = set(), [], 0

    def open(self):
        """Brings the rows to memory, a part to a shard; returns {"n": rows, "labels": those that occur} of each."""
        return self._insist(lambda: self._open(range(len(self.parts))))

    def __call__(self, question):
        if self._lost and _core.Shard.revives(question):
            self._insist(self._reopen)
        self._asked += 1
        answer, where = self._insist(lambda: self._ask(question))
        for number, there in where.items():
            if there is None:
                self._lost.add(number)
            else:
                self._homes[number], said = there
                self._described.setdefault(number, said)
        if self._asked == 1 or (_core.Shard.prepares(question) and not self._lost):
            self._told.append(question)
        return answer

    def close(self):
        """Nothing of the fit stays on the workers."""
        try:
            self.client.run(_forget, self.fit, on_error="ignore")
        except Exception:  # a cluster that is gone has forgotten
            pass

    # ---- Beginning, and beginning again

    def _open(self, numbers):
        told = list(self._told)
        parts = self.client.compute([self.parts[k] for k in numbers])
        self._wait(parts)
        homes = self._first_homes(parts)
        opened = [
            self.client.submit(
                _open, self.fit, k, part, told, self.classes, self._asked,
                workers=[home], allow_other_workers=True, pure=False, key=f"topwolf-open-{uuid.uuid4().hex}",
            )
            for k, part, home in zip(numbers, parts, homes)
        ]  # fmt: skip
        self._wait(opened, homes)
        found = [future.result() for future in opened]
        for one in found:
            self._homes[one["number"]], self._tokens[one["number"]] = one["home"], one["token"]
        return found

    def _reopen(self):
        for one in self._open(sorted(self._lost)):
            if self._described.setdefault(one["number"], one["described"]) != one["described"]:
                raise RuntimeError(
                    f"A worker was lost, and the rows of shard {one['number']} came out otherwise when Dask computed them "
                    "again. Seed what is random, or save the rows to files."
                )
        self._lost.clear()
        return True

    def _first_homes(self, parts):
        """Where the parts are, if no worker has more than its share; others go to who has least."""
        addresses = sorted(self.client.nthreads())
        if not addresses:
            raise CancelledError("there are no workers")
        where = self.client.who_has(parts)
        most = -(-len(self.parts) // len(addresses))
        load = dict.fromkeys(addresses, 0)
        for number, home in self._homes.items():
            if number not in self._lost and home in load:
                load[home] += 1
        homes = []
        for part in parts:
            there = [a for a in where.get(part.key, ()) if load.get(a, most) < most]
            homes.append(min(there or addresses, key=lambda a: (load[a], a)))
            load[homes[-1]] += 1
        return homes

    # ---- Asking

    def _ask(self, question):
        """The answers of all, and where they are; None where a shard was not found, but may be there."""
        if self._tries > 0:
            alive = self.client.nthreads()
            self._lost.update(k for k, home in self._homes.items() if home not in alive)
        shared = self._shared(question)
        answers = [self._submit(k, shared) for k in range(len(self.parts))]
        total = self._sum(answers, 0, len(answers))
        if not isinstance(total, tuple):
            self._wait([total], [home for k, home in self._homes.items() if k not in self._lost])
            total = total.result()
        answer, where = total
        absent = [k for k, there in where.items() if there is None and k not in self._lost]
        alive = self.client.nthreads() if absent else ()
        self._missed = absent if any(self._homes[k] in alive for k in absent) else []
        return None if self._missed else (answer, where)

    def _shared(self, question):
        shared = self._asked, question, self.classes if self._asked == 1 else None
        if len(question) < _LARGE:
            return shared
        try:
            return self.client.scatter([shared], hash=False)[0]
        except (TimeoutError, distributed.TimeoutError) as error:  # no worker was there to take it
            raise CancelledError(str(error)) from error

    def _submit(self, number, shared):
        if number in self._lost:
            return _absent(number)
        home = self._homes[number]
        return self.client.submit(
            _answer, shared, self.fit, number, self._tokens[number],
            workers=[home], allow_other_workers=True, pure=False, key=f"topwolf-shard-{uuid.uuid4().hex}",
        )  # fmt: skip

    def _sum(self, answers, begin, end):
        """The same tree as everywhere."""
        if end - begin == 1:
            return answers[begin]
        half = 1
        while 2 * half < end - begin:
            half *= 2
        left, right = self._sum(answers, begin, begin + half), self._sum(answers, begin + half, end)
        if isinstance(left, tuple) and isinstance(right, tuple):
            return _add(left, right)
        return self.client.submit(_add, left, right, pure=False, key=f"topwolf-sum-{uuid.uuid4().hex}")

    # ---- Waiting

    def _insist(self, attempt):
        """What attempt() returns; again where workers are lost meanwhile, or that is None."""
        last, killed = None, 0
        for tries in range(_MOST_TRIES):
            self._missed, self._tries = [], tries
            try:
                done = attempt()
                if done is not None:
                    return done
            except KeyboardInterrupt as stop:
                if self.interrupt is not None or self._asked == 0:
                    raise
                self.interrupt = stop  # the question is asked once more; then whoever looks after the fit ends it
                continue
            except (KilledWorker, CancelledError, CommClosedError) as error:
                last, killed = error, killed + isinstance(error, KilledWorker)
            except Exception:
                self._check_scheduler()
                raise
            self._check_scheduler()
            if killed == _MOST_KILLED:
                break
            time.sleep(min(1.0, 0.01 * 2**tries))
            if tries >= _MOST_TRIES // 2:
                self._lost.update(self._missed)  # somewhere, but not to be reached
        raise RuntimeError(
            "Workers of the Dask cluster were lost again and again at one question of a fit; they may lack memory."
        ) from last

    def _wait(self, futures, homes=()):
        """As long as there are workers, these among them: while there was none, the scheduler took a pin to be strict."""
        alone = None
        while True:
            try:
                with self.client.as_current():
                    return distributed.wait(futures, timeout=_LOOK_S)
            except (TimeoutError, distributed.TimeoutError):
                self._check_scheduler()
            if there := self.client.nthreads():
                alone = None
                if not set(homes) <= set(there):
                    raise CancelledError("a worker is gone")
                continue
            alone = alone or time.monotonic()
            if time.monotonic() - alone > _MOST_ALONE_S:
                raise RuntimeError(f"The Dask cluster has had no workers for {_MOST_ALONE_S:.0f} seconds.")

    def _check_scheduler(self):
        """While the connection is being made again it waits, as long as the client itself does."""
        while self.client.status == "connecting":
            time.sleep(0.1)
        if self.client.status != "running":
            raise ConnectionError("The scheduler of the Dask cluster is gone, and with it the fit.")
