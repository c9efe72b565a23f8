"""Reports of the keyword spotter that the checkout brings, made when the site is built."""

from __future__ import annotations

import os
import subprocess
import sys
import tempfile
from collections.abc import Mapping
from functools import cache
from pathlib import Path

ROOT = Path(__file__).parents[2]
SWITCH = "TILEWRIGHT_SITE_REPORTS"
"""How many reports are made; all without it."""

HEAD = """\
# Gallery of reports

`tilewright report` writes one HTML file with charts and tables of a simulated run. The file needs no server and no
network. These reports were written when this site was built. The network is the keyword spotter of
`python examples/keyword_spotting.py kws.onnx`. [Reports](../report.md) explains the charts.

| report | target |
| --- | --- |
"""

EXAMPLES = {
    "rv32": "a RISC-V microcontroller: one core, flash and RAM",
    "siracusa": "eight cores with SIMD, an NPU, and three memories that a DMA connects",
    "quad": "four plain cores and a DMA, tile by tile",
}
"""Target -> what it is."""


def page() -> str:
    rows = [f"| [kws on {one}](kws_{one}.html) | {EXAMPLES[one]} |" for one in _wanted()]
    command = "```text\ntilewright report kws.onnx --target siracusa -o kws_siracusa.html\n```\n"
    return HEAD + "\n".join([*rows, "", command])


def _wanted() -> list[str]:
    return list(EXAMPLES)[: int(os.environ.get(SWITCH) or len(EXAMPLES))]


@cache
def reports() -> Mapping[str, str]:
    """Names of files and their text."""
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        _run(ROOT / "examples" / "keyword_spotting.py", "kws.onnx", folder=folder)
        return {f"kws_{one}.html": _report(one, folder) for one in _wanted()}


def _report(target: str, folder: Path) -> str:
    _run("-m", "tilewright", "report", "kws.onnx", "--target", target, "-o", f"kws_{target}.html", folder=folder)
    return (folder / f"kws_{target}.html").read_text(encoding="utf-8")


def _run(*words: str | Path, folder: Path) -> None:
    done = subprocess.run([sys.executable, *map(str, words)], cwd=folder, capture_output=True, text=True)
    if done.returncode:
        raise SystemExit(f"{' '.join(map(str, words))} fails:\n{done.stdout}{done.stderr}")
