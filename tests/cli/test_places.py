"""What is wrong is said with its place: file, line and column in text, file and row elsewhere."""

import lzma

import numpy as np
import pytest


@pytest.fixture
def rows(tmp_path):
    (tmp_path / "rows.svm").write_text("a 1:1\nb 2:1\n")
    return "rows.svm"


@pytest.mark.parametrize(
    "name, data, options, saying",
    [
        ("t.svm", b"a 1:1\n\nb\xff 2:1\n", [], r"t.svm: row 2 (counted from 1): the label 'b\xff' is not UTF-8"),
        ("t.csv", b"x,label\n1,a\n2,b\xff\n", [], r"t.csv: row 2 (counted from 1): the label 'b\xff' is not UTF-8"),
        ("t.svm", b"a 1:1\nb:x 2:1\n", ["--label-weights"], "t.svm: row 2 (counted from 1): the weight 'x' is not"),
        ("t.svm", b"a 1:1\n:3 2:1\n", ["--label-weights"], "t.svm: row 2 (counted from 1): ':3' has no label"),
        ("t.svm", b"a 1:1\nb 2:1e200\n", ["--precision", "float64"], "t.svm: row 2 holds a number that is"),
    ],
)
def test_of_the_data(topwolf, tmp_path, name, data, options, saying):
    (tmp_path / name).write_bytes(data)
    topwolf.refuses("train", name, *options, code=3, saying=saying)


@pytest.mark.parametrize(
    "option, text, saying",
    [
        ("--class-weight", "a 2\nb x\n", "side.csv:2:3: the weight 'x' is not a finite number of at least 0"),
        ("--class-weight", "a 2\n\nc 1\n", "side.csv:3: 'c' is none of the 2 classes"),
        ("--class-weight", "a 2\na 1\n", "side.csv:2: the class 'a' has two weights"),
        ("--class-weight", "a 2\nb\n", "side.csv:2: the line 'b' is not a label and a weight"),
        ("--weights", "1\nnan\n", "side.csv:2:1: the weight 'nan' is not a finite number of at least 0"),
        ("--weights", "1\n -3\n", "side.csv:2:2: the weight '-3' is not a finite number of at least 0"),
        ("--margins", "0,1\n-1,0\n", "side.csv: the margins must be finite and at least 0, but row 2, column 1 is -1"),
        ("--margins", "0,1\n1,2\n", "side.csv: a row's margin to its own class must be 0, but row 2, column 2 is 2"),
    ],
)
def test_of_a_file_beside_the_data(topwolf, tmp_path, rows, option, text, saying):
    (tmp_path / "side.csv").write_text(text)
    topwolf.refuses("train", rows, option, "side.csv", code=3, saying=saying)


def test_of_an_array_of_weights(topwolf, tmp_path, rows):
    np.save(tmp_path / "w.npy", np.array([1, np.nan]))
    topwolf.refuses("train", rows, "--weights", "w.npy", code=3, saying="w.npy: row 2 (counted from 1): the weight nan")


def test_of_labels_in_a_file_of_their_own(topwolf, tmp_path, rows):
    (tmp_path / "y.txt").write_bytes(b"a\nb\xff\n")
    topwolf.refuses("train", rows, "--labels", "y.txt", code=3, saying="y.txt: row 2 (counted from 1): the label")
    (tmp_path / "y.txt").write_text("a\nb:-1\n")
    labelled = ["--labels", "y.txt", "--label-weights"]
    topwolf.refuses("train", rows, *labelled, code=3, saying="y.txt: row 2 (counted from 1): the weight '-1'")


def sparse_parts(indices):
    return {
        "data": np.ones(2, np.float32),
        "indices": np.array(indices),
        "indptr": np.array([0, 1, 2]),
        "shape": np.array([2, 3]),
        "format": np.array(b"csr"),
    }


def test_of_a_sparse_archive(topwolf, tmp_path):
    np.savez(tmp_path / "wide.npz", y=[0, 1], **sparse_parts([0, 99]))
    saying = "wide.npz: indices: entry 2 (counted from 1) is the column index 99, but 0 to 2 are allowed"
    topwolf.refuses("train", "wide.npz", code=3, saying=saying)
    np.savez(tmp_path / "bare.npz", **sparse_parts([0, 1]))
    topwolf.refuses("train", "bare.npz", code=3, saying="bare.npz: holds no array y; labels must be there")


def test_a_coo_matrix_is_called_by_its_name(topwolf, tmp_path):
    # As scipy.sparse.save_npz writes it.
    parts = {"row": [0, 1], "col": [0, 1], "data": [1.0, 2.0], "shape": [2, 2], "format": np.array(b"coo")}
    np.savez(tmp_path / "coo.npz", y=[0, 1], **parts)
    saying = "coo.npz: format: the sparse format is 'coo', but only 'csr' is supported; tocsr()"
    topwolf.refuses("train", "coo.npz", code=3, saying=saying)


def test_bytes_behind_compressed_data_are_no_truncation(topwolf, tmp_path):
    (tmp_path / "t.svm.xz").write_bytes(lzma.compress(b"a 1:1\nb 2:1\n") + b"abc")
    topwolf.refuses("train", "t.svm.xz", code=3, saying="t.svm.xz: 3 bytes that are not xz data follow its xz data")


def test_an_overflow_is_not_blamed_on_the_model_file(topwolf, tmp_path, rows):
    weighted = ["-q", "--loss", "weighted-usunier", "--rho"]
    said = topwolf.refuses("train", rows, "m.topwolf", *weighted, "1e300", code=2, saying="rho sums to 1e+300")
    assert "m.topwolf" not in said
    (tmp_path / "costs.txt").write_text("0 1e300\n1e300 0\n")
    large = [*weighted, "1e100", "--cost-matrix", "costs.txt"]
    said = topwolf.refuses("train", rows, "m.topwolf", *large, code=3, saying="add up to more than a double holds")
    assert "m.topwolf" not in said
