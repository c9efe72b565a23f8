"""What tests saw when they were recorded is still true: the messages fit the code, and a sample of the operators is run
again. `scripts/record` writes `scripts/site/recorded/` anew."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path
from random import Random

import numpy as np
import pytest
from scripts.site import matrix
from scripts.site.errors import GAPS, has_example, refusals
from scripts.site.recorded import MESSAGES, OPERATORS

from tests.docs.pages import ROOT
from tests.support import everywhere
from tests.support.everywhere import OPERANDS, Example, Sweep
from tests.support.recorder import SWITCH, is_there
from tests.turn import TURN
from tilewright import targets
from tilewright.ir.types import Array
from tilewright.ops import all_operators
from tilewright.ops.abs import Abs
from tilewright.ops.add import Add

WITH_EXAMPLE = 0.72
"""Of the messages: less calls for `scripts/record`."""
QUICK = ("generic", "rv32", "cortex-m4")
"""Targets whose programs are built and run in seconds."""
SAMPLE = 2


@pytest.mark.fast
def test_examples_are_of_messages_that_the_code_has() -> None:
    known = {one.key: one for one in refusals()}
    for key, (_, what, _, _) in MESSAGES.read().items():
        if key in known:
            assert known[key].fits(what), f"{key} is no longer {what}: scripts/record"


@pytest.mark.fast
def test_most_messages_have_an_example() -> None:
    found = refusals()
    # One without a gap is its own example.
    share = sum(has_example(one) or not GAPS.search(one.what) for one in found) / len(found)
    assert share >= WITH_EXAMPLE, f"{share:.1%} of {len(found)}: scripts/record, or a test of what is new"


@pytest.mark.fast
def test_cells_name_tests_and_operators_that_there_are() -> None:
    kinds, names = {kind.__name__ for kind in all_operators()}, set(targets.names())
    recorded = OPERATORS.read()
    gone = [
        test
        for operator, columns in recorded.items() if operator in kinds
        for target, cells in columns.items() if target in names
        for test in cells.values() if not is_there(test)
    ]  # fmt: skip
    assert gone == [], "scripts/record"


@pytest.mark.fast
def test_what_ran_stands_apart_from_what_is_accepted() -> None:
    assert matrix.cell(["int8", "float32"], frozenset({"float32"})) == "f32 (i8)"
    assert matrix.cell(["float32"], frozenset({"float32"})) == "f32"
    assert matrix.cell(["float32"], frozenset()) == "(f32)"
    assert matrix.cell([], frozenset()) == ""


def is_drawn(test: str) -> bool:
    """Whether its file draws cases by chance: other ones each time."""
    text = (ROOT / test.removeprefix(OPERANDS).partition("::")[0]).read_text(encoding="utf-8")
    return "hypothesis" in text or "collect(" in text


@pytest.mark.in_turns(6)
@pytest.mark.parametrize("number", range(SAMPLE))
def test_a_sample_of_the_cells_is_run_again(number: int, tmp_path: Path) -> None:
    cells = [
        (operator, target, dtype, test)
        for operator, columns in OPERATORS.read().items()
        for target, found in columns.items() if target in QUICK
        for dtype, test in found.items() if "/test_onnx_nodes" not in test and not is_drawn(test)
    ]  # fmt: skip
    *cell, test = Random(f"{TURN} {number}").choice(sorted(cells))
    words = [sys.executable, "-m", "pytest", "-q", "-p", "no:xdist", "-p", "no:cacheprovider", "-m", ""]
    words.append(test.removeprefix(OPERANDS))
    environment = os.environ | {SWITCH: str(tmp_path)}
    done = subprocess.run(words, cwd=ROOT, env=environment, capture_output=True, text=True)
    assert done.returncode == 0, done.stdout + done.stderr
    if test.startswith(OPERANDS):
        everywhere.main(tmp_path, [cell[1]])
    rows = [row[:3] for path in tmp_path.glob("*.json") for row in json.loads(path.read_text(encoding="utf-8"))]
    assert cell in rows, f"{test} no longer runs {cell}: scripts/record"


def test_operands_of_tests_run_on_other_targets() -> None:
    """What agrees is noted under the test that the operands are of; what does not fails alone."""

    class Wrong(Abs):
        def numpy(self, X: Array) -> Array:
            return np.abs(X) + 1

    x = np.linspace(-2, 3, 40, dtype=np.float32)
    sweep = Sweep("rv32")
    sweep.run([Example(Abs(), [x], "a"), Example(Wrong(), [x], "b"), Example(Add(), [x, x], "c")])
    assert sorted(sweep.rows) == [
        ("Abs", "rv32", "float32", "operands of a"),
        ("Add", "rv32", "float32", "operands of c"),
    ]
    assert len(sweep.failures) == 1
    assert sweep.failures[0].startswith("Wrong of float32: ")
