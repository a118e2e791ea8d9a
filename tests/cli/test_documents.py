"""Help, man page, Markdown and completion all come from one table."""

import pathlib
import re
import subprocess

import pytest

COMMANDS = ["train", "predict", "evaluate", "compare", "inspect", "convert", "verify", "audit", "demo"]
CONTRACT = (
    "--loss -k --rho --cost-matrix --smoothing --lambda -c --C --solver --tolerance --absolute-gap --max-iterations "
    "--time-limit --bias --labels --normalize --precision --threads --seed --json --quiet --trace --dual"
).split()


def options(topwolf, command):
    return re.findall(r"^  (?:(-\w), )?(--?[\w-]+)", topwolf(command, "--help").stdout, re.MULTILINE)


def test_train_has_every_option_of_the_contract(topwolf):
    names = {name for pair in options(topwolf, "train") for name in pair}
    assert set(CONTRACT) <= names


def test_the_committed_page_is_the_generated_one(topwolf):
    page = pathlib.Path(__file__).parents[2] / "docs" / "reference" / "command_line.md"
    assert page.read_text() == topwolf("generate", "markdown").stdout


def test_the_program_of_the_readme_is_the_first_example():
    root = pathlib.Path(__file__).parents[2]
    program = (root / "README.md").read_text().split("```cpp\n")[1].split("```")[0]
    example = (root / "examples" / "01_train.cpp").read_text().split("\n", 1)
    assert example[0].startswith("//") and program == example[1]


@pytest.mark.parametrize("command", COMMANDS)
def test_man_page_and_markdown_name_every_option(topwolf, command):
    man = topwolf("generate", "man").stdout.replace("\\-", "-")
    section = man.split(f".SS topwolf {command} ")[1].split("\n.SS ")[0]
    page = topwolf("generate", "markdown").stdout.split(f"\n## topwolf {command}\n")[1].split("\n## ")[0]
    for pair in options(topwolf, command):
        for name in filter(None, pair):
            assert re.search(rf"^\.B .*(?<![\w-]){name}\b", section, re.MULTILINE), name
            assert re.search(rf"^\| `.*(?<![\w-]){name}\b", page, re.MULTILINE), name


def test_no_line_of_the_man_page_is_an_unknown_request(topwolf):
    requests = {line.split()[0] for line in topwolf("generate", "man").stdout.splitlines() if line.startswith((".", "'"))}
    assert requests <= {".TH", ".SH", ".SS", ".B", ".br", ".PP", ".TP", ".EX", ".EE"}


def complete(topwolf, *words):
    script = topwolf("generate", "bash").stdout
    setup = f"COMP_WORDS=({' '.join(repr(word) for word in words)}); COMP_CWORD={len(words) - 1}; _topwolf"
    done = subprocess.run(
        ["bash", "-c", script + setup + '; printf "%s\\n" "${COMPREPLY[@]}"'],
        capture_output=True,
        text=True,
        cwd=topwolf.folder,
        check=True,
    )
    return done.stdout.split()


def test_bash_completes_commands_options_choices_and_files(topwolf, train_svm):
    assert complete(topwolf, "topwolf", "e") == ["evaluate"]
    assert complete(topwolf, "topwolf", "train", "--max-i") == ["--max-iterations"]
    assert complete(topwolf, "topwolf", "predict", "--max-i") == []
    assert complete(topwolf, "topwolf", "train", "--solver", "") == ["auto", "block", "newton", "apg", "lsfw", "stdfw", "pg"]
    assert complete(topwolf, "topwolf", "train", "--loss", "weighted-u") == ["weighted-usunier"]
    assert complete(topwolf, "topwolf", "train", "tr") == ["train.svm"]


@pytest.mark.parametrize("shell", ["zsh", "fish"])
def test_the_other_shells_know_every_option(topwolf, shell):
    text = topwolf("generate", shell).stdout
    for command in COMMANDS:
        for _, name in options(topwolf, command):
            assert (name if shell == "zsh" else f"-l {name[2:]}" if name.startswith("--") else f"-s {name[1:]}") in text


def test_generate_names_what_it_can_write(topwolf):
    topwolf.refuses("generate", "pdf", code=2, saying="man, markdown, bash, zsh or fish")


ROOT = pathlib.Path(__file__).parents[2]


def test_the_ledger_cites_code_and_tests_that_are_there():
    ledger = (ROOT / "docs" / "reference" / "ledger.md").read_text()
    sources = "".join(path.read_text() for path in (ROOT / "tests").rglob("*.cpp"))
    tests = set(re.findall(r"(?:TEST|TEST_F|TEST_P|RC_GTEST_PROP)\(\s*(\w+),\s*(\w+)", sources))
    suites = {suite for suite, _ in tests}
    cited = re.findall(r"`([^`\s]+)`", " ".join(re.findall(r"\*(?:Code|Tests?):\*.*?(?=\n\n|\Z)", ledger, re.DOTALL)))
    assert len(cited) > 80
    for name in cited:
        if name.endswith((".cpp", ".hpp", ".py")):
            assert any([*(ROOT / "src").glob(f"**/{name}"), *(ROOT / "include" / "topwolf").glob(name), *ROOT.glob(name)]), name
        elif re.fullmatch(r"(\w+/)?[A-Z]\w+\.[\w*]+", name):
            suite, test = name.split("/")[-1].split(".")
            assert suite in suites and (test.endswith("*") or (suite, test) in tests), name


def pages():
    return [*ROOT.glob("*.md"), *(ROOT / "docs").rglob("*.md"), *(ROOT / "bench").glob("*.md"), *(ROOT / "tests" / "fuzz").glob("*.md")]


def test_links_between_documents_lead_somewhere():
    for page in pages():
        for target in re.findall(r"\]\(([^)#\s]+)(?:#[^)]*)?\)", page.read_text()):
            assert target.startswith("http") or (page.parent / target).exists(), (page.name, target)


def test_pages_that_others_speak_of_are_there():
    """The comments of C++ name a page by its last name (`file_formats.md`), all else by its path from the root."""
    names = {page.name for page in pages()}
    folders = ["bench", "cli", "examples", "include", "python", "scripts", "src", "tests"]
    files = [path for folder in folders for path in (ROOT / folder).rglob("*") if path.suffix in (".cpp", ".hpp", ".py", "") and path.is_file()]
    found = 0
    for file in [*pages(), *(file for file in files if not {"corpus", "crashes"} & set(file.parts))]:
        for path in re.findall(r"(?<![\w./-])([\w/]+\.md)\b", file.read_text(errors="ignore")):
            if path.startswith("docs/"):
                assert (ROOT / path).exists(), (file, path)
            elif file.suffix in (".cpp", ".hpp"):
                assert path in names, (file, path)
            found += 1
    assert found > 30
