"""Kernels of rows of floats: softmaxes and norms, with streams and repetition, a row for each core."""

from __future__ import annotations

from collections.abc import Mapping
from math import prod

from tilewright.ir.op import Op
from tilewright.ops.layernormalization import LayerNormalization
from tilewright.ops.rmsnormalization import RMSNormalization
from tilewright.ops.softmax import Softmax
from tilewright.target.kernel import Features, Kernel, Types
from tilewright.target.params import params_of
from tilewright.targets.snitch.functions import BLOCK
from tilewright.targets.snitch.linear import CORES


def softmax_row_bytes(op: Op, types: Types) -> int:
    """For each core that has one, a row that does not begin at a multiple of 8 where it lies."""
    rows, length = _sizes(op, types)
    return min(CORES, rows) * 4 * (-(-length // 2) * 2)


def _sizes(op: Op, types: Types) -> tuple[int, int]:
    """Rows and their length."""
    p = params_of(op, types)
    rows = p["rows"] if "rows" in p else prod(int(str(p[name])) for name in ("outer", "inner"))
    return int(str(rows)), int(str(p["length"]))


def row_features(unit: int) -> Features:
    def features(op: Op, types: Types, extents: Mapping[str, int], cores: int) -> tuple[float, ...]:
        """The call; rows of one core and their units."""
        length = _sizes(op, types)[1]
        rows = -(-prod(extents.values()) // max(length, 1))
        own = float(-(-rows // cores))
        return 1.0, own, own * -(-length // unit)

    return features


def norm_unsupported(op: Op, types: Types) -> str | None:
    length = _sizes(op, types)[1]
    if length % 2 or length == 0:
        return f"rows of {length}, which do not all begin at multiples of 8 bytes"
    return None if {"Scale", "scale"} & set(types) else "there is no scale"


def norm(op: type[Op], source: str, signature: str) -> Kernel:
    return Kernel(
        op, source, signature, {}, unsupported_reason=norm_unsupported, cooperative=True, features=row_features(8),
        header="row_norm.h",
    )  # fmt: skip


KERNELS = (
    Kernel(
        Softmax, "softmax_blocks.c", "X:float32 -> Y:float32", {}, scratch=softmax_row_bytes, cooperative=True,
        features=row_features(BLOCK), header="softmax.h",
    ),
    norm(
        LayerNormalization, "layer_norm_streams.c",
        "X:float32 Scale:float32 B:float32 -> Y:float32 Mean:float32 InvStdDev:float32",
    ),
    norm(RMSNormalization, "rms_norm_streams.c", "X:float32 scale:float32 -> Y:float32"),
)  # fmt: skip
