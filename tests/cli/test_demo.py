"""topwolf demo needs no file and no network, and shows a whole session on one screen."""

import signal
import subprocess

import pytest

from conftest import Program


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    return tmp_path_factory.mktemp("demo")


@pytest.fixture(scope="module")
def screen(folder):
    """Standard output and standard error as they arrive, of one whole demo."""
    process = Program(folder).start("demo", stderr=subprocess.STDOUT)
    text, _ = process.communicate(timeout=500)
    assert process.returncode == 0, text
    return text


def test_the_demo_shows_progress_certificates_errors_and_what_to_type_next(folder, screen):
    lines = screen.splitlines()
    assert 18 <= len(lines) <= 32
    assert "generated" in lines[0] and "200 classes" in lines[0] and "40 groups" in lines[0]
    assert screen.count("relative gap") == 2
    assert screen.count("% above the optimum") == 2
    assert screen.index("max-hinge") < screen.index("usunier, k = 20")
    assert "demo.topwolf" in screen and (folder / "demo.topwolf").exists()
    assert [line.split()[:2] for line in lines[-2:]] == [["topwolf", "train"], ["topwolf", "evaluate"]]


def test_the_demo_ends_with_the_errors_of_both_losses(screen):
    lines = screen.splitlines()
    header = next(i for i, line in enumerate(lines) if "top-10" in line)
    assert lines[header].split()[-4:] == ["top-1", "top-3", "top-5", "top-10"]
    for name, line in zip(("max-hinge", "usunier, k = 20"), lines[header + 1 :]):
        assert line.startswith(name)
        errors = [float(word) for word in line.removeprefix(name).replace("%", "").split()]
        assert len(errors) == 4 and errors == sorted(errors, reverse=True) and 0 < errors[0] < 100


def test_the_model_of_the_demo_is_certified(folder, screen):
    held = Program(folder).json("inspect", "demo.topwolf")
    assert (held["loss"], held["k"], held["m"], held["d"], held["status"]) == ("usunier", 20, 200, 128, "converged")
    assert held["weight_sum"] == 4000 and held["relative_gap"] <= 1e-3


def first_passes(lines):
    """primal, dual, relative gap and step of passes 1 and 10."""
    rows = [line.split() for line in lines]
    return [row[2:] for row in rows if row[:1] in (["1"], ["10"])][:2]


@pytest.mark.parametrize("seed, same", [(0, True), (1, False)])
def test_the_seed_decides_the_data_and_a_signal_ends_the_demo(topwolf, screen, seed, same):
    process = topwolf.start("demo", "--seed", seed, stderr=subprocess.STDOUT)
    lines = []
    while len(first_passes(lines)) < 2:
        lines.append(process.stdout.readline())
    process.send_signal(signal.SIGINT)
    process.communicate(timeout=60)
    assert process.returncode == 130
    assert (first_passes(lines) == first_passes(screen.splitlines())) == same
