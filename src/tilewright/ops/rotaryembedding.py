from __future__ import annotations

from collections.abc import Sequence
from typing import ClassVar

import numpy as np

from tilewright.errors import Refusal
from tilewright.ir.onnx_node import OnnxNode
from tilewright.ir.op import Emit, Op
from tilewright.ops._attention import merge_heads, rotate, split_heads, table_rows
from tilewright.ops._compose import Compose
from tilewright.records import dataclass


@dataclass(frozen=True)
class RotaryEmbedding(Op):
    """Pairs of channels turned by angles that grow with the position: ONNX Runtime's form; ONNX defines its own."""

    domains: ClassVar[tuple[str, ...]] = ("com.microsoft",)
    operands: ClassVar[tuple[str, ...]] = ("X", "position_ids", "cos_cache", "sin_cache")

    @classmethod
    def expand(cls, node: OnnxNode, emit: Emit) -> Sequence[str]:
        make, flat = Compose(node, emit), node.rank() == 3
        if node.attribute("is_packed_batching", 0) or node.attribute("scale", 1.0) != 1.0:
            raise Refusal("packed batches and a scale are not supported", "export without them")
        node.ignore("rotary_embedding_dim")
        heads = node.attribute("num_heads", 0) or _heads(node)
        x = split_heads(make, node.inputs[0], heads) if flat else node.inputs[0]
        batch, _, steps, _ = make.shape(x)
        positions = _positions(make, node.inputs[1], batch, steps)
        cosine, sine = (table_rows(make, table, positions) for table in node.inputs[2:4])
        turned = rotate(make, x, cosine, sine, bool(node.attribute("interleaved", 0)))
        return make.give(merge_heads(make, turned) if flat else turned)


def _heads(node: OnnxNode) -> int:
    """All channels turn: a head is twice as wide as a row of the table."""
    width = 2 * node.type(2).shape[-1]
    if node.attribute("rotary_embedding_dim", 0):
        raise Refusal("rotary_embedding_dim without num_heads")
    return node.type(0).shape[-1] // width if node.rank() == 3 else 1


def _positions(make: Compose, given: str, batch: int, steps: int) -> str:
    """[batch, step], or one number: the position of the first step."""
    if make.kind(given).elements != 1 or batch * steps == 1:
        return make.reshape(given, (batch, steps))
    offsets = make.constant(np.arange(steps).reshape(1, steps).astype(make.kind(given).element), "offsets")
    return make.add(make.reshape(given, (1, 1)), offsets)
