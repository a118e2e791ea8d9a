"""The C++ reference: the public headers, declaration by declaration, each with the comment before it.

The headers are written to be read, so they are shown as they stand; of classes the public part, of functions the
signature. `scripts/api` fails where a public name has no comment."""
import re

from pages import ROOT, linked

FOLDER = ROOT / "include" / "topwolf"


def prose(comment):
    """A comment as Markdown: what stands between backquotes stays, nothing else means anything."""
    parts = re.split(r"(`[^`]*`)", " ".join(comment))
    return "".join(part if number % 2 else re.sub(r"([\\*_<>$|\[\]{}#~])", r"\\\1", part) for number, part in enumerate(parts))


def name_of(code):
    text = re.sub(r"^template <.*?>\s*(?=struct|class|[a-z:])", "", code, flags=re.DOTALL)
    found = re.match(r"(?:struct|class|enum class|enum) (\w+)", text) or re.match(r"using (\w+) =", text)
    found = found or re.search(r"(operator\S+|\w+)\(", text) or re.search(r"(\w+)(?: =|\{|;)", text)
    return found[1] if found else None


def declarations(lines):
    """Pairs of a comment and the code that it is about, from a header's lines."""
    comment, code, depth, inside = [], [], 0, False
    for line in lines:
        if re.match(r"namespace topwolf( |::|$)", line):
            inside = True
            continue
        if not inside or line.startswith(("#", "}  // namespace")):
            continue
        if not code and not line.strip():
            comment = []
            continue
        if not code and line.startswith("//"):
            if not re.match(r"// -{3,}", line):
                comment.append(line[2:].strip())
            continue
        code.append(line)
        bare = re.sub(r"//.*", "", line)
        depth += bare.count("{") + bare.count("(") - bare.count("}") - bare.count(")")
        if depth == 0 and re.search(r"[;}]\s*$", bare):
            yield comment, "\n".join(code)
            comment, code = [], []


def shown(code):
    """What a reader of the reference sees of a declaration."""
    if re.match(r"(template <.*?>\s*)?(struct|class)", code):
        return re.sub(r"\n private:.*(?=\n};)", "", code, flags=re.DOTALL)
    if re.match(r"enum|using", code):
        return code
    return re.sub(r"\s*\{.*\}\s*$", ";", code, flags=re.DOTALL)


def write(sources, links):
    folder = sources / "reference" / "cpp"
    folder.mkdir(parents=True)
    index = [
        "# C++\n", "`#include <topwolf/topwolf.hpp>` has all of it; link `topwolf::topwolf` after `find_package(topwolf CONFIG REQUIRED)`.",
        "Rows that a program has in memory are used where they lie. Every error is a `topwolf::Error`: one sentence and a kind.",
        "A first program is [in the gallery](../../gallery/index.md).\n", "| header | |", "|---|---|",
    ]
    names = []
    for path in sorted(FOLDER.glob("*.hpp")):
        lines = path.read_text().splitlines()
        opening = []
        for line in lines:
            if not line.startswith("//"):
                break
            opening.append(line[2:].strip())
        page = f"reference/cpp/{path.stem}.md"
        place = links.show(f"include/topwolf/{path.name}", page)
        text = [f"# topwolf/{path.name}\n", prose(opening), f'\n[The header itself]({path.name}).\n']
        previous = None
        for comment, code in declarations(lines):
            name = name_of(code)
            if name is None or re.search(r"struct Names<", code):
                continue
            if comment or name != previous:
                if name != previous:
                    text.append(f"\n## {name}\n")
                text.append(prose(comment) + "\n")
            text.append(f"```cpp\n{shown(code)}\n```\n")
            previous = name
        body = linked("\n".join(text), page, path, links)
        body = body.replace(f"[The header itself]({path.name})", f'<a href="{place}">The header itself</a>')
        (sources / page).write_text(body)
        names.append(path.stem)
        first = re.split(r"(?<=[.:;])\s", " ".join(opening), maxsplit=1)[0]
        index.append(f"| [{path.stem}]({path.stem}.md) | {prose([first])} |")
    index += ["", "```{toctree}", ":hidden:", *names, "```", ""]
    (folder / "index.md").write_text("\n".join(index))
