"""What is released: one version everywhere, a Debian package that installs and goes without a trace."""

import os
import pathlib
import re
import shutil
import subprocess

import pytest

ROOT = pathlib.Path(__file__).parents[2]
BUILD = pathlib.Path(os.environ.get("TOPWOLF_BUILD", ROOT / "build" / "release")).resolve()
VERSION = re.search(r"project\(topwolf VERSION ([0-9.]+)", (ROOT / "CMakeLists.txt").read_text())[1]


def run(*words, **options):
    done = subprocess.run([str(word) for word in words], capture_output=True, text=True, **options)
    assert done.returncode == 0, (words, done.stdout, done.stderr)
    return done.stdout


def test_the_version_is_one():
    assert re.search(r"^version: (.+)$", (ROOT / "CITATION.cff").read_text(), re.MULTILINE)[1] == VERSION
    assert run(BUILD / "topwolf", "--version").startswith(f"topwolf {VERSION} ")
    changes = re.findall(r"^## (.+)$", (ROOT / "CHANGELOG.md").read_text(), re.MULTILINE)
    assert changes[0] == "Unreleased" or changes[0].startswith(f"{VERSION}, ")
    assert all(re.fullmatch(r"[0-9.]+, \d{4}-\d\d-\d\d", section) for section in changes if section != "Unreleased")


@pytest.fixture(scope="module")
def package(tmp_path_factory):
    folder = tmp_path_factory.mktemp("package")
    run("cpack", "--config", BUILD / "CPackConfig.cmake", "-B", folder)
    found = list(folder.glob("*.deb"))
    assert len(found) == 1
    return found[0]


def test_the_debian_package_says_what_it_needs(package):
    fields = run("dpkg-deb", "--field", package)
    assert f"Version: {VERSION}" in fields and "libc6 (>=" in fields and "libzip4" in fields
    assert package.name.startswith(f"topwolf_{VERSION}_")


def test_the_debian_package_installs_and_goes_without_a_trace(package, tmp_path):
    clean = tmp_path / "root"
    admin = clean / "var" / "lib" / "dpkg"
    for folder in ("info", "updates"):
        (admin / folder).mkdir(parents=True)
    (admin / "status").write_text("")
    # The libraries are the machine's; in an empty root nothing that is needed is there.
    dpkg = ["dpkg", f"--root={clean}", "--force-depends", "--force-not-root", f"--log={tmp_path / 'log'}"]
    run(*dpkg, "--install", package)
    program = clean / "usr" / "bin" / "topwolf"
    (tmp_path / "a.svm").write_text("1 1:1\n2 1:-1\n1 1:2\n2 1:-2\n")
    assert "above the optimum" in run(program, "train", "-q", "a.svm", "m.topwolf", cwd=tmp_path)
    run("mandoc", "-T", "lint", "-W", "error", clean / "usr/share/man/man1/topwolf.1")
    for file in ("bash-completion/completions/topwolf", "zsh/site-functions/_topwolf", "fish/vendor_completions.d/topwolf.fish", "doc/topwolf/copyright"):
        assert (clean / "usr/share" / file).stat().st_size > 1000, file
    run("cmake", "-S", ROOT / "tests" / "consumer", "-B", tmp_path / "consumer", "-G", "Ninja", f"-DCMAKE_PREFIX_PATH={clean}/usr")
    run("cmake", "--build", tmp_path / "consumer")
    run(tmp_path / "consumer" / "consumer", cwd=tmp_path)
    run(*dpkg, "--purge", "topwolf")
    assert [path for path in clean.rglob("*") if path.is_file() and admin not in path.parents] == []
    assert not (clean / "usr").exists()


def test_without_a_compiler_one_sentence_says_what_to_install(tmp_path):
    tools = tmp_path / "bin"
    tools.mkdir()
    for tool in ("cmake", "ninja", "uname"):
        (tools / tool).symlink_to(shutil.which(tool))
    environment = {name: value for name, value in os.environ.items() if not name.startswith(("CMAKE", "CXX", "CC"))}
    command = ["cmake", "-S", ROOT, "-B", tmp_path / "b", "-G", "Ninja"]
    done = subprocess.run(command, env={**environment, "PATH": str(tools)}, capture_output=True, text=True)
    assert done.returncode != 0
    message = " ".join(done.stderr.split())
    assert "topwolf is compiled when it is installed, and there is no C++ compiler here: on Debian, apt install g++" in message
    assert "CMAKE_CXX_COMPILER" not in message

