"""What kernels need is what their C says: a formula that is changed there is planned with, and no Python is edited."""

from __future__ import annotations

import shutil
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

import pytest

import tilewright as tw
from tests.support.models import residual
from tilewright import targets
from tilewright.errors import InternalError
from tilewright.ir.op import Op, Params
from tilewright.ir.types import TensorType
from tilewright.ops.conv import Conv
from tilewright.ops.matmul import MatMul
from tilewright.planner.cluster import tile_params
from tilewright.planner.schedule.schedule import Schedule
from tilewright.target.cost_model import features, work
from tilewright.target.in_c import HeadersInC, InC, WorkInC
from tilewright.target.kernel import Kernel
from tilewright.targets.cpu.packed_forms import ComputedProduct
from tilewright.targets.cpu.sizes import in_c as cpu
from tilewright.targets.generic.sizes import in_c as portable
from tilewright.targets.mempool.linear import in_c as mempool
from tilewright.targets.microcontroller.sizes import in_c as microcontroller
from tilewright.targets.pulp.sizes import in_c as pulp
from tilewright.targets.snitch.sizes import in_c as snitch
from tilewright.tiling.tiles import TileGrid

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
    asked = {(one, kernel.params_type) for kernel in kernels for one in (kernel.scratch, kernel.work)}
    functions = {(one, struct) for one, struct in asked if isinstance(one, InC)}
    assert len(functions) > 60
    for function, struct in functions:
        assert function.struct == struct, function.name
        function.headers.function(function.name)
        function.arguments({}, 1 if isinstance(function, WorkInC) else None)


@dataclass(frozen=True)
class Changed:
    """A formula of a target's kernel, and what a hand writes in its place."""

    target: str
    kernel: str
    headers: HeadersInC
    header: str
    formula: str
    instead: str
    op: Op
    types: Mapping[str, TensorType]

    @property
    def found(self) -> Kernel:
        kernels = (kernel for engine in targets.find(self.target).engines for kernel in engine.kernels)
        return next(kernel for kernel in kernels if kernel.stem == self.kernel and isinstance(self.op, kernel.op))

    def written_to(self, folder: Path) -> HeadersInC:
        """A copy of the kernels with the other formula."""
        shutil.copytree(self.headers.folders[0], folder)
        header = folder / self.header
        text = header.read_text()
        assert text.count(self.formula) == 1
        header.write_text(text.replace(self.formula, self.instead))
        return HeadersInC(folder, *self.headers.folders[1:])


def bytes_of(shape: str, dtype: str = "int8") -> TensorType:
    return TensorType(dtype, tuple(map(int, shape.split("x"))))


LAST = Conv(padding=(1, 1, 1, 1), channels_last=True)
IMAGE = {"X": bytes_of("1x8x8x16"), "W": bytes_of("16x3x3x16"), "Y": bytes_of("1x8x8x16", "int32")}
SECOND = {"X": bytes_of("1x16x8x8"), "W": bytes_of("16x16x3x3"), "Y": bytes_of("1x16x8x8", "int32")}
FLOATS = {name: TensorType("float32", kind.shape) for name, kind in SECOND.items()}
PRODUCT = {"A": bytes_of("8x32"), "B": bytes_of("32x24"), "Y": bytes_of("8x24", "int32")}
DOT = {"A": bytes_of("2x8x30"), "B": bytes_of("2x30x24"), "Y": bytes_of("2x8x24")}

SCRATCH = (
    Changed(
        "generic", "conv_f32", portable, "conv_sizes.h", "{ return 4 * tw_panel_elements(p); }",
        "{ return 7 * 4 * tw_panel_elements(p); }", Conv(padding=(1, 1, 1, 1)), FLOATS,
    ),
    Changed(
        "siracusa", "conv_dots", pulp, "conv_dots_sizes.h",
        "return columns + filled + cores * tw_strip_bytes(p, p->chunk);",
        "return 7 * (columns + filled + cores * tw_strip_bytes(p, p->chunk));", LAST, IMAGE,
    ),
    Changed(
        "cortex-m4", "matmul_panels", microcontroller, "matmul_blocked_sizes.h",
        "return 4 * columns + (TW_PANEL_ROWS + columns) * p->inner;",
        "return 7 * (4 * columns + (TW_PANEL_ROWS + columns) * p->inner);", MatMul(), PRODUCT,
    ),
    Changed(
        "cpu", "matmul_dot", cpu, "conv_dot_sizes.h",
        "return 3 * 4 * (int64_t)p->columns + (int64_t)tw_whole_fours(p->product.inner) * (1",
        "return 7 * 3 * 4 * (int64_t)p->columns + 7 * (int64_t)tw_whole_fours(p->product.inner) * (1",
        ComputedProduct(), DOT,
    ),
    Changed(
        "snitch", "matmul_bytes", snitch, "stream_sums_sizes.h",
        "return tw_byte_sums_bytes(p->rows, tw_max(p->inner, TW_LEAST), p->columns, largest, cores);",
        "return 7 * tw_byte_sums_bytes(p->rows, tw_max(p->inner, TW_LEAST), p->columns, largest, cores);",
        MatMul(), PRODUCT,
    ),
)  # fmt: skip


@pytest.mark.parametrize("one", SCRATCH, ids=lambda one: one.target)
def test_working_memory_is_what_c_says(one: Changed, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    kernel = one.found
    before = kernel.scratch_bytes(one.op, one.types)
    monkeypatch.setattr(one.headers, "__dict__", {"folders": one.written_to(tmp_path / "kernels").folders})
    assert kernel.scratch_bytes(one.op, one.types) == 7 * before > 0


WORK = (
    Changed(
        "cortex-m4", "matmul_panels", microcontroller, "matmul_blocked_work.h", "TW_UNITS(1, batch * chunks,",
        "TW_UNITS(7, batch * chunks,", MatMul(), PRODUCT,
    ),
    Changed(
        "cpu", "matmul_dot", cpu, "dot_work.h", "TW_UNITS(1, rows == 1", "TW_UNITS(7, rows == 1", ComputedProduct(), DOT
    ),
    Changed(
        "snitch", "matmul_bytes", snitch, "stream_sums_work.h",
        "TW_UNITS(1, TW_SUMS(matrices, sums), matrices * sums.added, converted",
        "TW_UNITS(7, TW_SUMS(matrices, sums), matrices * sums.added, converted", MatMul(), PRODUCT,
    ),
    Changed(
        "minpool", "conv_panels", mempool, "panels_work.h", "TW_UNITS(1, tile->g, copied",
        "TW_UNITS(7, tile->g, copied", LAST, IMAGE,
    ),
)  # fmt: skip


@pytest.mark.parametrize("one", WORK, ids=lambda one: one.target)
def test_costs_are_of_the_work_that_c_says(one: Changed, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    kernel, grid = one.found, TileGrid.of(one.op, one.types, ("Y",))

    def units() -> tuple[float, ...]:
        return features(kernel, one.op, dict(one.types), work(grid, {}), 1)

    before = units()
    monkeypatch.setattr(one.headers, "__dict__", {"folders": one.written_to(tmp_path / "kernels").folders})
    assert (before[0], units()) == (1.0, (7.0, *before[1:]))


def planned(asked: HeadersInC, monkeypatch: pytest.MonkeyPatch) -> tuple[int, int]:
    """Bytes of working memory of the network's convolution, and of its arena, where the planner asks these."""
    monkeypatch.setattr(portable, "__dict__", {"folders": asked.folders})
    tile_params._scratch_of.cache_clear()
    schedule = tw.compile(residual(), target="generic").compiled.schedule
    assert isinstance(schedule, Schedule)
    types = [(call.kernel, call.node.op, schedule.graph.all_types(call.node)) for call in schedule.layers]
    return max(kernel.scratch_bytes(op, kinds) for kernel, op, kinds in types), schedule.arena_bytes


def test_a_formula_that_is_changed_in_c_is_planned_with(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    changed = SCRATCH[0].written_to(tmp_path / "kernels")
    bytes_before, arena_before = planned(HeadersInC(*portable.folders), monkeypatch)
    bytes_after, arena_after = planned(changed, monkeypatch)
    tile_params._scratch_of.cache_clear()
    assert bytes_after == 7 * bytes_before > 0
    assert arena_after >= arena_before + 6 * bytes_before
