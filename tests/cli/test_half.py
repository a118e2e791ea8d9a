"""Rows of 16 bits: kept from file to model, and the same job as the same values in float32."""

import numpy as np
import pytest

import support
from test_memory import dense_rows, peak_bytes

X, Y = support.blobs(n=300, d=40, m=5)


@pytest.fixture
def halves(tmp_path):
    np.save(tmp_path / "half.npy", X.astype(np.float16))
    np.save(tmp_path / "single.npy", X.astype(np.float16).astype(np.float32))
    np.save(tmp_path / "y.npy", Y)
    return ["half.npy", "--labels", "y.npy"], ["single.npy", "--labels", "y.npy"]


SAME = ["primal", "dual", "iterations", "data_hash"]


def test_float16_is_kept_and_gives_the_same_model(topwolf, halves):
    half, single = halves
    held = topwolf.json("inspect", *half)
    assert (held["precision"], held["n"], held["d"]) == ("float16", 300, 40)
    a = topwolf.json("train", *half, "half.topwolf", "--dual", "half.dual")
    b = topwolf.json("train", *single, "single.topwolf", "--dual", "single.dual")
    assert a["precision"] == "float16" and b["precision"] == "float32"
    assert [a[key] for key in SAME if key in a] == [b[key] for key in SAME if key in b]
    assert topwolf.json("inspect", "half.topwolf")["precision"] == "float32"
    assert (topwolf.folder / "half.dual").read_bytes() == (topwolf.folder / "single.dual").read_bytes()
    for model in ("half.topwolf", "single.topwolf"):
        for rows in (half, single):
            topwolf("verify", rows[0], model, *rows[1:], "--dual", "half.dual")
    for command in ("predict", "evaluate"):
        outputs = {topwolf(command, rows[0], "half.topwolf", *rows[1:]).stdout for rows in (half, single)}
        assert len(outputs) == 1, command
    assert topwolf.json("train", *half, "--precision", "float32")["precision"] == "float32"
    assert topwolf.json("train", *half, "--precision", "float64")["precision"] == "float64"


@pytest.mark.parametrize("kind", ["unit", "maxabs"])
def test_normalised_rows_are_float32(topwolf, halves, kind):
    half, single = halves
    a, b = (topwolf.json("train", *rows, "--normalize", kind, f"{rows[0]}.topwolf", "--dual", "A") for rows in halves)
    assert a["precision"] == b["precision"] == "float32" and a["primal"] == b["primal"]
    topwolf("verify", half[0], "half.npy.topwolf", *half[1:], "--dual", "A")
    predicted = {topwolf("predict", rows[0], "half.npy.topwolf", "-k", "3", *rows[1:]).stdout for rows in halves}
    assert len(predicted) == 1


def test_a_normalised_model_in_float64_meets_the_rows_it_was_trained_on(topwolf, halves):
    half, _ = halves
    topwolf("train", *half, "--precision", "float64", "--normalize", "unit", "m.topwolf", "--dual", "A")
    topwolf("verify", half[0], "m.topwolf", *half[1:], "--dual", "A")


def test_every_command_takes_them(topwolf, halves):
    half, single = halves
    def sweep(rows):
        return [point["primal"] for point in topwolf.json("sweep", *rows, "-c", "0.1:10:3", "--validation", rows[0], "--validation-labels", "y.npy")["points"]]
    assert sweep(half) == sweep(single)
    def cv(rows):
        return [point["mean"] for point in topwolf.json("cv", *rows, "-c", "0.1:10:3", "--folds", "3")["points"]]
    assert cv(half) == cv(single)
    topwolf("train", *half, "m.topwolf")
    audits = [topwolf.json("audit", rows[0], "m.topwolf", *rows[1:]) for rows in halves]
    for audit in audits:
        for key in ("load_seconds", "train_seconds"):
            del audit[key]
    assert audits[0].pop("precision") == "float16" and audits[1].pop("precision") == "float32"
    assert audits[0] == audits[1]
    plans = [topwolf.json("train", *rows, "--dry-run") for rows in halves]
    assert 2 * plans[0]["data_bytes"] == plans[1]["data_bytes"] == 4 * 300 * 40


def test_a_job_on_float16_goes_on_where_it_was_left(topwolf, halves):
    half, _ = halves
    job = ["train", *half, "--solver", "lsfw", "--tolerance", "1e-5"]
    whole = topwolf.json(*job, "a.topwolf", "--max-iterations", "400", code=(0, 5))
    topwolf(*job, "b.topwolf", "--max-iterations", "7", "--checkpoint", "c", code=5)
    rest = topwolf.json(*job, "b.topwolf", "--max-iterations", "400", "--resume", "c", code=(0, 5))
    assert (rest["primal"], rest["dual"]) == (whole["primal"], whole["dual"])


@pytest.mark.parametrize("to", ["rows.twd", "rows.npz", "rows.npy"])
def test_convert_keeps_float16(topwolf, halves, to):
    half, _ = halves
    labels = ["--output-labels", "z.npy"] if to.endswith("npy") else []
    topwolf("convert", *half[:1], to, *half[1:], *labels)
    read = ["--labels", "z.npy"] if labels else []
    held = topwolf.json("inspect", to, *read)
    assert held["precision"] == "float16" and held["m"] == 5
    topwolf("convert", to, "again.npy", *read, "--output-labels", "again_y.npy")
    again = np.load(topwolf.folder / "again.npy")
    assert again.dtype == np.float16
    np.testing.assert_array_equal(again, X.astype(np.float16))


def test_convert_makes_float16_and_refuses_what_is_too_large(topwolf, tmp_path, train_svm):
    topwolf("convert", "--precision", "float16", train_svm, "half.npy", "--output-labels", "y.npy")
    small = support.blobs()[0]
    np.testing.assert_array_equal(np.load(tmp_path / "half.npy"), small.astype(np.float16))
    topwolf("convert", "--precision", "float16", train_svm, "half.twd")
    topwolf("convert", "--precision", "float32", "half.twd", "single.npy", "--output-labels", "y.npy")
    assert np.load(tmp_path / "single.npy").dtype == np.float32
    assert (tmp_path / "half.twd").stat().st_size < 2 * small.size + 3000
    np.save(tmp_path / "large.npy", np.array([[1.0, 65519.9], [65520.0, 1.0]]))
    np.save(tmp_path / "two.npy", np.array([1, 2]))
    options = ["--labels", "two.npy", "--precision", "float16"]
    topwolf.refuses(
        "convert", "large.npy", "small.twd", *options, code=3,
        saying="large.npy: row 2, column 1 (counted from 1): the value 65520 is too large for float16",
    )
    topwolf.write("sparse.svm", "1 1:1\n2 9:1\n3 5:1\n")
    topwolf.refuses("train", "--precision", "float16", "sparse.svm", code=2, saying="sparse rows are stored as float32 or float64; --precision float16")


def test_bfloat16_is_two_bytes_of_which_somebody_says_so(topwolf, tmp_path):
    bits = (X.view(np.uint32) >> 16).astype(np.uint16)
    single = (bits.astype(np.uint32) << 16).view(np.float32)
    np.save(tmp_path / "b.npy", bits.view("V2"))
    np.save(tmp_path / "single.npy", single)
    np.save(tmp_path / "y.npy", Y)
    told = ["--labels", "y.npy", "--precision", "bfloat16"]
    a = topwolf.json("train", "b.npy", *told)
    b = topwolf.json("train", "single.npy", "--labels", "y.npy")
    assert a["precision"] == "bfloat16" and (a["primal"], a["dual"]) == (b["primal"], b["dual"])
    topwolf("convert", "b.npy", "b.twd", *told)
    assert topwolf.json("inspect", "b.twd")["precision"] == "bfloat16"
    topwolf("convert", "b.twd", "c.npy", "--output-labels", "z.npy")
    np.testing.assert_array_equal(np.load(tmp_path / "c.npy").view(np.uint16), bits)
    topwolf.refuses("train", "b.npy", "--labels", "y.npy", code=3, saying="the type '|V2' does not say what it is; bfloat16 is read with --precision bfloat16")


@pytest.mark.parametrize(
    "shape, options",
    [
        ((30_000, 1000, 20), ["--solver", "block", "--scores", "weights"]),
        ((30_000, 1000, 20), ["--solver", "lsfw"]),
        ((30_000, 1000, 20), ["--solver", "apg"]),
        ((3000, 8000, 20), ["--solver", "block", "--scores", "gram"]),
    ],
    ids=lambda value: " ".join(value[1:]) if isinstance(value, list) else "x".join(map(str, value)),
)
def test_no_float32_copy_of_the_rows_is_ever_made(topwolf, tmp_path, shape, options):
    dense_rows(tmp_path, *shape)
    np.save(tmp_path / "data.npy", np.load(tmp_path / "data.npy").astype(np.float16))
    rows = 2 * shape[0] * shape[1]
    job = ["train", "data.npy", "--labels", "y.npy", "--tolerance", "0", "--max-iterations", "6", *options]
    plan = topwolf.json(*job, "--dry-run")
    assert plan["data_bytes"] == rows
    loading = peak_bytes(topwolf, *job, "--dry-run", code={0})
    assert loading < 1.4 * rows, "they are read piece by piece, too"
    # What the method needs is in the plan; a copy would be twice the rows, and the plan is mostly less than one.
    assert peak_bytes(topwolf, *job, "-q", code={0, 5}) - loading < 1.25 * plan["training_bytes"] + 0.25 * rows


def test_sparse_float16_is_widened(topwolf, tmp_path):
    np.savez(tmp_path / "s.npz", data=np.array([1, 0.1, 3], np.float16), indices=[0, 7, 3], indptr=[0, 1, 2, 3], shape=[3, 9], format="csr", y=[1, 2, 1])
    held = topwolf.json("inspect", "s.npz")
    assert (held["storage"], held["precision"]) == ("sparse", "float32")
