"""DaskTopwolfClassifier on clusters of this machine: the same bits on any of them, rows as they come, and workers that are killed.

TOPWOLF_KILLS says how many workers are killed; scripts/test --long kills 20."""

import os
import pickle
import random
import signal
import subprocess
import sys
import threading
import time
import warnings

import dask
import dask.array as da
import dask.dataframe as dd
import numpy as np
import pandas as pd
import pytest
from distributed import Client, LocalCluster
from scipy import sparse

import topwolf
from topwolf import _core
from topwolf.dask import DaskTopwolfClassifier

KILLS = int(os.environ.get("TOPWOLF_KILLS", "3"))
# Dask's own cluster gives a worker up for good where it is killed twice within this time.
dask.config.set({"distributed.deploy.lost-worker-timeout": "1 hour"})
NAMES = np.array(["ant", "bee", "cat", "dog", "eel"])


def rows(n=600, d=9, m=5, seed=0):
    rng = np.random.default_rng(seed)
    y = np.arange(n) % m
    return (rng.normal(size=(m, d))[y] + 1.2 * rng.normal(size=(n, d))).astype(np.float32), y


def cluster(workers, processes=True, threads=1):
    return LocalCluster(n_workers=workers, threads_per_worker=threads, processes=processes, dashboard_address=":0")


@pytest.fixture(scope="module")
def client():
    with cluster(2) as started, Client(started) as connected:
        yield connected


def in_chunks(X, y, chunks=150):
    return da.from_array(X, chunks=(chunks, -1)), da.from_array(y, chunks=chunks)


def classifier(**how):
    """One that needs few rounds."""
    return DaskTopwolfClassifier(**({"loss": "usunier", "k": 2, "C": 0.002} | how))


def fit(X, y, chunks=150, **how):
    return classifier(**how).fit(*in_chunks(X, y, chunks))


def bits(clf):
    return clf.primal_, clf.dual_, clf.n_iter_, clf.coef_.tobytes(), clf.intercept_.tobytes()


def expect_certified(clf, X, y, k=2, weights=None):
    """The primal by plain NumPy at the weights as they stand; the dual against an optimum that is known much better."""
    weights = np.ones(len(y)) if weights is None else weights
    local = topwolf.TopwolfClassifier(clf.loss, k=k, tol=1e-7, C=clf.C).fit(X, y, weights)
    assert clf.status_ == "converged" and clf.relative_gap_ <= clf.tol
    assert clf.dual_ <= local.primal_ and local.dual_ <= clf.primal_
    W = np.column_stack([clf.coef_, clf.intercept_]).astype(np.float64)
    W = np.vstack([-W, W]) / 2 if len(W) == 1 else W
    own = np.arange(len(y)), np.searchsorted(clf.classes_, y)
    z = 1.0 + np.column_stack([X, np.ones(len(X))]).astype(np.float64) @ W.T
    z -= z[own][:, None] - 1.0
    z[own] = 0.0
    loss = np.sort(np.maximum(z, 0.0), axis=1)[:, -k:].sum(axis=1) / k
    primal = (W**2).sum() / (2 * clf.C * weights.sum()) + weights @ loss / weights.sum()
    assert primal <= clf.primal_ * (1 + 1e-12) and clf.primal_ == pytest.approx(primal, rel=1e-9)


# ---- The same on any cluster


def test_the_cluster_changes_no_bit(client):
    X, y = rows()
    found = [bits(fit(X, y, client=client))]
    for workers, processes, threads in ((1, False, 1), (2, False, 2), (3, True, 1)):
        with cluster(workers, processes, threads) as started, Client(started, set_as_default=False) as connected:
            found.append(bits(fit(X, y, client=connected)))
    assert found[1:] == found[:-1]


@pytest.mark.program
def test_the_command_line_finds_the_same_on_the_same_shards(client, tmp_path):
    X, y = rows()
    for k in range(4):
        np.save(tmp_path / f"x{k}.npy", X[150 * k : 150 * (k + 1)])
        np.save(tmp_path / f"y{k}.npy", NAMES[y[150 * k : 150 * (k + 1)]])
    command = [os.environ["TOPWOLF_BIN"], "train", "--shards", tmp_path / "x*.npy", "--labels", tmp_path / "y*.npy"]
    subprocess.run([*command, tmp_path / "m.topwolf", "--loss", "usunier:2", "-c", "0.002", "--bias", "1", "--quiet"], check=True, capture_output=True)
    assert bits(fit(X, NAMES[y])) == bits(topwolf.load(tmp_path / "m.topwolf"))


def test_two_fits_at_once_are_each_what_they_are_alone(client):
    X, y = rows()
    alone, found = [fit(X, y, 300, C=C) for C in (0.005, 0.001)], {}

    def one(C):
        found[C] = fit(X, y, 300, C=C, client=client)

    threads = [threading.Thread(target=one, args=[C]) for C in (0.005, 0.001)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert [bits(found[C]) for C in (0.005, 0.001)] == [bits(clf) for clf in alone]


def test_nothing_stays_on_the_workers(client):
    def held():
        from topwolf._dask_shards import _held

        return len(_held)

    X, y = rows()
    during = []
    fit(X, y, client=client)
    DaskTopwolfClassifier(tol=1e-9).fit(*in_chunks(X, y), callback=lambda record: during.append(sum(client.run(held).values())) or True)
    assert during == [4]
    assert set(client.run(held).values()) == {0}


# ---- Certificates and what comes out


def test_the_certificate_is_about_all_rows(client):
    X, y = rows()
    clf = fit(X, y)
    expect_certified(clf, X, y)
    assert clf.solver_choice_ == "block on 4 shards" and len(clf.trace_["primal"]) == clf.n_iter_
    fewer = fit(X, y, n_shards=2)
    expect_certified(fewer, X, y)
    assert fewer.solver_choice_ == "block on 2 shards"


def test_the_dual_is_that_of_the_rows_of_all_shards(client, monkeypatch):
    X, y = rows()
    train, kept = _core.train_on_shards, {}

    def with_dual(carry, m, options, observer):
        kept.update(train(carry, m, options | {"keep_dual": True}, observer))
        return dict(kept)

    monkeypatch.setattr(_core, "train_on_shards", with_dual)
    clf = fit(X, y, loss="max_hinge")
    begins, columns, values = kept["dual"]
    A = sparse.csr_matrix((values, columns, begins), (600, 5)).toarray()
    own = np.arange(600), y
    assert np.abs(A.sum(axis=1)).max() < 1e-12 and A[own].max() <= 1 + 1e-12
    assert np.delete(A.ravel(), np.ravel_multi_index(own, A.shape)).max() <= 0
    W = A.T @ np.column_stack([X, np.ones(600)]).astype(np.float64) * clf.C
    dual = -(W**2).sum() / (2 * clf.C * 600) + A[own].sum() / 600  # <c, alpha> is alpha_y, since c is -1 elsewhere
    assert clf.dual_ == pytest.approx(dual, rel=1e-9) and clf.dual_ <= dual * (1 + 1e-12)


def test_predictions_are_lazy_and_of_the_kind_of_the_rows(client):
    X, y = rows()
    clf = fit(X, NAMES[y])
    local = clf.to_local()
    frame = dd.from_pandas(pd.DataFrame(X, index=np.arange(600) + 7), npartitions=3)
    for method in ("predict", "decision_function", "predict_top_k"):
        expected = getattr(local, method)(X)
        lazy = getattr(clf, method)(da.from_array(X, chunks=((200, 0, 400), (5, 4))))
        assert isinstance(lazy, da.Array) and lazy.shape == expected.shape and lazy.dtype == expected.dtype
        np.testing.assert_array_equal(lazy.compute(), expected)
        np.testing.assert_array_equal(getattr(clf, method)(X), expected)
        found = getattr(clf, method)(frame)
        assert isinstance(found, dd.Series if expected.ndim == 1 else dd.DataFrame)
        np.testing.assert_array_equal(found.compute(), expected)
        assert found.compute().index.tolist() == list(range(7, 607))
    assert clf.score(da.from_array(X, chunks=(100, -1)), NAMES[y]) == local.score(X, NAMES[y])
    assert not hasattr(clf, "predict_proba")
    soft = fit(X, y, loss="softmax", k=None)
    np.testing.assert_array_equal(soft.predict_proba(da.from_array(X, chunks=(150, -1))), soft.to_local().predict_proba(X))


def test_pickles_files_and_parameters(client, tmp_path):
    X, y = rows()
    clf = fit(X, y, client=client)
    again = pickle.loads(pickle.dumps(clf))
    assert again.client is None and bits(again) == bits(clf)
    np.testing.assert_array_equal(again.predict(X), clf.to_local().predict(X))
    clf.save(tmp_path / "m.topwolf")
    loaded = topwolf.load(tmp_path / "m.topwolf")
    assert bits(loaded) == bits(clf) and loaded.get_params()["k"] == 2
    assert DaskTopwolfClassifier(C=3).get_params()["C"] == 3
    with pytest.raises(AttributeError, match="coef_"):
        DaskTopwolfClassifier().coef_


def test_whoever_looks_on_may_end_it(client, capsys):
    X, y = rows()
    seen = []
    clf = DaskTopwolfClassifier(tol=1e-9, verbose=1)
    clf.fit(*in_chunks(X, y), callback=lambda record: seen.append((record.iteration, record.weights().shape)) or len(seen) == 3)
    assert seen == [(k, (5, 10)) for k in (1, 2, 3)] and clf.status_ == "interrupted" and clf.n_iter_ == 3
    assert "gap" in capsys.readouterr().out
    for limit in ({"max_iter": 2}, {"time_limit": 1e-3}):
        with pytest.warns(topwolf._estimator.ConvergenceWarning, match=next(iter(limit))):
            fit(X, y, tol=1e-12, **limit)
    with pytest.raises(ZeroDivisionError):
        clf.fit(*in_chunks(X, y), callback=lambda record: 1 / 0)
    assert clf.n_iter_ == 1


# ---- Rows as they come


@pytest.mark.parametrize("chunks", [(0, 300, 1, 299), (599, 1), (600,)])
def test_uneven_chunks(client, chunks):
    X, y = rows()
    clf = classifier().fit(da.from_array(X, chunks=(chunks, 9)), da.from_array(y, chunks=(chunks,)))
    expect_certified(clf, X, y)


def test_labels_of_any_kind_and_a_class_on_one_shard_alone(client):
    X, y = rows()
    for labels in (NAMES[y], NAMES[y].astype(object), np.array([-7, 3, 10, 2, 1000])[y], y.astype(float), np.where(np.arange(600) >= 595, 77, y)):
        clf = fit(X, labels, chunks=300)
        assert clf.classes_.tolist() == np.unique(labels).tolist() and clf.classes_.dtype == labels.dtype
        expect_certified(clf, X, labels)


def test_two_classes_sparse_rows_and_a_shard_of_zeros(client):
    X, y = rows(m=2)
    X[150:300] = 0
    expect_certified(fit(X, y, k=1), X, y, k=1)
    blocks = [da.from_delayed(dask.delayed(sparse.csr_matrix)(X[a : a + 150]), (150, 9), X.dtype) for a in range(0, 600, 150)]
    clf = classifier(k=1).fit(da.concatenate(blocks), da.from_array(y, chunks=150))
    assert clf.coef_.shape == (1, 9)
    expect_certified(clf, X, y, k=1)


def test_sorted_rows_are_dealt_out_anew(client):
    X, y = rows()
    order = np.argsort(y, kind="stable")
    with pytest.warns(UserWarning, match="5 of 5 shards have rows of less than half of the classes"):
        clf = fit(X[order], y[order], chunks=120)
    expect_certified(clf, X, y)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        assert bits(fit(X[order], y[order], chunks=120)) == bits(clf)
        assert bits(fit(X[order], y[order], chunks=120, random_state=1)) != bits(clf)


def test_dataframes_weights_and_chunks_of_unknown_sizes(client):
    X, y = rows()
    weights = np.where(np.arange(600) % 3 == 0, 2.0, 1.0)
    columns = [f"f{c}" for c in range(9)]
    frame = dd.from_pandas(pd.DataFrame(X, columns=columns).assign(y=NAMES[y], w=weights), npartitions=4)
    clf = classifier().fit(frame[columns], frame["y"], frame["w"])
    assert clf.feature_names_in_.tolist() == columns
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        assert (clf.predict(frame[columns]).compute() == clf.to_local().predict(frame[columns].compute())).all()
    expect_certified(clf, X, NAMES[y], weights=weights)
    unknown = classifier().fit(*(frame[of].to_dask_array() for of in (columns, "y", "w")))
    assert bits(unknown) == bits(clf)


def test_files_that_workers_read_themselves(client, tmp_path):
    X, y = rows()
    names = {"npy": [], "npz": [], "text": []}
    for k in range(3):
        part, labels = X[k::3], y[k::3]
        for kind, path in zip(names, (tmp_path / f"x{k}.npy", tmp_path / f"x{k}.npz", tmp_path / f"x{k}.svm")):
            names[kind].append(path)
        np.save(names["npy"][k], part)
        np.save(tmp_path / f"y{k}.npy", labels)
        np.savez(names["npz"][k], X=part, y=labels)
        with open(names["text"][k], "w") as file:
            for row, label in zip(part, labels):
                file.write(f"{label} " + " ".join(f"{j + 1}:{v!r}" for j, v in enumerate(row.tolist())) + "\n")
    clf = classifier().fit(names["npy"], [tmp_path / f"y{k}.npy" for k in range(3)])
    expect_certified(clf, X, y)
    for kind in ("npz", "text"):
        assert bits(classifier().fit(names[kind])) == bits(clf)
    with pytest.raises((ValueError, OSError), match="missing.npy"):
        DaskTopwolfClassifier().fit([tmp_path / "missing.npy"], [tmp_path / "y0.npy"])


def test_twd_files_of_16_bits(client, tmp_path):
    X, y = rows()
    half = X.astype(np.float16)
    for k in range(2):
        np.savez(tmp_path / f"x{k}.npz", X=half[k::2], y=NAMES[y[k::2]])
        subprocess.run([os.environ["TOPWOLF_BIN"], "convert", tmp_path / f"x{k}.npz", tmp_path / f"x{k}.twd"], check=True, capture_output=True)
    clf = classifier().fit([tmp_path / f"x{k}.twd" for k in range(2)])
    assert clf.classes_.tolist() == NAMES.tolist()
    expect_certified(clf, half, NAMES[y])


test_twd_files_of_16_bits = pytest.mark.program(test_twd_files_of_16_bits)


def test_what_cannot_be_is_said(client):
    X, y = rows()
    Xd, yd = in_chunks(X, y)
    frame = dd.from_pandas(pd.DataFrame(X), npartitions=4)
    for bad, labels, saying in (
        (X, y, "must be a Dask array"),
        ([], None, "empty list of files"),
        (["a.npy"], ["b.npy", "c.npy"], "a file of labels for each of the 1 files"),
        (Xd, y, "y is ndarray"),
        (Xd, None, "requires y to be passed"),
        (Xd, yd[:500], r"inconsistent numbers of samples: \[600, 500\]"),
        (frame.to_dask_array(), yd[:590], "inconsistent numbers of samples: a chunk of X has 150, and of y 140"),
        (frame.to_dask_array(), yd.rechunk(200), "X has 4 chunks of rows, and y has 3"),
        (da.from_array(X, chunks=(150, 3)), yd, "chunks of columns"),
        (yd, yd, "Expected 2D array, got 1D"),
        (Xd, Xd, "y should be a 1d array"),
        (Xd[:0], yd[:0], r"0 sample\(s\)"),
        (Xd, yd * 0, "only one class"),
        (Xd, yd + 0.5, "Unknown label type: continuous"),
        (Xd, da.where(yd == 1, np.nan, yd), "Input y contains NaN"),
        (da.where(Xd > 3, np.nan, Xd), yd, "Input X contains NaN"),
    ):
        with pytest.raises((ValueError, TypeError), match=saying):
            DaskTopwolfClassifier().fit(bad, labels)
    with pytest.raises(ValueError, match="n_shards is 9, but X has 4 chunks"):
        DaskTopwolfClassifier(n_shards=9).fit(Xd, yd)
    with pytest.raises(ValueError, match="Negative values in data passed to `sample_weight`"):
        DaskTopwolfClassifier().fit(Xd, yd, da.from_array(np.full(600, -1.0), chunks=150))
    with pytest.raises(ValueError, match="solver='newton' wants all rows in one place"):
        DaskTopwolfClassifier(solver="newton").fit(Xd, yd)
    with pytest.raises(ValueError, match="'C' parameter"):
        DaskTopwolfClassifier(C=-1).fit(Xd, yd)


def said_by(code, **environment):
    program = "import dask.array as da\n" if "da." in code else ""
    return subprocess.run([sys.executable, "-c", program + code], capture_output=True, text=True, env=os.environ | environment).stderr


def test_without_a_client_or_dask_there_is_a_sentence(tmp_path):
    said = said_by("from topwolf.dask import DaskTopwolfClassifier\nDaskTopwolfClassifier().fit(da.ones((9, 2)), da.ones(9))")
    assert "There is no Dask client: start one" in said
    assert "needs Dask: pip install 'topwolf[dask]'" in said_by("import sys, topwolf\nsys.modules['distributed'] = None\nimport topwolf.dask")
    assert said_by("import sys, topwolf\nassert 'distributed' not in sys.modules") == ""


# ---- Whom the cluster loses


def kills(generator, connected, when, before=lambda: None):
    """A callback that kills a worker after so many passes, and whom it has killed."""
    killed = []

    def look(record):
        if record.iteration == when and not killed:
            before()
            killed.append(generator.choice(sorted(connected.run(os.getpid).values())))
            os.kill(killed[0], signal.SIGKILL)
        return False

    return look, killed


def test_a_killed_worker_costs_time_and_not_truth():
    X, y = rows(n=900, d=120, m=12)  # weights of more than 10 kB: those go to the workers, where they can be lost, too
    generator = random.Random(0)
    for _ in range(KILLS):  # each on a cluster of its own: Dask may take its time to replace a worker
        with cluster(3) as started, Client(started, set_as_default=False) as connected:
            look, killed = kills(generator, connected, generator.randrange(2, 7))
            begun = time.monotonic()
            clf = classifier(C=0.001, client=connected).fit(*in_chunks(X, y, 225), callback=look)
            assert killed and time.monotonic() - begun < 300
            expect_certified(clf, X, y)


def test_rows_that_come_out_otherwise_end_a_fit(tmp_path):
    X, y = rows()
    paths = [tmp_path / f"x{k}.npz" for k in range(2)]
    for k, path in enumerate(paths):
        np.savez(path, X=X[k::2], y=y[k::2])

    def change():
        for k, path in enumerate(paths):
            np.savez(path, X=X[k::2] + 1, y=y[k::2])

    with cluster(1) as started, Client(started, set_as_default=False) as connected:
        look, killed = kills(random.Random(0), connected, 3, change)
        with pytest.raises(RuntimeError, match="rows of shard 0 came out otherwise"):
            DaskTopwolfClassifier(tol=1e-9, client=connected).fit(paths, callback=look)
        assert killed


def test_only_block_goes_on_without_a_worker():
    X, y = rows()
    with cluster(1) as started, Client(started, set_as_default=False) as connected:
        look, killed = kills(random.Random(0), connected, 2)
        with pytest.raises(OSError, match="only solver='block' goes on without it"):
            DaskTopwolfClassifier(solver="apg", tol=1e-9, client=connected).fit(*in_chunks(X, y), callback=look)
        assert killed


def test_a_worker_may_join():
    X, y = rows()
    with cluster(1, processes=False) as started, Client(started, set_as_default=False) as connected:
        alone = fit(X, y, client=connected)

        def join(record):
            if record.iteration == 2:
                started.scale(3)
                connected.wait_for_workers(3, timeout=60)
            return False

        found = classifier(client=connected).fit(*in_chunks(X, y), callback=join)
        assert bits(found) == bits(alone)


def test_a_scheduler_that_is_gone_ends_a_fit_in_a_sentence(tmp_path):
    X, y = rows()
    file = tmp_path / "scheduler.json"
    begin = [sys.executable, "-c", "import sys; from dask.__main__ import main; main()"]
    processes = [
        subprocess.Popen([*begin, *what, "--scheduler-file", file], stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
        for what in (["scheduler", "--port", "0", "--no-dashboard"], ["worker", "--no-nanny", "--no-dashboard", "--death-timeout", "20"])
    ]
    try:
        with Client(scheduler_file=str(file), timeout=20, set_as_default=False) as connected:
            connected.wait_for_workers(1, timeout=60)
            connected._timeout = 1
            with pytest.raises(ConnectionError, match="scheduler of the Dask cluster is gone"):
                DaskTopwolfClassifier(tol=1e-9, client=connected).fit(
                    *in_chunks(X, y), callback=lambda record: record.iteration == 2 and processes[0].kill()
                )
    finally:
        for process in processes:
            process.kill()
            process.wait()
