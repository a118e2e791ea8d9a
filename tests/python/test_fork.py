"""A process that is forked after, or while, threads were at work: the child fits, predicts and searches as its parent does.

Every script runs in a process group of its own, and a hang ends it: a child by its alarm, the group by a timeout."""

import os
import signal
import subprocess
import sys

import pytest

PRELUDE = """
import multiprocessing, os, signal, sys, threading, traceback
import numpy as np
import topwolf
from topwolf import TopwolfClassifier, TopwolfClassifierCV

y = np.arange(2000) % 10
rng = np.random.default_rng(0)
X = (0.5 * rng.normal(size=(10, 64))[y] + rng.normal(size=(2000, 64))).astype(np.float32)

def fit():
    return TopwolfClassifier(max_iter=5, tol=0.5).fit(X, y)

def search():
    return TopwolfClassifierCV([0.01, 0.1], cv=3, tol=0.5).fit(X, y)

def start_child(work):
    pid = os.fork()
    if pid: return pid
    signal.alarm(60)
    code = 1
    try:
        work()
        code = 0
    except BaseException:
        traceback.print_exc()
    finally:
        sys.stderr.flush()
        os._exit(code)

def join(pid):
    assert os.waitpid(pid, 0)[1] == 0, "the child hung, died or failed"

def in_child(work):
    join(start_child(work))

def check(fitted, searched):
    np.testing.assert_array_equal(fit().coef_, fitted.coef_)
    np.testing.assert_array_equal(fitted.predict(X), expected)
    assert search().C_ == searched.C_

"""


def run(script, **env):
    process = subprocess.Popen(
        [sys.executable, "-c", PRELUDE + script],
        env={**os.environ, "OMP_NUM_THREADS": "3", **env},
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
        start_new_session=True,
    )
    try:
        output, _ = process.communicate(timeout=150)
    except subprocess.TimeoutExpired:
        os.killpg(process.pid, signal.SIGKILL)
        pytest.fail(f"the script hung: {process.communicate()[0]}")
    assert process.returncode == 0, output
    return output


def test_a_pool_that_forks_predicts():
    run(
        """
clf = fit()
with multiprocessing.get_context("fork").Pool(2) as pool:
    for labels in pool.map(clf.predict, [X, X]):
        np.testing.assert_array_equal(labels, clf.predict(X))
"""
    )


@pytest.mark.parametrize("before", ["fit()", "model.predict(X)", "search()"])
def test_a_child_works_after_its_parent_has(before):
    run(
        f"""
in_child(fit)  # the first threads of all start in a child
model, searched = fit(), search()
expected = model.predict(X)
{before}
in_child(lambda: check(model, searched))
in_child(lambda: in_child(lambda: check(model, searched)))  # a child of the child
check(model, searched)
"""
    )


def test_a_child_works_when_other_threads_were_at_work():
    run(
        """
model, searched = fit(), search()
expected = model.predict(X)
stop = threading.Event()
def fit_and_predict():
    while not stop.is_set():
        fit().predict(X)
threads = [threading.Thread(target=fit_and_predict) for _ in range(2)]
for thread in threads: thread.start()
for _ in range(20):
    in_child(lambda: check(model, searched))
stop.set()
for thread in threads: thread.join()
check(model, searched)
"""
    )


def test_a_fit_that_forks_goes_on_in_both_processes():
    run(
        """
expected = fit().coef_
children = []
def fork_once(record):
    if children: return
    children.append(os.fork())
    if children[0] == 0: signal.alarm(60)
clf = TopwolfClassifier(max_iter=5, tol=0.5).fit(X, y, callback=fork_once)
np.testing.assert_array_equal(clf.coef_, expected)
if children[0] == 0: os._exit(0)
join(children[0])
"""
    )


@pytest.mark.parametrize("backend", ["loky", "multiprocessing"])
def test_joblib(backend):
    run(
        f"""
import joblib
from sklearn.model_selection import cross_val_score
clf = fit()
with joblib.parallel_backend({backend!r}, n_jobs=2):
    for labels in joblib.Parallel()(joblib.delayed(clf.predict)(X) for _ in range(3)):
        np.testing.assert_array_equal(labels, clf.predict(X))
    scores = cross_val_score(TopwolfClassifier(tol=0.1), X, y, cv=3)
np.testing.assert_array_equal(scores, cross_val_score(TopwolfClassifier(tol=0.1), X, y, cv=3))
"""
    )


def test_a_server_that_loads_before_it_forks(tmp_path):
    run(
        f"""
fit().save({str(tmp_path / "model.topwolf")!r})
model = topwolf.load({str(tmp_path / "model.topwolf")!r})
expected = model.predict(X)
def serve():
    for _ in range(3):
        np.testing.assert_array_equal(model.predict(X), expected)
    np.testing.assert_array_equal(fit().coef_, model.coef_)
workers = [start_child(serve) for _ in range(4)]
serve()
for worker in workers: join(worker)
"""
    )


def test_beside_the_openmp_of_scikit_learn():
    run(
        """
from sklearn.cluster import KMeans
from sklearn.ensemble import HistGradientBoostingClassifier
HistGradientBoostingClassifier(max_iter=2).fit(X, y)
KMeans(4, n_init=1, max_iter=5).fit(X)
model, searched = fit(), search()
expected = model.predict(X)
in_child(lambda: check(model, searched))
HistGradientBoostingClassifier(max_iter=2).fit(X, y)
in_child(lambda: check(model, searched))
"""
    )
