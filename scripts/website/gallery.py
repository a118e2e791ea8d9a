"""The gallery: every example, run as a reader would run it, with what it printed and the figures that it left open."""
import ast
import pathlib
import shutil
import subprocess
import sys
import tempfile

from pages import ROOT

# Runs a program, then keeps its figures.
RUNNER = """
import runpy, sys
import matplotlib
matplotlib.use("Agg")
runpy.run_path(sys.argv[1], run_name="__main__")
import matplotlib.pyplot as plt
for number in plt.get_fignums():
    plt.figure(number).savefig(f"figure_{number}.png", dpi=120)
"""


def ran(path):
    """What the program printed, and its pictures, as a folder that the caller removes."""
    folder = pathlib.Path(tempfile.mkdtemp())
    done = subprocess.run([sys.executable, "-c", RUNNER, str(path)], cwd=folder, capture_output=True, text=True)
    if done.returncode != 0:
        sys.exit(f"{path} failed:\n{done.stderr}")
    # A picture that the program wrote by itself is that figure, too.
    written = [file for file in sorted(folder.glob("*.png")) if not file.name.startswith("figure_")]
    figures = written or sorted(folder.glob("figure_*.png"))
    return done.stdout, figures, folder


def write(sources, links):
    target = sources / "gallery"
    target.mkdir(parents=True)
    cards, pages = [], []
    for path in sorted((ROOT / "examples" / "python").glob("*.py")):
        text = path.read_text()
        title, _, rest = ast.get_docstring(ast.parse(text)).replace("\n", " ").partition(". ")
        title = title.rstrip(".")
        output, figures, folder = ran(path)
        page = [f"# {title}\n", rest, ""]
        picture = []
        for number, figure in enumerate(figures, 1):
            name = f"{path.stem}_{number}.png"
            shutil.copyfile(figure, target / name)
            page.append(f"![{title}: the program's figure]({name})\n")
            picture = picture or [f":img-top: {name}"]
        shutil.rmtree(folder)
        code = text.split('"""', 2)[2].lstrip("\n")
        page += ["```python", code.rstrip(), "```\n", "It prints:\n", "```text", output.rstrip(), "```\n"]
        page.append(f"The program: `examples/python/{path.name}`.\n")
        (target / f"{path.stem}.md").write_text("\n".join(page))
        cards += ["```{grid-item-card} " + title, f":link: {path.stem}", ":link-type: doc", *picture, "", rest or output.splitlines()[0], "```"]
        pages.append(path.stem)
    for path in sorted((ROOT / "examples").glob("*.cpp")):
        lines = path.read_text().splitlines()
        opening = []
        while lines and lines[0].startswith("//"):
            opening.append(lines.pop(0)[2:].strip())
        title, _, rest = " ".join(opening).partition(". ")
        title = title.rstrip(".")
        text = [f"# C++: {title}\n", rest, "", "```cpp", "\n".join(lines).strip(), "```\n", f"The program: `examples/{path.name}`.\n"]
        (target / f"{path.stem}.md").write_text("\n".join(text))
        cards += ["```{grid-item-card} C++: " + title, f":link: {path.stem}", ":link-type: doc", "", rest, "```"]
        pages.append(path.stem)
    index = [
        "# Gallery\n", "Programs to start from. Those in Python were run when this site was built; their figures and outputs are what came of it.\n",
        "````{grid} 1 2 2 3", ":gutter: 3", "", *cards, "````", "", "```{toctree}", ":hidden:", *pages, "```", "",
    ]
    (target / "index.md").write_text("\n".join(index))
