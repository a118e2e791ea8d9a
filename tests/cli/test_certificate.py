"""Certificates at the ends of the scale: rows of next to nothing, tiny C and weights, huge and vanishing costs."""

import itertools

import pytest

import support

SOLVERS = ["block", "newton", "apg", "lsfw", "stdfw", "pg"]


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
def test_a_large_lambda_with_large_weights(topwolf, solver):
    """lambda N is too large for a double with weights of 1e200, and 2e210 with those of 1e90."""
    rows = topwolf.write("h.svm", "1 1:1e60\n2 1:-1e60\n")
    options = ["--precision", "float64", "--lambda", "1e120", "--solver", solver, "--weights"]
    weights = topwolf.write("weights.txt", "1e200\n1e200\n")
    done = topwolf("train", rows, "m.topwolf", *options, weights, code=3)
    assert done.stderr == "topwolf: the largest example weight is 1e+200, but it must lie between 1e-100 and 1e+100: scale all weights\n"
    weights = topwolf.write("weights.txt", "1e90\n1e90\n")
    result = claim_holds(topwolf, rows, *options, weights)
    assert result["primal"] >= 0.25 and result["dual"] <= 0.25
    done = topwolf("train", rows, "m.topwolf", "--precision", "float64", "--lambda", "1e306", code=2)
    assert "but their product must lie between" in done.stderr


def test_weights_that_vanish_beside_1(topwolf):
    rows = topwolf.write("s.svm", "1 1:1\n2 1:-1\n")
    costs = topwolf.write("costs.txt", "0 1e-240\n1e-240 0\n")
    topwolf("train", rows, "m.topwolf", "--weights", topwolf.write("w.txt", "1e-308\n1e-308\n"), code=3)
    weights = topwolf.write("w.txt", "1e-99\n1e-99\n")
    result = topwolf.json("train", rows, "m.topwolf", "--weights", weights, "--cost-matrix", costs, code=(0, 5))
    assert result["primal"] >= 1e-240 * (1 - 1e-9) and result["dual"] <= 1e-240 * (1 + 1e-9)


@pytest.mark.parametrize("solver", SOLVERS)
def test_smoothing_beside_which_alpha_vanishes(topwolf, solver):
    rows = topwolf.write("s.svm", "1 1:1\n2 1:-1\n")
    options = ["--solver", solver, "--max-iterations", "50"]
    done = topwolf("train", rows, "m.topwolf", "--smoothing", "3e161", *options, code=2)
    assert "smoothing is 3e+161, but it must be 0, or between 1e-12 and 1e+100" in done.stderr
    result = topwolf.json("train", rows, "m.topwolf", "--smoothing", "1e100", *options, code=(0, 5))
    assert result["primal"] >= 2.5e-101 * (1 - 1e-12) and result["dual"] <= 2.5e-101 * (1 + 1e-12)
    costs = topwolf.write("costs.txt", "0 5e-138\n5e-138 0\n")
    result = topwolf.json(
        "train", rows, "m.topwolf", "--smoothing", "7e24", "--cost-matrix", costs, *options, code=(0, 5)
    )
    at_zero = 5e-138 / 7e24 * 5e-138 / 4
    assert result["primal"] >= at_zero and result["dual"] <= at_zero


def test_class_features_whose_products_vanish(topwolf):
    """x = 1e49, phi = 1e-42 and costs of 1e-274: the numbers of phi V are below the smallest that has precision."""
    rows = topwolf.write("rows.csv", "label,x\na,1e49\nb,-7e48\n")
    phi = topwolf.write("phi.csv", "label,p,q\na,1e-42,0\nb,0,6e-43\n")
    costs = topwolf.write("costs.txt", "0 1e-274\n1e-274 0\n")
    options = ["--class-features", phi, "--cost-matrix", costs, "--precision", "float64", "--tolerance", "1e-9"]
    for scale in ("1e287", "1e288", "1e289"):
        claims = [
            topwolf.json(
                "train", rows, "m.topwolf", *options, "--lambda", scale, "--solver", solver, "--max-iterations", passes,
                code=(0, 5),
            )
            for solver in set(SOLVERS) - {"newton"}
            for passes in ("1", "3", "30")
        ]
        assert max(claim["dual"] for claim in claims) <= min(claim["primal"] for claim in claims) * (1 + 1e-12)


def test_newton_refuses_classes_that_share_weights(topwolf):
    rows = topwolf.write("rows.csv", "label,x\na,1\nb,-7\n")
    phi = topwolf.write("phi.csv", "label,p,q\na,1,0\nb,1,1\n")
    done = topwolf("train", rows, "m.topwolf", "--class-features", phi, "--solver", "newton", code=2)
    assert done.stderr == "topwolf: --solver newton wants weights of its own for every class\n"


@pytest.mark.parametrize("solver", SOLVERS)
def test_weighted_costs_that_overflow(topwolf, solver):
    rows = topwolf.write("rows.csv", "label,x\na,7e17\nb,-5e17\na,3e17\n")
    costs = topwolf.write("costs.txt", "0 2e275\n1e275 0\n")
    weights = topwolf.write("weights.txt", "1e91\n2e91\n1e91\n")
    options = ["--cost-matrix", costs, "--weights", weights, "-c", "1e81", "--precision", "float64"]
    result = topwolf.json("train", rows, "m.topwolf", *options, "--solver", solver, "--max-iterations", "10", code=(0, 5))
    assert 0 <= result["dual"] <= result["primal"]


@pytest.mark.parametrize("solver", SOLVERS)
def test_a_smoothed_dual_whose_squares_vanish(topwolf, train_svm, solver):
    """Margins of 8e-57 under smoothing of 1e65, with weights of 7e-83: omega ||alpha||^2 is no number any more."""
    costs = topwolf.write("costs.csv", "".join(",".join("0" if i == j else "8e-57" for j in range(4)) + "\n" for i in range(4)))
    weights = topwolf.write("weights.txt", "7e-83\n" * 120)
    options = ["--smoothing", "1e65", "--cost-matrix", costs, "--weights", weights, "-c", "7e-119", "--max-iterations", "3"]
    result = topwolf.json("train", train_svm, "m.topwolf", *options, "--solver", solver, code=(0, 5))
    assert 0 <= result["dual"] <= result["primal"]


def test_the_trace_never_shows_a_dual_above_the_primal(topwolf):
    """Eight rows on which what the rows lack when they are visited says little about the gap."""
    values = "0 -.8 -1.3,1 -.2 .4,2 1.1 .1,0 -.6 -.8,1 .7 1.6,1 .3 -1.2,1 -1 1.6,1 .2 -1.7".split(",")
    rows = topwolf.write("b8.svm", "".join("{} 1:{} 2:{}\n".format(*row.split()) for row in values))
    topwolf("train", rows, "m.topwolf", "-c", "1000", "--tolerance", "1e-4", "--trace", "t.jsonl", "-q")
    records = [support.parse_strict(line) for line in (topwolf.folder / "t.jsonl").read_text().splitlines()]
    assert len(records) > 100 and all(record["dual"] <= record["primal"] for record in records)
    assert all(record["relative_gap"] > 0.01 for record in records[:300])


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
