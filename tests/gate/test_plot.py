"""The plot in the documents is the one the simulation draws."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

ROOT = Path(__file__).parents[2]


def test_the_plot_of_wealth_is_drawn_by_the_script_that_the_page_names(tmp_path: Path):
    out = tmp_path / "wealth.svg"
    script = ROOT / "benchmarks" / "plot_wealth.py"
    subprocess.run([sys.executable, str(script), "--out", str(out)], check=True)
    assert out.read_text() == (ROOT / "docs" / "images" / "wealth.svg").read_text()
    page = (ROOT / "docs" / "gate.md").read_text()
    assert "images/wealth.svg" in page
    assert "benchmarks/plot_wealth.py" in page
