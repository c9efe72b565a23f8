"""The numbers of a job: what expressions of a declaration may speak of.

| name | |
|---|---|
| loops of the operator (`n f c y x r s`, `m n k`, `d0 d1`) | their extents |
| fields of its C parameters (`in_h`, `kernel_w`, `stride_h`, `pad_top`, `x_zero`) | as the portable kernel has them |
| `requant_shift`, `requant_zero_point`, `requant_low`, `requant_high`, `requant_rounding` | of a fused requantisation |
| `half_up`, `half_even`, `half_away`, `native`, ... | what `requant_rounding` is compared with |
| `macs`, `elements` | multiply-accumulates, elements of the result |
| `bytes_X` | of the part of an operand or result that the job touches |
| `step_X_y` | bytes from one value of loop y to the next in operand X, where it lies |
| `signed_X` | 1 for signed elements |
| parameters of the declaration | |
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping
from functools import lru_cache

from tilewright.accelerator.expressions import Number
from tilewright.ir.op import Op, Param
from tilewright.ir.requant import ROUNDINGS
from tilewright.ir.types import BYTES, TensorType
from tilewright.ops._loops import row_major

Types = Mapping[str, TensorType]
FrozenTypes = tuple[tuple[str, TensorType], ...]
ROUNDING_NAMES: Mapping[str, Number] = {name: number for number, name in enumerate(ROUNDINGS)}


def operand_shapes(op: Op, types: Types) -> dict[str, tuple[int, ...]]:
    return {name: kind.shape for name, kind in types.items() if name not in op.results}


@lru_cache(maxsize=2**12)
def numbers(op: Op, types: FrozenTypes, places: FrozenTypes) -> dict[str, Number]:
    """Of a job with operands and results of these types, which lie within tensors of the types `places`."""
    own, whole = dict(types), dict(places)
    extents = op.extents(operand_shapes(op, own))
    found: dict[str, Number] = {**ROUNDING_NAMES, "elements": own[op.results[0]].elements}
    found |= dict(_flat(op.params(own)))
    found |= extents | {"macs": math.prod(extents.values()) if op.multiplies else 0}
    for name, kind in own.items():
        found |= {f"bytes_{name}": kind.bytes, f"signed_{name}": int(kind.dtype.startswith("int"))}
        found |= dict(_steps(op, name, whole, list(extents)))
    return found


def _flat(params: Mapping[str, Param], prefix: str = "") -> Iterator[tuple[str, Number]]:
    """Fields of structs inside the struct by both names."""
    for name, value in params.items():
        if isinstance(value, int | float):
            yield f"{prefix}{name}", value
        elif isinstance(value, Mapping):
            yield from _flat(value, f"{prefix}{name}_")


def _steps(op: Op, name: str, places: Types, loops: list[str]) -> Iterator[tuple[str, Number]]:
    kind = places[name]
    axes = op.index(operand_shapes(op, places))[name]
    strides = [BYTES[kind.dtype] * stride for stride in row_major(kind.shape)]
    for loop in loops:
        walk = zip(axes, strides, strict=True)
        yield f"step_{name}_{loop}", sum(dict(axis.terms).get(loop, 0) * stride for axis, stride in walk)
