"""Certificates at the ends of the scale: rows of next to nothing, tiny C and weights, huge and vanishing costs."""

import itertools

import pytest

import support

SOLVERS = ["block", "apg", "lsfw", "stdfw", "pg"]


def claim_holds(topwolf, data, *options):
    """Trains with the dual kept, lets verify recompute the claim, and returns what train said."""
    result = topwolf.json("train", data, "m.topwolf", "--dual", "m.dual", *options, code=(0, 5))
    assert 0 <= result["dual"] <= result["primal"] * (1 + 1e-12)
    weights = [word for pair in zip(options, options[1:]) if pair[0] == "--weights" for word in pair]
    assert topwolf.json("verify", data, "m.topwolf", "--dual", "m.dual", *weights)["holds"]
    return result


@pytest.mark.parametrize("solver", SOLVERS)
def test_rows_of_next_to_nothing(topwolf, solver):
    rows = topwolf.write("t.svm", "".join(f"{j} {j}:1e-9\n" for j in range(1, 5)))
    result = claim_holds(topwolf, rows, "--solver", solver, "--max-iterations", "100")
    assert result["primal"] == pytest.approx(1) and result["dual"] <= 1


@pytest.mark.parametrize("tolerance", ["1e-3", "0.01"])
def test_rows_of_noise_among_ordinary_ones(topwolf, tolerance):
    X, y = support.blobs(n=300, d=20, m=100, seed=3)
    X[::5] = 1e-17 * X[::5]
    rows = support.write_libsvm(topwolf.folder / "noise.svm", X, y)
    rough = claim_holds(topwolf, rows, "--tolerance", tolerance)
    tight = claim_holds(topwolf, rows, "--tolerance", "1e-6")
    assert rough["dual"] <= tight["primal"] * (1 + 1e-12)
    assert rough["primal"] - tight["dual"] <= float(tolerance) * rough["primal"] + 1e-6


@pytest.mark.parametrize("solver", SOLVERS)
@pytest.mark.parametrize("C", ["1e-300", "1e-20", "1e20"])
def test_any_C(topwolf, train_svm, solver, C):
    claim_holds(topwolf, train_svm, "--solver", solver, "--C", C, "--max-iterations", "20")


@pytest.mark.parametrize("solver", SOLVERS)
def test_weights_of_next_to_nothing(topwolf, train_svm, solver):
    weights = topwolf.write("weights.txt", "".join("1e-308\n" if i % 3 else "1\n" for i in range(120)))
    claim_holds(topwolf, train_svm, "--solver", solver, "--weights", weights, "--max-iterations", "50")


@pytest.mark.parametrize("solver, cost", itertools.product(SOLVERS, ["1e300", "1e-300", "1e20"]))
def test_costs_of_any_size(topwolf, train_svm, solver, cost):
    lines = "".join(",".join("0" if i == j else cost for j in range(4)) + "\n" for i in range(4))
    costs = topwolf.write("costs.csv", lines)
    result = topwolf.json(
        "train", train_svm, "m.topwolf", "--solver", solver, "--cost-matrix", costs, "--max-iterations", "50", code=(0, 5)
    )
    assert 0 <= result["dual"] <= result["primal"] * (1 + 1e-12)
    assert result["primal"] <= float(cost) * (1 + 1e-12)


@pytest.mark.parametrize("solver", SOLVERS)
def test_where_nothing_costs_anything_no_model_is_best(topwolf, train_svm, solver):
    costs = topwolf.write("costs.csv", "0,0,0,0\n" * 4)
    result = topwolf.json("train", train_svm, "m.topwolf", "--solver", solver, "--cost-matrix", costs)
    assert (result["status"], result["primal"], result["dual"]) == ("converged", 0, 0)


@pytest.mark.parametrize("solver", SOLVERS)
def test_an_early_stop_is_never_worse_than_no_model(topwolf, train_svm, solver):
    trace = topwolf.folder / "trace.jsonl"
    result = topwolf.json(
        "train", train_svm, "--solver", solver, "--C", "1e4", "--max-iterations", "2", "--trace", trace, code=5
    )
    assert result["primal"] <= 1 + 1e-9
    lowest = [line["primal"] for line in map(support.parse_strict, trace.read_text().splitlines())]
    assert lowest == sorted(lowest, reverse=True) and lowest[0] <= 1 + 1e-9
