"""The numbers of a job: what expressions of a declaration may speak of.

| name | |
|---|---|
| loops of the operator (`n f c y x r s`, `m n k`, `d0 d1`) | their extents |
| fields of its C parameters (`in_h`, `kernel_w`, `stride_h`, `pad_top`, `x_zero`) | as the portable kernel has them |
| `requant_shift`, `requant_zero_point`, `requant_low`, `requant_high`, `requant_rounding` | of a fused requantisation |
| `half_up`, `half_even`, `half_away`, `native`, ... | what `requant_rounding` is compared with |
| `macs`, `elements` | multiply-accumulates, elements of the result |
| `bytes_X`, `bytes` | of the part of an operand or result that the job touches; of all of them |
| `step_X_y` | bytes from one value of loop y to the next in operand X, where it lies |
| `signed_X` | 1 for signed elements |
| parameters of the declaration | |

Of a chain, what belongs to the second operator has a 2 behind its name (`requant_shift2`, `bytes_B2`): `chains.py`.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from functools import lru_cache

from tilewright.accelerator.chains import flat
from tilewright.accelerator.expressions import Number
from tilewright.ir.affine import Affine
from tilewright.ir.op import Op
from tilewright.ir.rounding import Rounding
from tilewright.ir.types import BYTES, TensorType
from tilewright.ops._loops import row_major
from tilewright.target.params import params_of

Types = Mapping[str, TensorType]
FrozenTypes = tuple[tuple[str, TensorType], ...]
ROUNDING_NAMES: Mapping[str, Number] = {rounding.value: rounding.number for rounding in Rounding}


def operand_shapes(op: Op, types: Types) -> dict[str, tuple[int, ...]]:
    return {name: kind.shape for name, kind in types.items() if name not in op.results}


@lru_cache(maxsize=2**12)
def numbers(op: Op, types: FrozenTypes, places: FrozenTypes) -> dict[str, Number]:
    """Of a job with operands and results of these types, which lie within tensors of the types `places`."""
    own, whole = dict(types), dict(places)
    shapes = operand_shapes(op, own)
    extents, index = op.extents(shapes), op.index(shapes)
    found: dict[str, Number] = {**ROUNDING_NAMES, "elements": own[op.results[0]].elements}
    found |= dict(flat(params_of(op, own)))
    found |= extents | {"macs": op.macs(shapes)}
    found["bytes"] = sum(kind.bytes for kind in own.values())
    for name, kind in own.items():
        found |= {f"bytes_{name}": kind.bytes, f"signed_{name}": int(kind.dtype.startswith("int"))}
        found |= dict(_steps(index[name], name, whole[name], list(extents)))
    return found


def _steps(axes: Sequence[Affine], name: str, place: TensorType, loops: list[str]) -> Iterator[tuple[str, Number]]:
    strides = [BYTES[place.dtype] * stride for stride in row_major(place.shape)]
    for loop in loops:
        walk = zip(axes, strides, strict=True)
        yield f"step_{name}_{loop}", sum(dict(axis.terms).get(loop, 0) * stride for axis, stride in walk)
