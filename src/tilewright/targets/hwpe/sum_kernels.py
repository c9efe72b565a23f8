"""The kernels of sums by N-EUREKA: factors in the weight memory or in L1."""

from __future__ import annotations

import math
from collections.abc import Mapping
from typing import cast

from tilewright.ir.op import Op, Params
from tilewright.records import dataclass
from tilewright.target.kernel import CycleEstimate, Kernel, Types
from tilewright.targets.hwpe.cycles import job_cycles
from tilewright.targets.hwpe.encoding import WIDE
from tilewright.targets.hwpe.jobs import registers
from tilewright.targets.hwpe.kernels import NARROW, PROGRAMMING, SCALES
from tilewright.targets.hwpe.sum import NEXT, NeurekaSum, mask_without

AT_ONCE = 2
"""Rows of results, of tensors that lie one behind the other."""


@dataclass(frozen=True)
class SumVariant:
    resident: bool
    """Whether factors are in the weight memory."""

    def kernel(self) -> Kernel:
        place = "resident" if self.resident else "streamed"
        return Kernel(
            NeurekaSum, f"neureka_{place}_sum.c", "A B W:uint8 scale bias:int32 -> Y",
            {"A": NARROW, "B": NARROW, "scale": SCALES, "Y": NARROW}, self.params, offloaded=True, can_preprogram=True,
            prefer_adjacent=("A", "B"), resident=frozenset({"W"} if self.resident else ()), cycles=self.cycles,
            header="neureka_sum.h",
        )  # fmt: skip

    def params(self, op: Op, types: Types) -> Params:
        job = cast(NeurekaSum, op).job(types, self.resident, 1, 1)
        return {"count": types["Y"].elements, "near_mask": mask_without(NEXT), "registers": registers(job)}

    def cycles(self, op: Op, types: Types, extents: Mapping[str, int], cores: int) -> CycleEstimate:
        """Of whole tensors, as if they lay one behind the other."""
        elements = math.prod(extents.values())
        rows = AT_ONCE if elements == types["Y"].elements else 1
        job = cast(NeurekaSum, op).job(types, self.resident, rows, -(-elements // (rows * WIDE)))
        return CycleEstimate(0.0, float(PROGRAMMING), float(job_cycles(job)))


KERNELS = tuple(SumVariant(resident).kernel() for resident in (True, False))
