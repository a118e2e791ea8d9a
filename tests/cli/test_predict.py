"""topwolf predict and evaluate, against weights exported to LIBLINEAR's format and plain NumPy."""

import numpy as np
import pytest

import support

X, Y = support.blobs(n=60, spread=0.8)


def lines(done):
    return [line.split("\t") for line in done.stdout.splitlines()]


@pytest.fixture
def scores(topwolf, model):
    topwolf("convert", model, "model.liblinear")
    labels, _, W = support.read_liblinear(topwolf.folder / "model.liblinear")
    order = np.argsort([int(label) for label in labels])
    return X.astype(np.float64) @ W[order].T


def test_predict_prints_one_label_a_row(topwolf, test_svm, model, scores):
    assert lines(topwolf("predict", test_svm, model)) == [[str(j + 1)] for j in np.argmax(scores, axis=1)]


def test_predict_prints_k_labels_best_first(topwolf, test_svm, model, scores):
    best = np.argsort(-scores, axis=1, kind="stable")[:, :3]
    assert lines(topwolf("predict", "-k", "3", test_svm, model)) == [[str(j + 1) for j in row] for row in best]


def test_scores_follow_their_labels(topwolf, test_svm, model, scores):
    for row, true in zip(lines(topwolf("predict", "-k", "4", "--scores", test_svm, model)), scores):
        assert len(row) == 8
        for label, score in zip(row[::2], row[1::2]):
            assert float(score) == pytest.approx(true[int(label) - 1], abs=1e-5)
            assert score == f"{float(score):.9g}"


def test_ties_go_to_the_lower_class(topwolf, tmp_path, model):
    (tmp_path / "zero.svm").write_text("1 1:0\n")
    assert lines(topwolf("predict", "-k", "4", "zero.svm", model)) == [["1", "2", "3", "4"]]


def test_predict_writes_to_a_file_when_asked(topwolf, test_svm, model):
    printed = topwolf("predict", test_svm, model).stdout
    assert topwolf("predict", "-o", "out.txt", test_svm, model).stdout == ""
    assert (topwolf.folder / "out.txt").read_text() == printed
    topwolf.refuses("predict", "-o", test_svm, test_svm, model, code=2, saying="is being read")
    topwolf.refuses("predict", "-o", "no/such/file", test_svm, model, code=4, saying="no/such")


def test_a_dash_is_standard_output(topwolf, test_svm, model):
    assert topwolf("predict", "-o", "-", test_svm, model).stdout == topwolf("predict", test_svm, model).stdout
    assert not (topwolf.folder / "-").exists()
    for words in (["train", test_svm, "m", "--trace", "-"], ["demo", "-o", "-"], ["convert", model, "-"]):
        topwolf.refuses(*words, code=2, saying="/dev/stdout is standard output")


def test_rows_need_no_label(topwolf, tmp_path, test_svm, model):
    bare = "".join(line.split(" ", 1)[1] for line in test_svm.read_text().splitlines(keepends=True))
    (tmp_path / "bare.svm").write_text(bare)
    np.save(tmp_path / "bare.npy", X)
    expected = topwolf("predict", test_svm, model).stdout
    assert topwolf("predict", "bare.svm", model).stdout == expected
    assert topwolf("predict", "bare.npy", model).stdout == expected
    assert topwolf("predict", "-", model, stdin=bare).stdout == expected


def test_k_beyond_the_classes_is_refused(topwolf, test_svm, model):
    topwolf.refuses("predict", "-k", "5", test_svm, model, code=3, saying="1 to 4")
    topwolf.refuses("predict", "-k", "0", test_svm, model, code=2, saying="from 1 to")


def test_a_sparse_index_beyond_d_is_ignored_with_one_warning(topwolf, tmp_path, test_svm, model):
    text = test_svm.read_text()
    (tmp_path / "wide.svm").write_text(text.replace("\n", " 7:5 900:1\n"))
    done = topwolf("predict", "-q", "wide.svm", model)
    assert done.stdout == topwolf("predict", test_svm, model).stdout
    assert done.stderr.count("\n") == 1 and "warning" in done.stderr and "6 features" in done.stderr


def test_a_sparse_file_with_fewer_features_is_read_as_zeros_there(topwolf, tmp_path, model):
    (tmp_path / "narrow.svm").write_text("1 2:1.5\n")
    (tmp_path / "full.svm").write_text("1 2:1.5 6:0\n")
    narrow = topwolf("predict", "-q", "--scores", "-k", "4", "narrow.svm", model)
    assert narrow.stdout == topwolf("predict", "--scores", "-k", "4", "full.svm", model).stdout
    assert narrow.stderr == ""


@pytest.mark.parametrize("width", [5, 7])
def test_a_dense_width_mismatch_exits_3(topwolf, tmp_path, model, width):
    np.save(tmp_path / "X.npy", np.ones((4, width), dtype=np.float32))
    topwolf.refuses("predict", "X.npy", model, code=3, saying=str(width))


def test_evaluate_counts_what_predict_misses(topwolf, test_svm, model, scores):
    result = topwolf.json("evaluate", test_svm, model)
    rank = np.sum(scores > scores[np.arange(60), Y - 1][:, None], axis=1)
    assert result["n"] == 60
    assert result["top1_error"] == pytest.approx(np.mean(rank >= 1)) and result["top1_error"] > 0
    assert result["top3_error"] == pytest.approx(np.mean(rank >= 3))
    assert "top5_error" not in result  # four classes: it would be 0 of whatever model


def test_evaluate_prints_a_table(topwolf, test_svm, model):
    error = topwolf.json("evaluate", test_svm, model)["top1_error"]
    table = topwolf("evaluate", test_svm, model).stdout.splitlines()
    assert table[0].split() == ["top-1", "error", f"{100 * error:.2f}", "%"]
    assert [row.split()[0] for row in table] == ["top-1", "top-3", "rows"]


def test_a_label_unseen_in_training_is_wrong_at_every_k_with_one_warning(topwolf, tmp_path, test_svm, model):
    lines_in = test_svm.read_text().splitlines()
    changed = ["77 " + line.split(" ", 1)[1] if i < 15 else line for i, line in enumerate(lines_in)]
    (tmp_path / "unseen.svm").write_text("\n".join(changed) + "\n")
    done = topwolf("evaluate", "--json", "unseen.svm", model)
    result = support.parse_strict(done.stdout)
    assert result["top3_error"] >= 15 / 60 and result["n"] == 60
    assert done.stderr.count("\n") == 1 and "warning" in done.stderr and "15 of 60" in done.stderr


def test_evaluate_needs_labels(topwolf, tmp_path, model):
    (tmp_path / "bare.svm").write_text("1:1 2:1\n")
    topwolf.refuses("evaluate", "bare.svm", model, code=3, saying="bare.svm")


def test_labels_are_matched_by_value(topwolf, tmp_path, test_svm, model):
    spelled = "".join(f"+{line.split(' ', 1)[0]}.0 {line.split(' ', 1)[1]}\n" for line in test_svm.read_text().splitlines())
    (tmp_path / "spelled.svm").write_text(spelled)
    assert topwolf.json("evaluate", "spelled.svm", model) == topwolf.json("evaluate", test_svm, model)


def test_liblinear_models_predict_as_ours(topwolf, test_svm, model):
    topwolf("convert", model, "model.liblinear")
    ours = topwolf("predict", test_svm, model).stdout
    assert topwolf("predict", test_svm, "model.liblinear").stdout == ours
    assert topwolf.json("evaluate", test_svm, "model.liblinear")["n"] == 60


@pytest.mark.parametrize("change", [lambda b: b[:-1], lambda b: b[:5], lambda b: b"", lambda b: b[:-4] + b"\0\0\xc0\x7f"])
def test_a_corrupt_model_exits_3(topwolf, tmp_path, test_svm, model, change):
    (tmp_path / "bad.topwolf").write_bytes(change(model.read_bytes()))
    topwolf.refuses("predict", test_svm, "bad.topwolf", code=3, saying="bad.topwolf")


def test_a_model_that_is_not_there_exits_4(topwolf, test_svm):
    topwolf.refuses("predict", test_svm, "nowhere.topwolf", code=4, saying="nowhere.topwolf")
