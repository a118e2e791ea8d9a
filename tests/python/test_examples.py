"""Every example runs, and says what its comment promises."""
import subprocess
import sys
from pathlib import Path

import pytest

EXAMPLES = sorted((Path(__file__).resolve().parents[2] / "examples" / "python").glob("*.py"))
SAYS = {
    "01_embeddings": "converged: at most",
    "02_text": "science: pictures of a galaxy",
    "03_grid_search": "best: {'C':",
    "04_probabilities": "log loss 0.",
    "05_compare_losses": "weighted_usunier: top-1 error",
    "06_unseen_classes": "10 kinds never seen:",
    "07_probe": "sharp: <Probe: C=",
    "08_more_than_memory": "converged: at most",
    "09_custom_loss": "The claim holds, if the oracle is right",
}


@pytest.mark.parametrize("path", EXAMPLES, ids=lambda path: path.stem)
def test_example(path, tmp_path):
    done = subprocess.run([sys.executable, str(path)], cwd=tmp_path, capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    assert SAYS[path.stem] in done.stdout
    assert "Warning" not in done.stderr
    if path.stem == "05_compare_losses":
        assert (tmp_path / "compare_losses.png").stat().st_size > 10000
