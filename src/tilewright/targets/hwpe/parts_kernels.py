"""The kernels of depthwise windows in parts."""

from __future__ import annotations

import math
from collections.abc import Mapping
from typing import cast

from tilewright.ir.op import Op, Params
from tilewright.records import dataclass
from tilewright.target.kernel import CycleEstimate, Kernel, Types
from tilewright.targets.hwpe.cycles import job_cycles
from tilewright.targets.hwpe.encoding import WIDE
from tilewright.targets.hwpe.finishing import finish_cycles
from tilewright.targets.hwpe.jobs import REGISTERS, parts, registers
from tilewright.targets.hwpe.kernels import (
    NARROW,
    PROGRAMMING,
    RESULTS,
    SCALES,
    epilogue_operands,
    without_offset,
)
from tilewright.targets.hwpe.parts import NeurekaParts

SUM_CALL, SUM_THINNED, SUM_PIXEL, SUM_WORD, SUM_PART = 560.0, 450.0, 130.0, 3.0, 2.2
"""Cycles of a core that adds totals up: the call, one with strides, whose pixels are added one by one, each of these,
and a total and each of its parts."""


@dataclass(frozen=True)
class PartsVariant:
    resident: bool
    """Whether weights are in the weight memory."""

    def kernel(self) -> Kernel:
        place = "resident" if self.resident else "streamed"
        return Kernel(
            NeurekaParts, f"neureka_{place}_parts.c", "X W:uint8 scale bias:int32 add:int32 -> Y",
            {"X": NARROW, "scale": SCALES, "Y": RESULTS}, self.params, self.scratch, offloaded=True, has_prologue=True,
            has_epilogue=True, resident=frozenset({"W"} if self.resident else ()), cycles=self.cycles,
            planning_key=without_offset, epilogue_operands=epilogue_operands, multiples={"y": 6, "x": 6},
            header="neureka_parts.h",
        )  # fmt: skip

    def params(self, op: Op, types: Types) -> Params:
        whole = cast(NeurekaParts, op)
        *_, last = sizes = parts(types["X"].shape[-1], WIDE)
        words = [word for group in (sizes[0], last) for word in registers(whole.job(types, group, self.resident))]
        start: Params = {
            "batch": whole.batch(types), "jobs": len(words) // REGISTERS, "x_step": whole.x_step(types),
            "y_step": whole.part_bytes(types) // whole.batch(types), "registers": tuple(words),
        }  # fmt: skip
        finished: Params = {"start": start, **whole.finish_params(types)}
        return {"finished": finished, "gather": whole.strips(types).params(), "parts": whole.part_params(types)}

    def scratch(self, op: Op, types: Types) -> int:
        """The image with its padding, then totals of all parts."""
        whole = cast(NeurekaParts, op)
        return whole.strips(types).bytes + math.prod(whole.counts) * whole.part_bytes(types)

    def cycles(self, op: Op, types: Types, extents: Mapping[str, int], cores: int) -> CycleEstimate:
        whole = cast(NeurekaParts, op)
        local = whole.tile_types(types, extents)
        jobs = [job_cycles(job) for job in whole.jobs(local, self.resident)] * whole.batch(local)
        starts = [max(job, PROGRAMMING) for job in jobs]
        submitting = PROGRAMMING + sum(starts[:-2]) + PROGRAMMING * (len(jobs) > 1)
        npu = PROGRAMMING + sum(starts[:-1]) + jobs[-1]
        by_cores = whole.strips(local).cycles(cores) + finish_cycles(whole, types, extents, cores)
        return CycleEstimate(by_cores + _summing(whole, local, cores), submitting, npu - submitting, len(jobs) > 1)


def _summing(op: NeurekaParts, types: Types, cores: int) -> float:
    walk = cast("Mapping[str, int]", op.finish_walk(types))
    pixels, filters = walk["images"] * walk["rows"] * walk["columns"], types["Y"].shape[-1]
    each = SUM_WORD + SUM_PART * math.prod(op.counts)
    if op.is_multiplied:
        return -(-pixels * filters // cores) * each
    if set(op.strides) == {1}:
        return SUM_CALL + -(-pixels * filters // cores) * each
    return SUM_CALL + SUM_THINNED + -(-pixels // cores) * (SUM_PIXEL + filters * each)


KERNELS = tuple(PartsVariant(resident).kernel() for resident in (True, False))
