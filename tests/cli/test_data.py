"""Data in: every format gives the same training; bad data is an error at file:line:column, and nothing is written."""

import bz2
import gzip
import lzma

import numpy as np
import pytest

import support

X, Y = support.blobs()
TEXT = support.libsvm_text(X, Y)


def primal(topwolf, *args, **options):
    return topwolf.json("train", *args, **options)["primal"]


@pytest.fixture
def expected(topwolf, train_svm):
    return primal(topwolf, train_svm)


@pytest.mark.parametrize(
    "suffix, pack", [("gz", gzip.compress), ("bz2", bz2.compress), ("xz", lzma.compress), ("zst", support.zstd_stored)]
)
def test_compressed_text_reads_as_plain_text(topwolf, tmp_path, expected, suffix, pack):
    (tmp_path / f"rows.svm.{suffix}").write_bytes(pack(TEXT.encode()))
    assert primal(topwolf, f"rows.svm.{suffix}") == expected


def test_standard_input_reads_as_a_file(topwolf, expected):
    assert primal(topwolf, "-", stdin=TEXT) == expected


def test_truncated_compressed_text_is_an_error(topwolf, tmp_path):
    (tmp_path / "cut.svm.gz").write_bytes(gzip.compress(TEXT.encode())[:-20])
    topwolf.refuses("train", "cut.svm.gz", code=3, saying="cut.svm.gz")


@pytest.mark.parametrize("order", ["C", "F"])
@pytest.mark.parametrize("kind", ["f4", "f8"])
def test_npy_features_and_labels_read_as_text(topwolf, tmp_path, expected, order, kind):
    np.save(tmp_path / "X.npy", np.asarray(X, dtype=kind, order=order))
    np.save(tmp_path / "y.npy", Y)
    assert primal(topwolf, "X.npy", "--labels", "y.npy") == pytest.approx(expected, rel=1e-6)


def test_npz_holding_X_and_y_reads_as_text(topwolf, tmp_path, expected):
    np.savez(tmp_path / "stored.npz", X=X, y=Y)
    np.savez_compressed(tmp_path / "packed.npz", X=X, y=Y)
    assert primal(topwolf, "stored.npz") == pytest.approx(expected, rel=1e-6)
    assert primal(topwolf, "packed.npz") == pytest.approx(expected, rel=1e-6)


def test_integer_features_are_numbers_too(topwolf, tmp_path):
    whole = np.round(4 * X).astype(np.int16)
    np.savez(tmp_path / "whole.npz", X=whole, y=Y)
    support.write_libsvm(tmp_path / "whole.svm", whole, Y)
    assert primal(topwolf, "whole.npz") == pytest.approx(primal(topwolf, "whole.svm"), rel=1e-6)


def csv(header, label_first):
    names = [f"f{j}" for j in range(X.shape[1])]
    rows = [["kind", *names] if label_first else [*names, "kind"]] if header else []
    for row, label in zip(X, Y):
        values = [f"{x:.9g}" for x in row]
        rows.append([str(label), *values] if label_first else [*values, str(label)])
    return "\n".join(",".join(row) for row in rows) + "\n"


def test_csv_takes_its_label_by_name_or_number(topwolf, tmp_path, expected):
    (tmp_path / "named.csv").write_text(csv(True, False))
    (tmp_path / "bare.csv").write_text(csv(False, True))
    assert primal(topwolf, "named.csv", "--label-column", "kind") == pytest.approx(expected, rel=1e-6)
    assert primal(topwolf, "named.csv", "--label-column", "7") == pytest.approx(expected, rel=1e-6)
    assert primal(topwolf, "bare.csv", "--label-column", "1") == pytest.approx(expected, rel=1e-6)


def test_float64_keeps_more_digits(topwolf, train_svm):
    assert topwolf.json("train", "--precision", "float64", train_svm)["precision"] == "float64"


@pytest.mark.parametrize(
    "change",
    [
        lambda text: "# a comment\n" + text.replace("\n", " # and one more\n", 1),
        lambda text: "\n\n" + text.replace("\n", "\n\n"),
        lambda text: text.replace("\n", "\r\n"),
        lambda text: "\ufeff" + text,
        lambda text: text.rstrip("\n"),
        lambda text: "".join(f"+{line}\n" for line in text.splitlines()),
        lambda text: "".join(" ".join([w[0], *reversed(w[1:])]) + "\n" for w in map(str.split, text.splitlines())),
    ],
    ids=["comments", "blank lines", "CRLF", "byte order mark", "no last newline", "+1", "unsorted indices"],
)
def test_variants_of_text_are_accepted(topwolf, tmp_path, expected, change):
    (tmp_path / "variant.svm").write_text(change(TEXT), newline="")
    assert primal(topwolf, "variant.svm") == expected


@pytest.mark.parametrize(
    "line, options, column",
    [
        ("1 1:1 1:2", [], 7),
        ("1 0:1 1:2", ["--index-base", "1"], 3),
        ("1 1:nan", [], 5),
        ("1 1:inf", [], 5),
        ("1 1:1e999", [], 5),
        ("1 99999999999:1", [], 3),
        ("1 1:1\0", [], 6),
        ("1,3 1:1", [], None),
        ("1 1:x", [], 5),
        ("1 1", [], None),
    ],
    ids="duplicate,zero,nan,inf,overflow,huge index,NUL,label list,no number,no colon".split(","),
)
def test_bad_text_is_an_error_with_its_place(topwolf, tmp_path, line, options, column):
    (tmp_path / "bad.svm").write_text(f"2 1:1 2:1\n1 2:1\n{line}\n2 1:1\n")
    place = "bad.svm:3:" if column is None else f"bad.svm:3:{column}: "
    topwolf.refuses("train", *options, "bad.svm", code=3, saying=place)


@pytest.mark.parametrize("text", ["", "# nothing\n", "1 1:1\n1 1:2\n"], ids=["empty", "only a comment", "one class"])
def test_too_little_data_is_an_error(topwolf, tmp_path, text):
    (tmp_path / "little.svm").write_text(text)
    topwolf.refuses("train", "little.svm", code=3, saying="little.svm")


def test_the_index_base_is_found_and_kept_in_the_model(topwolf, tmp_path, expected):
    support.write_libsvm(tmp_path / "zero.svm", X, Y, base=0)
    assert primal(topwolf, "zero.svm", "zero.topwolf") == expected
    assert topwolf.json("inspect", "zero.topwolf")["index_base"] == 0
    support.write_libsvm(tmp_path / "tail.svm", np.hstack([np.zeros((120, 1)), X[:, 1:]]), Y, base=0)
    masked = np.hstack([np.zeros((120, 1), dtype=np.float32), X[:, 1:]])
    np.savez(tmp_path / "tail.npz", X=masked, y=Y)
    by_text = topwolf("predict", "--scores", "tail.svm", "zero.topwolf").stdout
    assert by_text == topwolf("predict", "--scores", "tail.npz", "zero.topwolf").stdout


def classes(topwolf, tmp_path, labels):
    rows = [f"{label} 1:{i % 7} 2:{i}" for i, label in enumerate(labels * 2)]
    (tmp_path / "labels.svm").write_text("\n".join(rows) + "\n")
    topwolf("train", "-q", "--max-iterations", "1", "--tolerance", "1", "labels.svm", "labels.topwolf")
    return topwolf.json("inspect", "labels.topwolf")["classes"]


def test_numeric_labels_are_ordered_by_value_and_printed_as_first_spelled(topwolf, tmp_path):
    assert classes(topwolf, tmp_path, ["10", "9", "-1", "2.5"]) == ["-1", "2.5", "9", "10"]
    assert classes(topwolf, tmp_path, ["+1", "2", "1.0", "1", "2.0"]) == ["+1", "2"]


def test_other_labels_are_ordered_by_bytes(topwolf, tmp_path):
    assert classes(topwolf, tmp_path, ["b", "a", "10", "9", "B"]) == ["10", "9", "B", "a", "b"]


@pytest.mark.parametrize("kind", ["unit", "maxabs"])
def test_normalisation_is_stored_and_applied_again(topwolf, tmp_path, train_svm, kind):
    if kind == "unit":
        prepared = X / np.linalg.norm(X.astype(np.float64), axis=1, keepdims=True)
    else:
        prepared = X / np.max(np.abs(X.astype(np.float64)), axis=0)
    support.write_libsvm(tmp_path / "prepared.svm", prepared, Y)
    result = topwolf.json("train", "--normalize", kind, train_svm, "n.topwolf")
    assert result["normalize"] == kind
    assert result["primal"] == pytest.approx(primal(topwolf, "prepared.svm", "p.topwolf"), rel=2e-3)
    by_model = topwolf("predict", train_svm, "n.topwolf").stdout.split()
    by_hand = topwolf("predict", "prepared.svm", "p.topwolf").stdout.split()
    assert np.mean(np.array(by_model) == np.array(by_hand)) > 0.97


def test_the_models_label_column_is_used_again(topwolf, tmp_path):
    rows = ["5,1,2", "6,3,1", "5,1,3", "6,4,1"]
    (tmp_path / "front.csv").write_text("\n".join(rows) + "\n")
    topwolf("train", "-q", "-c", "100", "--label-column", "1", "front.csv", "m")
    assert topwolf("predict", "front.csv", "m").stdout.split() == ["5", "6", "5", "6"]
    assert topwolf.json("evaluate", "front.csv", "m")["top1_error"] == 0
    (tmp_path / "bare.csv").write_text("1,2\n3,1\n")
    assert topwolf("predict", "bare.csv", "m").stdout.split() == ["5", "6"]


@pytest.mark.parametrize("pack", [gzip.compress, bz2.compress, lzma.compress, support.zstd_stored])
def test_what_unpacks_to_more_than_is_allowed_is_refused(topwolf, tmp_path, pack):
    packed = pack(TEXT.encode())
    (tmp_path / "rows.svm.z").write_bytes(packed)
    saying = "unpacks to more than the 1024 bytes that are allowed; where it is no mistake, --max-unpacked"
    topwolf.refuses("train", "rows.svm.z", "--max-unpacked", "1K", code=3, saying=saying)
    topwolf("train", "rows.svm.z", "-q", "--max-unpacked", str(len(TEXT)))
    done = topwolf("train", "-", "--max-unpacked", "1K", code=3, stdin=packed, text=False)
    assert b"topwolf: <stdin>: unpacks to more than the 1024 bytes" in done.stderr


def test_arrays_count_together(topwolf, tmp_path):
    np.savez_compressed(tmp_path / "rows.npz", X=X, y=Y)
    topwolf.refuses("train", "rows.npz", "--max-unpacked", "3K", code=3, saying="rows.npz: unpacks to more than")
    topwolf("train", "rows.npz", "-q", "--max-unpacked", "4K", "--tolerance", "0.5")


def test_files_beside_the_data_are_limited_too(topwolf, tmp_path, train_svm):
    (tmp_path / "w.gz").write_bytes(gzip.compress(b"1\n" * len(Y)))
    topwolf.refuses("train", train_svm, "--weights", "w.gz", "--max-unpacked", "100", code=3, saying="w.gz: unpacks")
    topwolf("train", train_svm, "-q", "--weights", "w.gz", "--max-unpacked", "240")


@pytest.mark.parametrize("size", ["-1", "1T", "K", "1.5G", "99999999999G", "x"])
def test_a_limit_is_a_number_of_bytes(topwolf, train_svm, size):
    topwolf.refuses("train", train_svm, f"--max-unpacked={size}", code=2, saying="it must be a number of bytes")
