"""Options: syntax, values and conflicts, all exit 2 before any file is read."""

import re

import pytest


def test_no_arguments_prints_a_short_usage_and_exits_2(topwolf):
    done = topwolf(code=2)
    assert done.stdout == ""
    assert done.stderr.startswith("usage: topwolf COMMAND")


def test_version_names_the_program(topwolf):
    assert re.match(r"topwolf [0-9.]+ \(products for (avx512|avx2|baseline); ", topwolf("--version").stdout)


@pytest.mark.parametrize("command", ["train", "predict", "evaluate", "compare", "inspect", "convert", "verify", "audit", "calibrate", "demo"])
def test_every_command_explains_itself(topwolf, command):
    assert command in topwolf("--help").stdout
    assert topwolf(command, "--help").stdout.startswith(f"usage: topwolf {command} [options]")


def test_an_unknown_command_names_the_nearest_and_all_there_are(topwolf):
    sentence = topwolf.refuses("trian", "x", code=2, saying="did you mean train?")
    assert "predict, evaluate, compare, inspect, convert, verify, audit, calibrate or demo" in sentence


@pytest.mark.parametrize(
    "word, near",
    [
        ("--tolerence", "--tolerance"),
        ("--tolerence=1e-2", "--tolerance"),
        ("--max-iterationz", "--max-iterations"),
        ("--lamda", "--lambda"),
        ("-loss", "--loss"),
    ],
)
def test_an_unknown_option_suggests_the_nearest(topwolf, word, near):
    topwolf.refuses("train", word, "x", "nowhere.svm", code=2, saying=f"did you mean {near}?")


def test_an_unknown_option_near_to_none_points_to_the_help(topwolf):
    topwolf.refuses("train", "--zzzzzzzz", "nowhere.svm", code=2, saying="'topwolf train --help' lists")


def test_an_option_of_another_command_is_named_as_such(topwolf):
    topwolf.refuses("evaluate", "--rho", "1", "nowhere.svm", "m", code=2, saying="--rho is an option of train")


@pytest.mark.parametrize(
    "word, ours", [("-s", "--solver"), ("-s", "--loss"), ("-e", "--tolerance"), ("-B", "--bias"), ("-v", "topwolf cv DATA MODEL")]
)
def test_options_of_liblinear_get_a_sentence_naming_ours(topwolf, word, ours):
    topwolf.refuses("train", word, "1", "nowhere.svm", code=2, saying=ours)
    topwolf.refuses("train", word + "1", "nowhere.svm", code=2, saying=ours)


@pytest.mark.parametrize(
    "options, saying",
    [
        (["--C", "1", "--lambda", "0.1"], "--lambda and --C"),
        (["--rho", "1,0.5"], "max-hinge takes no --rho"),
        (["--loss", "usunier", "--rho", "1,0.5"], "usunier takes no --rho"),
        (["-k", "3"], "max-hinge takes no k"),
        (["--loss", "weighted-top-k", "-k", "3"], "weighted-top-k takes no k"),
        (["--loss", "weighted_usunier", "-k", "3"], "weighted-usunier takes no k"),
        (["--loss", "max-hinge:3"], "takes no k"),
        (["--loss", "usunier:3", "-k", "3"], "k is given twice"),
        (["--C", "1", "-c", "1"], "given 2 times"),
    ],
)
def test_conflicts_between_options_exit_2(topwolf, options, saying):
    topwolf.refuses("train", *options, "nowhere.svm", code=2, saying=saying)


@pytest.mark.parametrize(
    "options, saying",
    [
        (["--loss", "hinge"], "weighted-usunier"),
        (["--loss", "usunier:0"], "usunier:0"),
        (["--loss", "usunier:x"], "usunier:x"),
        (["--loss", "top-k", "-k", "0"], "from 1 to"),
        (["--loss", "top-k", "-k", "2.5"], "must be an integer"),
        (["--C", "0"], "C"),
        (["--C", "-1"], "C"),
        (["--C", "nan"], "must be a finite number"),
        (["--C", "1x"], "must be a finite number"),
        (["--lambda", "0"], "lambda"),
        (["--lambda", "inf"], "must be a finite number"),
        (["--tolerance", "-1"], "tolerance"),
        (["--absolute-gap", "-1"], "absolute"),
        (["--max-iterations", "0"], "from 1 to"),
        (["--max-iterations", "99999999999999999999"], "must be an integer"),
        (["--time-limit", "-1"], "time"),
        (["--smoothing", "-1"], "smoothing"),
        (["--threads", "-1"], "from 0 to"),
        (["--seed", "-1"], "from 0 to"),
        (["--solver", "sgd"], "auto, block, newton, apg, lsfw, stdfw or pg"),
        (["--normalize", "l2"], "none, unit or maxabs"),
        (["--precision", "float8"], "float32, float64, float16 or bfloat16"),
        (["--index-base", "2"], "auto, 0 or 1"),
        (["--json=yes"], "takes no value"),
        (["--labels="], "needs a value"),
    ],
)
def test_values_that_are_not_allowed_exit_2_and_say_what_is(topwolf, options, saying):
    topwolf.refuses("train", *options, "nowhere.svm", code=2, saying=saying)


def test_an_option_without_its_value_exits_2(topwolf):
    topwolf.refuses("train", "nowhere.svm", "--C", code=2, saying="--C needs a value")


@pytest.mark.parametrize(
    "rho, saying",
    [
        ("0.3,0.4", "must not increase"),
        ("0,0", "above 0"),
        ("1,-0.5", "at least 0"),
        ("1,nan", "'nan'"),
        ("1,inf", "'inf'"),
        ("1,,0.5", "place 2"),
        ("1,x", "'x'"),
    ],
)
def test_rho_must_be_finite_non_negative_and_non_increasing(topwolf, rho, saying):
    topwolf.refuses("train", "--loss", "weighted-usunier", "--rho", rho, "nowhere.svm", code=2, saying=saying)


@pytest.mark.parametrize("command", ["predict", "evaluate", "convert", "verify", "audit"])
def test_missing_and_superfluous_files_exit_2(topwolf, command):
    topwolf.refuses(command, "one", code=2, saying="is missing")
    topwolf.refuses(command, "one", "two", "three", code=2, saying="'three' is one argument too many")


def test_underscores_may_stand_for_dashes_in_names_and_values(topwolf, train_svm):
    result = topwolf.json("train", "--loss", "weighted_top_k", "--max_iterations", "7", "--tolerance=0", train_svm, code=5)
    assert (result["loss"], result["iterations"]) == ("weighted-top-k", 7)


def test_values_may_be_joined_to_their_option(topwolf, train_svm):
    result = topwolf.json("train", "--loss=usunier", "-k2", "-c10", train_svm)
    assert (result["loss"], result["k"], result["C"]) == ("usunier", 2, 10)


@pytest.mark.parametrize(
    "words, saying",
    [
        (["train", ""], "DATA is empty"),
        (["sweep", "", "models"], "DATA is empty"),
        (["inspect", ""], "FILE is empty"),
        (["convert", "a.svm", ""], "TO is empty"),
        (["predict", "a.svm", ""], "MODEL is empty"),
        (["train", "a.svm", ""], "MODEL is empty"),
        (["train", "a.svm", "--labels", ""], "--labels is empty"),
        (["train", "a.svm", "--report", ""], "--report is empty"),
        (["train", "a.svm", "--class-weight", ""], "--class-weight is empty"),
        (["predict", "a.svm", "m", "-o", ""], "--output is empty"),
    ],
)
def test_an_empty_name_is_called_empty(topwolf, words, saying):
    topwolf.refuses(*words, code=2, saying=saying)
