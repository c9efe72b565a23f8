from __future__ import annotations

from collections.abc import Sequence
from typing import ClassVar

import numpy as np

from tilewright.errors import Refusal
from tilewright.ir.onnx_node import OnnxNode
from tilewright.ir.op import Emit, Op
from tilewright.ops._classifier import DOMAIN
from tilewright.ops._compose import Compose
from tilewright.ops.equal import Equal
from tilewright.records import dataclass


@dataclass(frozen=True)
class OneHotEncoder(Op):
    """1 for the category that an element is, 0 for the others. What is no category has zeros."""

    domains: ClassVar[tuple[str, ...]] = DOMAIN

    @classmethod
    def expand(cls, node: OnnxNode, emit: Emit) -> Sequence[str]:
        make, (x, *_) = Compose(node, emit), node.inputs
        node.ignore("zeros")
        words = [emit.word(text) for text in node.attribute("cats_strings", ())]
        categories = np.asarray(node.attribute("cats_int64s", ()) or words, np.int64)
        if not categories.size:
            raise Refusal("no categories are given")
        # ONNX Runtime takes floats as whole numbers, too.
        whole = make.reshape(make.cast(x, "int64"), (*make.shape(x), 1))
        equal = make(Equal(), whole, make.constant(categories, "categories"))
        return make.give(make.cast(equal, "float32"))
