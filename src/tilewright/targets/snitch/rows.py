"""Kernels of rows of floats: softmaxes and norms, with streams and repetition, a row for each core."""

from __future__ import annotations

from tilewright.ir.op import Op
from tilewright.ops.layernormalization import LayerNormalization
from tilewright.ops.rmsnormalization import RMSNormalization
from tilewright.ops.softmax import Softmax
from tilewright.target.kernel import Kernel, Types
from tilewright.target.params import params_of
from tilewright.targets.snitch.sizes import by_cores, in_c


def norm_unsupported(op: Op, types: Types) -> str | None:
    length = int(str(params_of(op, types)["length"]))
    if length % 2 or length == 0:
        return f"rows of {length}, which do not all begin at multiples of 8 bytes"
    return None if {"Scale", "scale"} & set(types) else "there is no scale"


def norm(op: type[Op], source: str, signature: str) -> Kernel:
    return Kernel(
        op, source, signature, {}, unsupported_reason=norm_unsupported, cooperative=True,
        work=in_c.work("tw_norm_streams_work"), header="row_norm.h",
    )  # fmt: skip


KERNELS = (
    Kernel(
        Softmax, "softmax_blocks.c", "X:float32 -> Y:float32", {}, scratch=by_cores("tw_softmax_blocks_scratch"),
        cooperative=True, work=in_c.work("tw_softmax_blocks_work"), header="softmax.h",
    ),
    norm(
        LayerNormalization, "layer_norm_streams.c",
        "X:float32 Scale:float32 B:float32 -> Y:float32 Mean:float32 InvStdDev:float32",
    ),
    norm(RMSNormalization, "rms_norm_streams.c", "X:float32 scale:float32 -> Y:float32"),
)  # fmt: skip
