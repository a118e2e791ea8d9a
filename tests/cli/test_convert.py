"""topwolf convert and inspect."""

import numpy as np
import pytest

import support

X, Y = support.blobs()


@pytest.mark.parametrize("name", ["rows.twd", "rows.npz", "rows.csv", "rows.svm", "rows.libsvm"])
def test_converted_data_trains_as_the_original(topwolf, train_svm, name):
    topwolf("convert", train_svm, name)
    expected = topwolf.json("train", train_svm)
    result = topwolf.json("train", name)
    assert (result["n"], result["d"], result["m"]) == (120, 6, 4)
    assert result["primal"] == pytest.approx(expected["primal"], rel=1e-5)


def test_features_and_labels_may_go_to_two_npy_files(topwolf, train_svm, tmp_path):
    topwolf("convert", train_svm, "X.npy", "--output-labels", "y.npy")
    np.testing.assert_array_equal(np.load(tmp_path / "X.npy"), X)
    np.testing.assert_array_equal(np.load(tmp_path / "y.npy"), Y)


def test_bad_data_is_not_converted(topwolf, tmp_path):
    (tmp_path / "bad.svm").write_text("1 1:x\n")
    topwolf.refuses("convert", "bad.svm", "bad.twd", code=3, saying="bad.svm:1:5: ")
    topwolf.refuses("convert", "nowhere.svm", "x.twd", code=4, saying="nowhere.svm")
    topwolf.refuses("convert", "bad.svm", "bad.svm", code=2, saying="is being read")


@pytest.mark.parametrize("to", ["rows.twd", "rows.npz", "rows.svm"])
def test_as_many_columns_as_are_read_can_be_read_again(topwolf, to):
    topwolf.write("one.svm", "1 1:1\n2 2147483646:1\n")
    topwolf.write("zero.svm", "1 0:1\n2 2147483645:1\n")
    topwolf.write("beyond.svm", "1 0:1\n2 2147483646:1\n")
    for name in ("one.svm", "zero.svm"):
        topwolf("convert", name, to)
        assert topwolf.json("inspect", to)["d"] == 2147483646
    topwolf.refuses("convert", "beyond.svm", "new." + to, code=3, saying="beyond.svm:2:3: the index '2147483646' is larger than 2147483645")


def test_models_go_to_liblinear_and_back(topwolf, train_svm, model):
    topwolf("convert", model, "model.liblinear")
    topwolf("convert", "model.liblinear", "back.topwolf")
    assert (topwolf.folder / "model.liblinear").read_text().startswith("solver_type")
    expected = topwolf("predict", "-k", "4", train_svm, model).stdout
    assert topwolf("predict", "-k", "4", train_svm, "back.topwolf").stdout == expected


def test_the_format_of_a_model_may_be_named(topwolf, model):
    topwolf("convert", "--to", "liblinear", model, "odd.topwolf")
    assert (topwolf.folder / "odd.topwolf").read_text().startswith("solver_type")
    topwolf.refuses("convert", "--to", "onnx", model, "x", code=2, saying="topwolf or liblinear")


def test_text_labels_are_refused_by_liblinears_format(topwolf, tmp_path):
    names = np.array(["ant", "bee", "cow", "dog"])
    support.write_libsvm(tmp_path / "named.svm", X, names[Y - 1])
    topwolf("train", "-q", "named.svm", "named.topwolf")
    topwolf.refuses("convert", "named.topwolf", "named.liblinear", code=3, saying="ant")
    assert topwolf.json("inspect", "named.topwolf")["label_type"] == "text"


@pytest.mark.parametrize("to", [["o.svm"], ["o.csv"], ["o.npy", "--output-labels", "o.txt"]])
@pytest.mark.parametrize("labels, saying", [
    (["1", "1.0", "01", "2"], "the 4 labels, such as '1', would be read as numbers, of 2 classes"),
    (["nan", "b"], "the label 'nan' would be read as a number that is not finite"),
])
def test_text_labels_that_text_would_make_numbers_are_refused(topwolf, tmp_path, to, labels, saying):
    np.savez(tmp_path / "text.npz", X=np.eye(len(labels)), y=np.array(labels))
    topwolf.refuses("convert", "text.npz", *to, code=3, saying=saying)
    assert sorted(path.name for path in tmp_path.iterdir()) == ["text.npz"]
    topwolf("convert", "text.npz", "o.twd")
    topwolf("convert", "o.twd", "back.npz")
    assert topwolf.json("inspect", "back.npz")["m"] == len(labels)


@pytest.mark.parametrize("to", [["o.npz"], ["o.csv"], ["o.npy", "--output-labels", "o.txt"]])
def test_rows_without_features_are_refused_by_formats_that_cannot_say_so(topwolf, tmp_path, to):
    rows = topwolf.write("rows.svm", "1\n2\n1\n")
    topwolf.refuses("convert", rows, *to, code=3, saying=f"{to[0]}: there are no features to write")
    assert [path.name for path in tmp_path.iterdir()] == ["rows.svm"]


def test_options_for_data_do_not_fit_models_nor_the_reverse(topwolf, train_svm, model):
    topwolf.refuses("convert", "--to", "liblinear", train_svm, "x.npz", code=2, saying="--to is for models")
    topwolf.refuses("convert", "--labels", "y", model, "x.liblinear", code=2, saying="--labels is for data")


def test_inspect_says_how_a_model_was_made(topwolf, train_svm):
    trained = topwolf.json("train", "--loss", "usunier:2", "--bias", "1", train_svm, "my model.topwolf")
    held = topwolf.json("inspect", "my model.topwolf")
    assert held["kind"] == "model" and held["classes"] == ["1", "2", "3", "4"]
    for key in ("m", "d", "bias", "loss", "k", "lambda", "solver", "status", "primal", "dual", "gap", "iterations", "version"):
        assert held[key] == trained[key], key
    assert held["command"] == f"topwolf train --loss usunier:2 --bias 1 {train_svm} 'my model.topwolf' --json"
    assert "% above the optimum" in topwolf("inspect", "my model.topwolf").stdout


def test_inspect_says_what_data_holds(topwolf, train_svm):
    held = topwolf.json("inspect", train_svm)
    assert (held["kind"], held["n"], held["d"], held["m"]) == ("data", 120, 6, 4)
    assert held["classes"] == ["1", "2", "3", "4"] and held["rows_of_class"] == [30] * 4
    assert held["unlabelled"] == 0 and held["index_base"] == 1


def test_inspect_of_a_liblinear_model_claims_no_certificate(topwolf, model):
    topwolf("convert", model, "model.liblinear")
    held = topwolf.json("inspect", "model.liblinear")
    assert held["kind"] == "model" and "primal" not in held


def test_the_cache_can_be_inspected_and_converted_back(topwolf, train_svm):
    topwolf("convert", train_svm, "t.twd")
    assert topwolf.json("inspect", "t.twd")["n"] == topwolf.json("inspect", train_svm)["n"]
    topwolf("convert", "t.twd", "back.svm")
    topwolf("convert", "back.svm", "again.twd")
    assert (topwolf.folder / "t.twd").read_bytes() == (topwolf.folder / "again.twd").read_bytes()


def test_converting_to_npy_without_a_place_for_the_labels_warns(topwolf, train_svm):
    done = topwolf("convert", train_svm, "t.npy")
    assert "--output-labels" in done.stderr


def test_data_given_as_a_model_is_named_as_such(topwolf, train_svm):
    topwolf.refuses("predict", train_svm, train_svm, code=3, saying="is not a model")


@pytest.fixture
def wide_svm(tmp_path):
    """1,000 sparse rows that would be 4 GB of float32 numbers."""
    (tmp_path / "wide.svm").write_text("".join(f"{i % 2} {i + 1}:1 1000000:2\n" for i in range(1000)))
    return "wide.svm"


@pytest.mark.parametrize("name, size", [("dense.npy", "3.7 GiB"), ("dense.csv", "1.9 GiB")])
def test_a_sparse_file_becomes_a_large_dense_one_only_with_a_yes(topwolf, wide_svm, name, size):
    topwolf.refuses("convert", wide_svm, name, code=2, saying=f"{name} would take at least {size}")


def test_sparse_files_and_small_dense_ones_need_no_yes(topwolf, wide_svm, tmp_path):
    topwolf("convert", wide_svm, "wide.twd")
    topwolf("convert", wide_svm, "wide.npz")
    (tmp_path / "few.svm").write_text("0 1:1\n1 100000:1\n")
    topwolf("convert", "few.svm", "few.npy", "--output-labels", "y.txt")
    assert np.load(tmp_path / "few.npy").shape == (2, 100000)


def test_what_the_disk_cannot_hold_is_refused_before_it_is_written(topwolf, tmp_path):
    # 2^31 columns and as many gigabytes: more than any disk.
    (tmp_path / "huge.svm").write_text("".join(f"{i % 2} 2147483646:1\n" for i in range(200000)))
    options = ["--yes", "--output-labels", "y.txt"]
    topwolf.refuses("convert", "huge.svm", "huge.npy", *options, code=4, saying="GiB, but the disk has")
    topwolf.refuses("convert", "huge.svm", "huge.npy", "--output-labels", "y.txt", code=2, saying="--yes writes it")
