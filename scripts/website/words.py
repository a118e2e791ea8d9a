"""Counts the words of the pages, and holds the sum against the limit; appendices, code and what is generated do not count."""
import pathlib
import re
import sys

ROOT = pathlib.Path(__file__).resolve().parents[2]
LIMIT = 17_500


def words():
    """Of every page but the appendices, by its path."""
    counts = {}
    for page in sorted((ROOT / "docs").rglob("*.md")):
        name = page.relative_to(ROOT / "docs").as_posix()
        if not name.startswith("appendix/"):
            counts[name] = len(page.read_text().split())
    return counts


if __name__ == "__main__":
    for name, count in words().items():
        print(f"{count:7,}  {name}")
    total = sum(words().values())
    print(f"{total:7,}  words, without the appendices; the limit is {LIMIT:,}")
    sys.exit(total > LIMIT)
