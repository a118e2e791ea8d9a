"""topwolf train: defaults, stopping, the JSON document, the model's name, exit codes."""

import math
import os
import resource
import subprocess

import numpy as np
import pytest

import support

KEYS = (
    "status primal dual gap relative_gap iterations load_seconds train_seconds n d m loss k lambda C solver "
    "rho smoothing bias precision threads seed normalize model version warnings"
).split()


def test_json_is_one_document_with_every_promised_key(topwolf, train_svm):
    result = topwolf.json("train", train_svm, "model.topwolf")
    assert set(KEYS) <= set(result)
    assert (result["n"], result["d"], result["m"]) == (120, 6, 4)
    assert result["status"] == "converged"
    assert result["gap"] == pytest.approx(result["primal"] - result["dual"])
    assert result["relative_gap"] == pytest.approx(result["gap"] / result["primal"])
    assert result["model"] == "model.topwolf" and (topwolf.folder / "model.topwolf").exists()
    assert result["load_seconds"] > 0 and result["train_seconds"] > 0


def test_defaults_are_those_of_the_contract(topwolf, train_svm):
    result = topwolf.json("train", train_svm)
    assert result["loss"] == "max-hinge" and result["k"] is None and result["rho"] is None
    assert result["C"] == 1 and result["lambda"] == pytest.approx(1 / 120)
    assert result["bias"] == 0 and result["smoothing"] == 0 and result["normalize"] == "none"
    assert result["precision"] == "float32" and result["seed"] == 0
    assert result["relative_gap"] <= 1e-3
    assert result["solver"] == "block"


@pytest.mark.parametrize("m, k", [(3, 2), (4, 3), (6, 5), (9, 5)])
def test_k_is_5_or_one_less_than_the_classes_unless_given(topwolf, tmp_path, m, k):
    data = support.write_libsvm(tmp_path / "data.svm", *support.blobs(m=m, n=20 * m))
    assert topwolf.json("train", "--loss", "top-k", data)["k"] == k
    assert topwolf.json("train", "--loss", "usunier:1", data)["k"] == 1


@pytest.mark.parametrize("m, weights", [(3, (5, 4)), (4, (5, 4, 3)), (8, (5, 4, 3, 2, 1))])
def test_rho_is_5_4_3_2_1_cut_and_scaled_unless_given(topwolf, tmp_path, m, weights):
    data = support.write_libsvm(tmp_path / "data.svm", *support.blobs(m=m, n=20 * m))
    result = topwolf.json("train", "--loss", "weighted-usunier", data)
    assert result["k"] is None
    assert result["rho"] == pytest.approx([w / sum(weights) for w in weights])


def test_a_given_rho_is_not_rescaled_and_may_be_short_or_padded(topwolf, train_svm):
    for given in ("2,1", "2,1,0", "2,1,0,0,0,0"):
        result = topwolf.json("train", "--loss", "weighted-top-k", "--rho", given, train_svm)
        assert [w for w in result["rho"] if w != 0] == [2, 1]


def test_options_that_do_not_fit_the_data_exit_3(topwolf, train_svm):
    topwolf.refuses("train", "--loss", "usunier:4", train_svm, code=3, saying="from 1 to 3")
    topwolf.refuses("train", "--loss", "top-k", "-k", "99", train_svm, code=3, saying="from 1 to 3")
    rho = "0.4,0.3,0.2,0.1"
    topwolf.refuses("train", "--loss", "weighted-usunier", "--rho", rho, train_svm, code=3, saying="place 4")


def test_lambda_and_C_are_two_names_of_one_thing(topwolf, train_svm):
    by_c = topwolf.json("train", "--C", "4", train_svm)
    by_lambda = topwolf.json("train", "--lambda", repr(1 / (4 * 120)), train_svm)
    assert by_c["lambda"] == pytest.approx(by_lambda["lambda"]) and by_lambda["C"] == pytest.approx(4)
    assert by_c["primal"] == pytest.approx(by_lambda["primal"], rel=1e-9)


@pytest.mark.parametrize("solver", ["auto", "block", "newton", "apg", "lsfw", "stdfw", "pg"])
@pytest.mark.parametrize("loss", ["max-hinge", "top-k:3", "usunier:3", "weighted-top-k", "weighted-usunier"])
def test_every_loss_with_every_solver_gives_bounds_of_the_same_optimum(topwolf, train_svm, solver, loss):
    exact = topwolf.json("train", "--precision", "float64", "--tolerance", "1e-4", "--loss", loss, train_svm)
    result = topwolf.json("train", "--solver", solver, "--loss", loss, "--tolerance", "0.05", train_svm)
    assert solver == "auto" or result["solver"] == solver
    assert result["relative_gap"] <= 0.05
    assert result["dual"] <= exact["primal"] and exact["dual"] <= result["primal"]


def test_smoothing_lowers_the_optimum(topwolf, train_svm):
    plain = topwolf.json("train", "--loss", "top-k", train_svm)
    smooth = topwolf.json("train", "--loss", "top-k", "--smoothing", "0.5", train_svm)
    assert smooth["smoothing"] == 0.5 and smooth["primal"] < plain["dual"]


def test_the_iteration_limit_exits_5_and_the_model_is_written(topwolf, train_svm):
    result = topwolf.json("train", "--max-iterations", "3", train_svm, "few.topwolf", code=5)
    assert result["status"] == "iteration_limit" and result["iterations"] == 3
    assert topwolf.json("evaluate", train_svm, "few.topwolf")["n"] == 120


def test_the_time_limit_exits_5_and_the_model_is_written(topwolf, train_svm):
    endless = ["--solver", "lsfw", "--tolerance", "0", "--max-iterations", "1000000000"]
    result = topwolf.json("train", "--time-limit", "0.3", *endless, train_svm, code=5)
    assert result["status"] == "time_limit" and 0.25 < result["train_seconds"] < 30
    assert (topwolf.folder / "train.svm.topwolf").exists()


def test_an_absolute_gap_alone_switches_the_tolerance_off(topwolf, train_svm):
    loose = topwolf.json("train", train_svm)
    tight = topwolf.json("train", "--absolute-gap", repr(loose["gap"] / 20), train_svm)
    assert tight["status"] == "converged" and tight["gap"] <= loose["gap"] / 20
    assert tight["iterations"] > loose["iterations"]


def test_the_first_criterion_that_holds_ends_training(topwolf, train_svm):
    wide = topwolf.json("train", "--absolute-gap", "1e6", "--tolerance", "1e-9", train_svm)
    assert wide["status"] == "converged" and wide["relative_gap"] > 1e-9


def test_without_a_model_name_the_data_names_it_in_the_current_folder(topwolf, tmp_path):
    (tmp_path / "deep").mkdir()
    support.write_libsvm(tmp_path / "deep" / "rows.svm", *support.blobs())
    assert topwolf.json("train", "deep/rows.svm")["model"] == "rows.svm.topwolf"
    assert (tmp_path / "rows.svm.topwolf").exists()


def test_from_standard_input_a_model_is_written_only_if_named(topwolf, tmp_path):
    text = support.libsvm_text(*support.blobs())
    assert topwolf.json("train", "-", stdin=text)["model"] is None
    assert list(tmp_path.iterdir()) == []
    assert topwolf.json("train", "-", "named.topwolf", stdin=text)["model"] == "named.topwolf"
    assert (tmp_path / "named.topwolf").exists()


def test_the_summary_is_a_sentence_and_progress_is_not_on_standard_output(topwolf, train_svm):
    done = topwolf("train", train_svm)
    assert "% above the optimum" in done.stdout and "train.svm.topwolf" in done.stdout
    assert "relative gap" in done.stderr and "relative gap" not in done.stdout


def test_the_sentence_is_not_optimistic(topwolf, train_svm):
    text = topwolf("train", train_svm, "a.topwolf").stdout
    result = topwolf.json("train", train_svm, "b.topwolf")
    percent = float(text.split("at most ")[1].split(" %")[0])
    true = 100 * (result["primal"] / result["dual"] - 1)
    assert true * (1 - 1e-9) <= percent <= 1.1 * true


def test_the_claimed_primal_is_that_of_the_written_weights(topwolf, train_svm):
    X, y = support.blobs()
    for loss in ("max-hinge", "usunier:3"):
        result = topwolf.json("train", "--loss", loss, train_svm, "m.topwolf")
        topwolf("convert", "m.topwolf", "m.liblinear")
        labels, _, W = support.read_liblinear(topwolf.folder / "m.liblinear")
        rows = [labels.index(str(label)) for label in y]
        if loss == "max-hinge":
            primal = support.max_hinge_primal(W, X, rows, result["lambda"])
        else:
            primal = support.usunier_primal(W, X, rows, result["lambda"], 3)
        assert primal == pytest.approx(result["primal"], rel=1e-6)


def test_a_bias_is_a_constant_feature(topwolf, tmp_path):
    X, y = support.blobs()
    plain = support.write_libsvm(tmp_path / "plain.svm", X, y)
    added = support.write_libsvm(tmp_path / "added.svm", np.hstack([X, np.full((len(X), 1), 2.0)]), y)
    by_option = topwolf.json("train", "--bias", "2", plain)
    by_hand = topwolf.json("train", added)
    assert (by_option["d"], by_option["bias"]) == (6, 2)
    assert by_option["primal"] == pytest.approx(by_hand["primal"], rel=1e-3)


def test_the_thread_count_does_not_change_the_result(topwolf, train_svm):
    one = topwolf.json("train", "--threads", "1", train_svm, "one.topwolf")
    two = topwolf.json("train", "--threads", "2", train_svm, "two.topwolf")
    assert (one["threads"], two["threads"]) == (1, 2)
    assert (one["primal"], one["dual"], one["iterations"]) == (two["primal"], two["dual"], two["iterations"])


def test_a_large_C_is_warned_of_with_the_remedy(topwolf, tmp_path):
    X, y = support.blobs()
    data = support.write_libsvm(tmp_path / "large.svm", 1000 * X, y)
    done = topwolf("train", "--json", "-q", "--C", "1e4", "--max-iterations", "3", data, code=5)
    assert done.stderr.startswith("topwolf: warning: ") and "normalize" in done.stderr
    assert len(support.parse_strict(done.stdout)["warnings"]) == 1


def matrix(m, seed=1):
    cost = np.random.default_rng(seed).uniform(0.5, 2.0, size=(m, m))
    np.fill_diagonal(cost, 0.0)
    return cost


def test_a_cost_matrix_may_be_blanks_commas_or_npy(topwolf, train_svm, tmp_path):
    cost = matrix(4)
    np.savetxt(tmp_path / "cost.txt", cost, fmt="%.17g", header="row = true class")
    np.savetxt(tmp_path / "cost.csv", cost, fmt="%.17g", delimiter=",")
    np.savetxt(tmp_path / "spaced.csv", cost, fmt="%.17g", delimiter=" , ", newline=" \r\n")
    np.save(tmp_path / "cost.npy", cost)
    np.save(tmp_path / "fortran.npy", np.asfortranarray(cost))
    names = ["cost.txt", "cost.csv", "spaced.csv", "cost.npy", "fortran.npy"]
    primals = {name: topwolf.json("train", "--cost-matrix", name, train_svm)["primal"] for name in names}
    assert len(set(primals.values())) == 1
    assert primals["cost.txt"] != topwolf.json("train", train_svm)["primal"]


def test_the_rows_of_the_cost_matrix_are_the_true_classes(topwolf, train_svm, tmp_path):
    """With W = 0 the first dual bound is 0 and the primal the mean of the rows' largest costs."""
    cost = np.zeros((4, 4))
    cost[0, 1:] = 8.0
    np.save(tmp_path / "cost.npy", cost)
    result = topwolf.json("train", "--cost-matrix", "cost.npy", "--lambda", "1e6", train_svm)
    assert result["primal"] == pytest.approx(8.0 / 4, rel=1e-2)


@pytest.mark.parametrize(
    "change, saying",
    [
        (lambda c: c[:3, :3], "4 classes"),
        (lambda c: c[:, :3], "4 classes"),
        (lambda c: c[:3], "4 classes"),
        (lambda c: c + np.eye(4), "row 1, column 1"),
        (lambda c: np.where(np.arange(16).reshape(4, 4) == 6, -1.0, c), "row 2, column 3"),
    ],
)
@pytest.mark.parametrize("name", ["cost.csv", "cost.npy"])
def test_a_cost_matrix_that_does_not_fit_exits_3(topwolf, train_svm, tmp_path, name, change, saying):
    cost = change(matrix(4))
    np.save(tmp_path / name, cost) if name.endswith("npy") else np.savetxt(tmp_path / name, cost, delimiter=",")
    sentence = topwolf.refuses("train", "--cost-matrix", name, train_svm, code=3, saying=saying)
    assert name in sentence


@pytest.mark.parametrize("entry, column", [("nan", 3), ("inf", 3), ("x", 3), ("1e999", 3), ("", 3)])
def test_a_bad_entry_of_a_cost_matrix_is_named_by_line_and_column(topwolf, train_svm, tmp_path, entry, column):
    (tmp_path / "cost.csv").write_text(f"0,1,1,1\n1,{entry},1,1\n1,1,0,1\n1,1,1,0\n")
    topwolf.refuses("train", "--cost-matrix", "cost.csv", train_svm, code=3, saying=f"cost.csv:2:{column}: ")


def test_a_cost_matrix_that_cannot_be_read_exits_4(topwolf, train_svm):
    topwolf.refuses("train", "--cost-matrix", "nowhere.txt", train_svm, code=4, saying="nowhere.txt")


def test_a_model_that_could_not_be_written_is_refused_before_the_data_is_read(topwolf, tmp_path):
    topwolf.refuses("train", "nowhere.svm", "no/such/folder/m.topwolf", code=4, saying="no/such/folder")
    (tmp_path / "folder").mkdir()
    topwolf.refuses("train", "nowhere.svm", "folder", code=4, saying="folder")
    for option in ("--dual", "--trace"):
        topwolf.refuses("train", option, "no/such/file", "nowhere.svm", code=4, saying="no/such")


def test_files_being_read_are_not_written_over(topwolf, train_svm):
    topwolf.refuses("train", train_svm, train_svm, code=2, saying="is being read")
    topwolf.refuses("train", "--dual", train_svm, train_svm, code=2, saying="is being read")
    topwolf.refuses("train", "--trace", "m", train_svm, "m", code=2, saying="different files")
    topwolf.refuses("train", train_svm, "-", code=2, saying="standard output")


def test_data_that_cannot_be_read_exits_4(topwolf, tmp_path):
    topwolf.refuses("train", "nowhere.svm", code=4, saying="nowhere.svm")
    topwolf.refuses("train", ".", "m.topwolf", code=4, saying=".")


def test_more_data_than_memory_exits_6(topwolf, tmp_path):
    header = "{'descr': '<f4', 'fortran_order': False, 'shape': (200000, 1000), }".ljust(117) + "\n"
    with open(tmp_path / "big.npy", "wb") as file:
        file.write(b"\x93NUMPY\x01\x00" + len(header).to_bytes(2, "little") + header.encode())
        file.truncate(128 + 800_000_000)
    np.save(tmp_path / "y.npy", np.arange(200000) % 3)
    limit = 700_000_000
    done = subprocess.run(
        [topwolf.path, "train", "--threads", "1", "--labels", "y.npy", "big.npy"],
        cwd=tmp_path,
        env={**os.environ, "OMP_NUM_THREADS": "1"},
        capture_output=True,
        text=True,
        preexec_fn=lambda: resource.setrlimit(resource.RLIMIT_AS, (limit, limit)),
    )
    assert done.returncode == 6 and "memory" in done.stderr, (done.returncode, done.stderr)
    assert not (tmp_path / "big.npy.topwolf").exists()


def test_numbers_are_finite_even_where_nothing_is_to_learn(topwolf, tmp_path):
    (tmp_path / "zero.svm").write_text("1 1:0\n2 1:0\n1 1:0\n2 1:0\n")
    result = topwolf.json("train", "zero.svm")
    assert all(math.isfinite(result[key]) for key in ("primal", "dual", "gap", "relative_gap"))
    assert result["primal"] == pytest.approx(1.0)


def test_an_empty_model_name_is_refused(topwolf, train_svm):
    topwolf.refuses("train", train_svm, "", code=2, saying="MODEL is empty")


def test_one_file_under_two_names_is_refused_for_model_and_dual(topwolf, train_svm):
    topwolf.refuses("train", train_svm, "./m", "--dual", "m", code=2, saying="different files")


def test_weights_beyond_the_memory_exit_6_with_a_sentence(topwolf, tmp_path):
    (tmp_path / "wide.svm").write_text("1 1:1\n2 2000000000:1\n")
    topwolf("train", "wide.svm")  # two features occur
    (tmp_path / "many.svm").write_text("".join(f"{j} {j}:1\n" for j in range(1, 100001)))
    topwolf.refuses("train", "many.svm", code=6, saying="GB")


def test_numbers_beyond_a_double_are_refused(topwolf, train_svm):
    topwolf.refuses("train", "-c", "1e308", train_svm, code=2, saying="lambda")
    topwolf.refuses("train", "--smoothing", "1e-310", train_svm, code=2, saying="smoothing")
    topwolf.refuses("train", "--threads", "100000", train_svm, code=2, saying="threads")


@pytest.mark.parametrize("solver", ["newton", "apg", "lsfw", "stdfw", "pg"])
def test_the_dual_is_never_below_that_of_nothing(topwolf, train_svm, solver):
    result = topwolf.json(
        "train", "--solver", solver, "-c", "1e6", "--max-iterations", "2", "--dual", "m.dual", train_svm, "m", code=5
    )
    assert result["dual"] >= 0 and result["relative_gap"] <= 1
    assert topwolf.json("verify", train_svm, "m", "--dual", "m.dual")["holds"] is True


@pytest.mark.parametrize("scores", ["weights", "gram"])
def test_the_choice_of_scores_is_named_and_changes_no_result(topwolf, train_svm, scores):
    result = topwolf.json("train", "--scores", scores, "--precision", "float64", train_svm)
    assert scores.split("s")[0] in result["choice"].lower() and "as asked" in result["choice"]
    assert 120 <= result["row_visits"] <= 120 * result["iterations"]
    other = topwolf.json("train", "--solver", "lsfw", "--precision", "float64", train_svm)
    assert result["dual"] <= other["primal"] and other["dual"] <= result["primal"]
    topwolf.refuses("train", "--scores", scores, "--solver", "pg", train_svm, code=2, saying="block")


def test_more_than_float32_can_give_stalls_and_names_the_remedy(topwolf, train_svm):
    done = topwolf("train", "-q", "-c", "100", "--tolerance", "1e-13", "--max-iterations", "3000", train_svm, code=5)
    assert "stalled" in done.stdout and "--precision float64" in done.stdout
