"""Networks that were wrong once. `python -m benchmarks.differential` finds such and writes them here: the file's name
is the family, the seed and the target; its arrays lie beside it."""

from __future__ import annotations

from pathlib import Path

import pytest
from benchmarks.differential.judge import RIGHT, verdicts
from benchmarks.differential.regression import read

FOUND = sorted(path for path in Path(__file__).parent.iterdir() if path.suffix in (".onnx", ".tflite"))


@pytest.mark.in_turns(8)
@pytest.mark.parametrize("path", FOUND, ids=lambda path: path.stem)
def test_what_was_wrong_is_right(path: Path) -> None:
    case, place = read(path)
    assert verdicts([case], place)[0].status == RIGHT, verdicts([case], place)[0].reason
