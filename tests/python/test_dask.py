"""DaskTopwolfClassifier on clusters of this machine: the same bits on any of them, workers that are killed, and rows and labels
as they come."""

import os
import pickle
import random
import signal
import threading
import time
import warnings

import dask.array as da
import dask.dataframe as dd
import numpy as np
import pandas as pd
import pytest
from distributed import Client, LocalCluster
from scipy import sparse

import topwolf
from topwolf.dask import DaskTopwolfClassifier

KILLS = int(os.environ.get("TOPWOLF_KILLS", "3"))


def rows(n=600, d=9, m=5, seed=0):
    rng = np.random.default_rng(seed)
    y = np.arange(n) % m
    return (rng.normal(size=(m, d))[y] + 1.2 * rng.normal(size=(n, d))).astype(np.float32), y


def cluster(workers, processes=True, threads=1):
    return LocalCluster(n_workers=workers, threads_per_worker=threads, processes=processes, dashboard_address=None)


@pytest.fixture(scope="module")
def client():
    with cluster(2) as started, Client(started) as connected:
        yield connected


def fit(X, y, chunks=150, **how):
    return DaskTopwolfClassifier("usunier", k=2, **how).fit(da.from_array(X, chunks=(chunks, -1)), da.from_array(y, chunks=chunks))


def expect_certified(clf, X, y, **how):
    local = topwolf.TopwolfClassifier("usunier", k=2, tol=1e-6, **how).fit(X, y)
    assert clf.status_ == "converged" and clf.relative_gap_ <= 1e-3
    assert clf.dual_ <= local.primal_ and local.dual_ <= clf.primal_
    W = np.column_stack([clf.coef_, clf.intercept_]).astype(np.float64)
    z = 1.0 + (np.column_stack([X, np.ones(len(X))]) @ W.T)
    own = z[np.arange(len(y)), np.searchsorted(clf.classes_, y)]
    z -= own[:, None]
    z[np.arange(len(y)), np.searchsorted(clf.classes_, y)] = 0.0
    best = np.sort(np.maximum(z, 0.0), axis=1)[:, -2:].sum(axis=1) / 2
    primal = (W**2).sum() / (2 * len(y)) + best.mean()
    assert clf.primal_ == pytest.approx(primal, rel=1e-9) and clf.primal_ >= primal * (1 - 1e-12)


def test_the_cluster_changes_no_bit():
    X, y = rows()
    found = []
    for workers, processes, threads in ((1, False, 1), (2, False, 2), (3, True, 1)):
        with cluster(workers, processes, threads) as started, Client(started):
            clf = fit(X, y)
            found.append((clf.primal_, clf.dual_, clf.n_iter_, clf.coef_.tobytes(), clf.intercept_.tobytes()))
    assert found[0] == found[1] == found[2]


def test_the_certificate_is_about_all_rows(client):
    X, y = rows()
    clf = fit(X, y)
    expect_certified(clf, X, y)
    assert clf.solver_choice_ == "block on 4 shards"
    assert len(clf.trace_["primal"]) == clf.n_iter_


def test_predictions_are_lazy_and_of_the_kind_of_the_rows(client):
    X, y = rows()
    clf = fit(X, np.array(["ant", "bee", "cat", "dog", "eel"])[y])
    local = clf.to_local()
    Xd = da.from_array(X, chunks=(200, -1))
    for method in ("predict", "decision_function", "predict_top_k"):
        lazy = getattr(clf, method)(Xd)
        assert isinstance(lazy, da.Array)
        expected = getattr(local, method)(X)
        assert lazy.shape == expected.shape and lazy.dtype == expected.dtype
        np.testing.assert_array_equal(lazy.compute(), expected)
        np.testing.assert_array_equal(getattr(clf, method)(X), expected)
    frame = dd.from_pandas(pd.DataFrame(X, columns=[f"f{c}" for c in range(X.shape[1])]), npartitions=3)
    assert clf.predict(frame).compute().tolist() == local.predict(X).tolist()
    assert clf.decision_function(frame).compute().shape == (600, 5)


def test_dataframes_weights_and_chunks_of_unknown_sizes(client):
    X, y = rows()
    weights = np.where(np.arange(600) % 3 == 0, 2.0, 1.0)
    frame = pd.DataFrame(X, columns=[f"f{c}" for c in range(X.shape[1])])
    frame["y"], frame["w"] = y, weights
    collection = dd.from_pandas(frame, npartitions=4)
    features = [f"f{c}" for c in range(X.shape[1])]
    clf = DaskTopwolfClassifier("usunier", k=2).fit(collection[features], collection["y"], collection["w"])
    assert clf.feature_names_in_.tolist() == features
    local = topwolf.TopwolfClassifier("usunier", k=2).fit(X, y, weights)
    assert clf.dual_ <= local.primal_ and local.dual_ <= clf.primal_
    unknown = DaskTopwolfClassifier("usunier", k=2).fit(
        collection[features].to_dask_array(), collection["y"].to_dask_array(), collection["w"].to_dask_array()
    )
    assert unknown.primal_ == clf.primal_


def test_files_that_workers_read_themselves(client, tmp_path):
    X, y = rows()
    names = np.array(["ant", "bee", "cat", "dog", "eel"])
    for k in range(3):
        np.save(tmp_path / f"x{k}.npy", X[k::3])
        np.save(tmp_path / f"y{k}.npy", names[y[k::3]])
    clf = DaskTopwolfClassifier("usunier", k=2).fit([tmp_path / f"x{k}.npy" for k in range(3)], [tmp_path / f"y{k}.npy" for k in range(3)])
    order = np.concatenate([np.arange(600)[k::3] for k in range(3)])
    assert clf.classes_.tolist() == names.tolist()
    expect_certified(clf, X[order], names[y[order]])


@pytest.mark.parametrize("chunks", [(0, 300, 1, 299), (599, 1), (600,)])
def test_uneven_chunks(client, chunks):
    X, y = rows()
    Xd = da.from_array(X, chunks=((chunks), (9,)))
    clf = DaskTopwolfClassifier("usunier", k=2).fit(Xd, da.from_array(y, chunks=(chunks,)))
    expect_certified(clf, X, y)


def test_sparse_rows_two_classes_and_a_class_on_one_shard_alone(client):
    X, y = rows(m=2)
    parts = da.concatenate([da.from_delayed(__import__("dask").delayed(sparse.csr_matrix)(X[a : a + 200]), (200, 9), X.dtype) for a in (0, 200, 400)])
    clf = DaskTopwolfClassifier("usunier", k=1).fit(parts, da.from_array(y, chunks=200))
    assert clf.coef_.shape == (1, 9) and clf.status_ == "converged" and clf.relative_gap_ <= 1e-3
    y = np.where(np.arange(600) >= 590, 7, y)
    expect_certified(fit(X, y), X, y)


def test_sorted_rows_are_trained_on(client):
    X, y = rows()
    order = np.argsort(y, kind="stable")
    expect_certified(fit(X[order], y[order], chunks=120), X[order], y[order])


def test_pickles_files_and_parameters(client, tmp_path):
    X, y = rows()
    clf = fit(X, y)
    again = pickle.loads(pickle.dumps(clf))
    assert again.client is None and again.relative_gap_ == clf.relative_gap_
    np.testing.assert_array_equal(again.predict(X), clf.to_local().predict(X))
    clf.save(tmp_path / "m.topwolf")
    np.testing.assert_array_equal(topwolf.load(tmp_path / "m.topwolf").coef_, clf.coef_)
    assert DaskTopwolfClassifier(C=3).get_params()["C"] == 3


def test_a_callback_may_stop(client):
    X, y = rows()
    seen = []
    clf = DaskTopwolfClassifier(tol=1e-9).fit(
        da.from_array(X, chunks=(150, -1)), da.from_array(y, chunks=150), callback=lambda record: seen.append(record.iteration) or len(seen) == 3
    )
    assert seen == [1, 2, 3] and clf.status_ == "interrupted"


def test_what_cannot_be_is_said(client):
    X, y = rows()
    Xd, yd = da.from_array(X, chunks=(150, -1)), da.from_array(y, chunks=150)
    for bad, labels, saying in (
        (X, y, "must be a Dask array"),
        (Xd, y, "y is ndarray"),
        (Xd, None, "requires y to be passed"),
        (Xd, yd[:500], r"inconsistent numbers of samples: \[600, 500\]"),
        (da.from_array(X, chunks=(150, 3)), yd, "chunks of columns"),
        (yd, yd, "Expected 2D array"),
        (Xd, yd * 0, "only one class"),
        (Xd, yd + 0.5, "continuous"),
        (da.where(Xd > 3, np.nan, Xd), yd, "contains NaN"),
    ):
        with pytest.raises((ValueError, TypeError), match=saying):
            DaskTopwolfClassifier().fit(bad, labels)
    with pytest.raises(ValueError, match="n_shards is 9"):
        DaskTopwolfClassifier(n_shards=9).fit(Xd, yd)
    with pytest.raises(ValueError, match="sample_weight"):
        DaskTopwolfClassifier().fit(Xd, yd, da.from_array(np.full(600, -1.0), chunks=150))


def test_without_a_client_there_is_a_sentence():
    import subprocess
    import sys

    code = (
        "import dask.array as da\nfrom topwolf.dask import DaskTopwolfClassifier\n"
        "try: DaskTopwolfClassifier().fit(da.ones((9, 2)), da.ones(9))\nexcept ValueError as e: print(e)"
    )
    out = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True).stdout
    assert "There is no Dask client" in out


def test_two_fits_at_once(client):
    X, y = rows()
    alone, found = fit(X, y), []
    threads = [threading.Thread(target=lambda: found.append(fit(X, y, client=client))) for _ in range(2)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(120)
    assert [clf.primal_ for clf in found] == [alone.primal_] * 2


def test_a_killed_worker_costs_time_and_not_truth():
    X, y = rows(n=900, d=40, m=12)
    generator = random.Random(0)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        with cluster(3) as started, Client(started) as connected:
            for _ in range(KILLS):
                pids = list(connected.run(os.getpid).values())
                after = generator.randrange(2, 8)
                killed = []

                def kill(record, pids=pids, after=after, killed=killed):
                    if record.iteration == after:
                        killed.append(generator.choice(pids))
                        os.kill(killed[0], signal.SIGKILL)
                    return False

                begun = time.monotonic()
                clf = DaskTopwolfClassifier("usunier", k=2, tol=1e-3, client=connected).fit(
                    da.from_array(X, chunks=(150, -1)), da.from_array(y, chunks=150), callback=kill
                )
                assert killed and time.monotonic() - begun < 100
                expect_certified(clf, X, y)
                connected.wait_for_workers(3, timeout=60)
