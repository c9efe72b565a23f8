"""What kernels need is what their C says: a formula that is changed there is planned with, and no Python is edited."""

from __future__ import annotations

import shutil
from pathlib import Path

import pytest

import tilewright as tw
from tests.support.models import residual
from tilewright import targets
from tilewright.errors import InternalError
from tilewright.ir.op import Params
from tilewright.ir.types import TensorType
from tilewright.planner.schedule.schedule import Schedule
from tilewright.target.in_c import HeadersInC, InC
from tilewright.targets.generic.sizes import in_c

HEADER = """\
typedef struct { int8_t a[2]; double unread; } other;
typedef struct { int64_t big; float half; } inner;
typedef struct { int8_t small; const int32_t *table; int32_t sizes[3]; inner within; uint16_t last; } params;

static inline int64_t seen(const params *p, int32_t x_bytes, int32_t cores) {
  return p->small + p->sizes[2] * 10 + p->within.big + (int64_t)(p->within.half * 2) + p->last + x_bytes * cores;
}
"""
GIVEN: Params = {
    "small": -1,
    "table": [3, 4],
    "sizes": (1, 2, 3),
    "within": {"big": 1 << 40, "half": 1.5},
    "last": 65535,
}


def written(folder: Path, text: str) -> HeadersInC:
    folder.mkdir(exist_ok=True)
    (folder / "own_sizes.h").write_text(f"#include <stdint.h>\n{text}")
    return HeadersInC(folder)


def test_parameters_are_what_c_reads(tmp_path: Path) -> None:
    asked = written(tmp_path, HEADER)("seen", 8)
    wanted = -1 + 30 + (1 << 40) + 3 + 65535 + 2 * 8
    assert asked(GIVEN, {"X": TensorType("int16", (1,))}) == wanted


def test_what_is_missing_is_our_fault(tmp_path: Path) -> None:
    sizes = written(tmp_path, HEADER)
    with pytest.raises(InternalError, match=r"is in no \*_sizes.h or \*_work.h"):
        sizes("unseen")({}, {})
    with pytest.raises(InternalError, match="is given 0 numbers"):
        sizes("seen")({}, {})


def test_functions_take_the_structs_of_their_kernels() -> None:
    kernels = [kernel for name in targets.names() for engine in targets.find(name).engines for kernel in engine.kernels]
    asked = {(kernel.scratch, kernel.params_type) for kernel in kernels if isinstance(kernel.scratch, InC)}
    assert len(asked) > 10
    for function, struct in asked:
        assert function.struct == struct, function.name
        function.headers.function(function.name)
        function.arguments({}, None)


FORMULA = "{ return 4 * tw_panel_elements(p); }"


def largest_scratch(asked: HeadersInC, monkeypatch: pytest.MonkeyPatch) -> tuple[int, int]:
    """Bytes of working memory of the network's convolution, and of its arena, where the planner asks these."""
    monkeypatch.setattr(in_c, "__dict__", {"folders": asked.folders})
    schedule = tw.compile(residual(), target="generic").compiled.schedule
    assert isinstance(schedule, Schedule)
    types = [(call.kernel, call.node.op, schedule.graph.all_types(call.node)) for call in schedule.calls]
    return max(kernel.scratch_bytes(op, kinds) for kernel, op, kinds in types), schedule.arena_bytes


def test_a_formula_that_is_changed_in_c_is_planned_with(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    bytes_before, arena_before = largest_scratch(HeadersInC(*in_c.folders), monkeypatch)
    folder = tmp_path / "kernels"
    shutil.copytree(in_c.folders[0], folder)
    header = folder / "conv_sizes.h"
    text = header.read_text()
    assert text.count(FORMULA) == 1
    header.write_text(text.replace(FORMULA, FORMULA.replace("4 *", "7 * 4 *")))
    bytes_after, arena_after = largest_scratch(HeadersInC(folder), monkeypatch)
    assert bytes_after == 7 * bytes_before > 0
    assert arena_after >= arena_before + 6 * bytes_before
