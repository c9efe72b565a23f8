from __future__ import annotations

from collections.abc import Sequence

from tilewright.errors import Refusal
from tilewright.ir.onnx_node import OnnxNode
from tilewright.ir.op import Emit, Op
from tilewright.ops._resampling import INWARD, Resampling
from tilewright.ops.resize import resample, resized, scales_at
from tilewright.records import dataclass


@dataclass(frozen=True)
class Upsample(Op):
    """The older form of Resize: positions scale from the first element on."""

    @classmethod
    def expand(cls, node: OnnxNode, emit: Emit) -> Sequence[str]:
        mode, shape = node.attribute("mode", "nearest"), node.type(0).shape
        scales = scales_at(node, 1) or [float(scale) for scale in node.attribute("scales")]
        if mode not in ("nearest", "linear", "bilinear") or len(scales) != len(shape):
            raise Refusal(f"mode {mode} with scales {scales} of shape {shape}")
        how = Resampling("nearest" if mode == "nearest" else "linear", "asymmetric", INWARD)
        sizes = tuple(map(resized, shape, scales))
        return resample(node, emit, how, sizes, scales)
