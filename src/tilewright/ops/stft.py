from __future__ import annotations

from collections.abc import Sequence
from typing import ClassVar

import numpy as np

from tilewright.errors import Refusal
from tilewright.ir.onnx_node import OnnxNode
from tilewright.ir.op import Emit, Op
from tilewright.ops._compose import Compose, refuse_large
from tilewright.ops._fourier import transformed
from tilewright.ops.gather import Gather
from tilewright.records import dataclass


@dataclass(frozen=True)
class STFT(Op):
    """Fourier transforms of frames of a signal, each times a window. Becomes Gather, Mul and DFT."""

    operands: ClassVar[tuple[str, ...]] = ("signal", "frame_step", "window?", "frame_length?")

    @classmethod
    def expand(cls, node: OnnxNode, emit: Emit) -> Sequence[str]:
        make, signal = Compose(node, emit), node.inputs[0]
        if node.rank() == 2:
            signal = make.reshape(signal, (*node.type(0).shape, 1))
        step, length = node.scalar_at(1, "the step"), _length(node)
        count = (make.shape(signal)[1] - length) // int(step or 1) + 1
        if not step or step < 1 or length < 1 or count < 1:
            raise Refusal(f"frames of {length} every {step} of a signal of {make.shape(signal)[1]}")
        refuse_large("the table of frames", count, length)
        starts = np.arange(count, dtype=np.int32)[:, None] * int(step)
        places = make.constant((starts + np.arange(length)).astype(np.int32), "frames")
        frames = make(Gather(1), signal, places)
        if node.has(2):
            frames = make.mul(frames, make.reshape(node.inputs[2], (length, 1)))
        return make.give(transformed(make, frames, length, False, bool(node.attribute("onesided", 1))))


def _length(node: OnnxNode) -> int:
    """The length of a frame, stated or the window's."""
    stated = node.scalar_at(3, "the length of a frame") if node.has(3) else None
    if stated is None and not node.has(2):
        raise Refusal("neither a window nor the length of a frame is given")
    length = int(stated) if stated is not None else node.type(2).elements
    if node.has(2) and node.type(2).elements != length:
        raise Refusal(f"a window of {node.type(2).elements} for frames of {length}")
    return length
