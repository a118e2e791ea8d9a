"""Makes build/site: pages from docs/, the C++ reference from the headers, the gallery from the examples, then Sphinx."""
import pathlib
import shutil
import subprocess
import sys

HERE = pathlib.Path(__file__).resolve().parent
sys.path.insert(0, str(HERE))

import gallery  # noqa: E402
import headers  # noqa: E402
import python_reference  # noqa: E402
from pages import ROOT, Links, copy_pages  # noqa: E402


def main():
    sources, site = ROOT / "build" / "docs-sources", ROOT / "build" / "site"
    fresh = ROOT / "build" / "site.new"
    shutil.rmtree(sources, ignore_errors=True)
    shutil.rmtree(fresh, ignore_errors=True)
    links = Links(sources)
    copy_pages(sources, links)
    headers.write(sources, links)
    python_reference.write(sources)
    gallery.write(sources, links)
    links.save()
    words = [sys.executable, "-m", "sphinx", "-q", "-W", "--keep-going", "-j", "2", "-c", str(HERE), "-d", str(ROOT / "build" / "docs-trees")]
    shutil.rmtree(ROOT / "build" / "docs-trees", ignore_errors=True)
    done = subprocess.run([*words, str(sources), str(fresh)])
    if done.returncode != 0:
        sys.exit(done.returncode)
    # What was built before stays until the new site is whole.
    shutil.rmtree(site, ignore_errors=True)
    fresh.rename(site)
    print("The site is build/site/index.html.")


main()
