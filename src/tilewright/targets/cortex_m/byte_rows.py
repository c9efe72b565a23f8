"""Kernels of bytes for cores with pairs of products, saturation and an FPU: means, attention, from floats."""

from __future__ import annotations

import math
from typing import cast

from tilewright.ir.op import Op
from tilewright.ops._linear import NARROW
from tilewright.ops.qlinearattention import QLinearAttention
from tilewright.ops.qlinearreducemean import QLinearReduceMean
from tilewright.ops.quantizelinear import QuantizeLinear
from tilewright.target.kernel import Kernel, Types
from tilewright.target.params import params_of
from tilewright.targets.microcontroller.elementwise import ATTENTION_SCRATCH, ATTENTION_WORK, SHORT


def apart(op: Op, types: Types) -> str | None:
    """Elements of a mean lie side by side if the axes are the last ones."""
    fields = cast("dict[str, object]", params_of(op, types)["loops"])
    sizes, strides = (cast("tuple[int, ...]", fields[name]) for name in ("size", "stride"))
    steps = [math.prod(sizes[axis + 1 :]) for axis in range(len(sizes))]
    return None if list(strides) == steps else "elements are not side by side"


FROM_FLOATS = (
    Kernel(
        QuantizeLinear, "quantizelinear_bytes.c", "X:float32 scale:float32 zero -> Y", {"zero": NARROW, "Y": NARROW},
        header="quantizelinear.h",
    ),
)  # fmt: skip
KERNELS = (
    *FROM_FLOATS,
    Kernel(
        QLinearAttention, "qlinearattention_pairs.c", "Q K V table:int32 position:int32 -> Y",
        {"Q": NARROW, "K": NARROW, "V": NARROW, "Y": SHORT}, scratch=ATTENTION_SCRATCH,
        work=ATTENTION_WORK, header="qlinearattention.h",
    ),
    Kernel(
        QLinearReduceMean, "qlinearreducemean_rows.c", "X -> Y", {"X": NARROW, "Y": NARROW}, unsupported_reason=apart,
        header="qlinearreducemean.h",
    ),
)  # fmt: skip
