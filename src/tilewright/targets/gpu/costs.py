"""What layers and copies take, in nanoseconds, for the choice between processor and GPU.

Of the GPU: a node of a graph, and the bytes or the products of a layer at rates that kernels reach on an H200,
whichever is longer. Of the processor: what its portable kernels were measured to take with the vectors of a computer,
and, as this target builds them without, LESS_VECTORS times that. Copies: from and to memory that is not pinned.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import replace

from tilewright.ir.op import Op
from tilewright.ir.types import BYTES
from tilewright.target.costs import Costs
from tilewright.target.kernel import CycleEstimate, Kernel, Types
from tilewright.targets.cpu.target import COSTS

NODE = 1_500.0
"""A kernel that has little to do, behind another one in a graph."""
BYTES_READ = 2_500.0
"""In a nanosecond."""
PRODUCTS = {1: 20_000.0, 2: 40_000.0, 4: 7_000.0}
"""In a nanosecond, by the bytes of an element."""
FAST = ("tiles", "words", "elements", "few", "short", "row", "attention")
"""In the names of kernels that reach them."""
PLAIN_PRODUCTS = 500.0
"""By other kernels."""
COPY, COPIED_BYTES = 9_000.0, 12.0
"""A copy between the memories, and bytes of it in a nanosecond."""
LESS_VECTORS = 2.0


def processor_costs() -> Costs:
    known = Costs.read(COSTS)
    return replace(known, kernels={key: tuple(LESS_VECTORS * one for one in own) for key, own in known.kernels.items()})


def with_costs(kernel: Kernel) -> Kernel:
    """A kernel of the GPU that says what it takes."""
    rates = PRODUCTS if any(word in kernel.stem for word in FAST) else {}

    def cycles(op: Op, types: Types, extents: Mapping[str, int], cores: int) -> CycleEstimate:
        return CycleEstimate(cores=nanoseconds(op, types, rates))

    return replace(kernel, cycles=cycles)


def nanoseconds(op: Op, types: Types, rates: Mapping[int, float]) -> float:
    shapes = {name: kind.shape for name, kind in types.items() if name in op.operands}
    moved = sum(kind.bytes for kind in types.values()) / BYTES_READ
    macs = op.macs(shapes)
    width = max((BYTES[kind.dtype] for name, kind in types.items() if name in op.operands[:2]), default=4)
    return NODE + max(moved, macs / rates.get(width, PLAIN_PRODUCTS))


def copied(op: Op, types: Types, extents: Mapping[str, int], cores: int) -> CycleEstimate:
    return CycleEstimate(cores=COPY + math.ceil(types["X"].bytes / COPIED_BYTES))
