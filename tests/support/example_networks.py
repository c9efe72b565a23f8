"""Networks that the folder of examples builds: they are there where those of others are not."""

from __future__ import annotations

import runpy
from functools import cache
from pathlib import Path

from onnx import ModelProto

FOLDER = Path(__file__).parents[2] / "examples"


@cache
def keyword_spotting() -> ModelProto:
    """A DS-CNN in int8 with quantisers."""
    made = runpy.run_path(str(FOLDER / "keyword_spotting.py"))["build"]()
    assert isinstance(made, ModelProto)
    return made
