"""Folders of kernels for tests."""

from __future__ import annotations

import shutil
from pathlib import Path

from tests.support.networks import ROOT

EXAMPLES = Path(__file__).parents[2] / "examples"
RELU, CMSIS = EXAMPLES / "own_relu", EXAMPLES / "cmsis_nn"
CMSIS_NN = ROOT.parent / "third_party" / "cmsis_nn"
"""Where a copy of the library may lie."""


def changed(place: Path, file: str, *replacements: tuple[str, str]) -> str:
    """A copy of the example in which some text of a file is another."""
    copy = place / RELU.name
    shutil.copytree(RELU, copy, dirs_exist_ok=True)
    text = (copy / file).read_text()
    for old, new in replacements:
        assert old in text, f"{file} does not say {old}"
        text = text.replace(old, new)
    (copy / file).write_text(text)
    return str(copy)
