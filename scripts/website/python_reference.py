"""The Python reference, from docstrings: a page for each class, one for the functions."""
import inspect

import topwolf
import topwolf.dask

CLASSES = {"TopwolfClassifier": topwolf, "TopwolfClassifierCV": topwolf, "TopwolfJointClassifier": topwolf, "DaskTopwolfClassifier": topwolf.dask}


def members(cls):
    """The public methods that topwolf defines, and none that it has from scikit-learn."""
    found = []
    for name in dir(cls):
        value = inspect.getattr_static(cls, name)
        owner = next((base for base in cls.__mro__ if name in vars(base)), None)
        if name.startswith(("_", "set_")) or owner is None or not owner.__module__.startswith("topwolf"):
            continue
        if not isinstance(value, property) and callable(getattr(cls, name, None)) and getattr(cls, name).__doc__:
            found.append(name)
    return found


def write(sources):
    folder = sources / "reference" / "python"
    folder.mkdir(parents=True)
    index = ["# Python\n", "| | |", "|---|---|"]
    pages = []
    for name, module in CLASSES.items():
        cls, full = getattr(module, name), f"{module.__name__}.{name}"
        first = inspect.getdoc(cls).split("\n\n")[0].replace("\n", " ")
        first = first.replace(":class:", "").replace("`", "").replace("~", "")
        index.append(f"| [{name}]({name}.md) | {first} |")
        methods = "".join(f".. automethod:: {full}.{method}\n\n" for method in members(cls))
        (folder / f"{name}.md").write_text(f"# {name}\n\n```{{eval-rst}}\n.. autoclass:: {full}\n\n{methods}```\n")
        pages.append(name)
    others = sorted(set(topwolf.__all__) - set(CLASSES) - {"__version__", "bfloat16"})
    blocks = []
    for name in others:
        value = getattr(topwolf, name)
        if inspect.ismodule(value):
            blocks += [f".. automodule:: topwolf.{name}", "   :members:", ""]
        elif inspect.isclass(value):
            blocks += [f".. autoclass:: topwolf.{name}", "   :members:", ""]
        elif callable(value):
            blocks += [f".. autofunction:: topwolf.{name}", ""]
    (folder / "functions.md").write_text("# Functions and pictures\n\n```{eval-rst}\n" + "\n".join(blocks) + "```\n")
    index.append("| [functions](functions.md) | " + ", ".join(f"`{name}`" for name in others) + " |")
    index += ["", "```{toctree}", ":hidden:", *pages, "functions", "```", ""]
    (folder / "index.md").write_text("\n".join(index))
