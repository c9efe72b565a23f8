"""Products with weights of few bits, as the cores take them: packed, and unpacked on the way."""

from __future__ import annotations

from collections.abc import Sequence
from typing import cast

from tilewright.ir.graph import Graph, Node
from tilewright.ir.op import Op
from tilewright.ir.rounding import NOT_AWAY
from tilewright.ops._linear import NARROW
from tilewright.ops.packedmatmul import PackedMatMul
from tilewright.passes.pack_weights import packed_product
from tilewright.target.kernel import Kernel, Types
from tilewright.target.target import Offer
from tilewright.targets.pulp.sizes import in_c

RESULTS = frozenset({"int8", "uint8", "int16", "int32"})


def packed_forms(graph: Graph, node: Node) -> Sequence[Offer]:
    found = packed_product(graph, node)
    if found is None:
        return ()
    names = {name: f"{node.key} packed {name}" for name in found.constants}
    inputs = [found.image, *(names.get(name.rstrip("?"), "") for name in found.op.operands[1:])]
    while not inputs[-1]:
        inputs.pop()
    return (Offer(found.op, tuple(inputs), {names[name]: array for name, array in found.constants.items()}),)


def unsupported_reason(op: Op, types: Types) -> str | None:
    if types["B"].shape[0] < 4:
        return f"{types['B'].shape[0]} columns; at least 4 are needed"
    wide = types["Y"].dtype == "int32" and cast(PackedMatMul, op).requant is not None
    return "it is requantised to int32" if wide else None


KERNELS = (
    Kernel(
        PackedMatMul, "matmul_packed_dots.c", "A B:uint8 C:int32 mul:int32 add:int32 -> Y", {"A": NARROW, "Y": RESULTS},
        unsupported_reason=unsupported_reason, roundings=NOT_AWAY, cooperative=True, multiples={"n": 4},
        min_tile={"n": 4}, work=in_c.work("tw_matmul_packed_dots_work"), header="matmul_packed.h",
    ),
)  # fmt: skip
