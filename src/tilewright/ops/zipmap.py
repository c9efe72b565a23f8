from __future__ import annotations

from collections.abc import Sequence
from typing import ClassVar

from tilewright.ir.onnx_node import OnnxNode
from tilewright.ir.op import Emit, Op
from tilewright.ops._classifier import DOMAIN, Labels
from tilewright.ops._compose import Compose
from tilewright.records import dataclass


@dataclass(frozen=True)
class ZipMap(Op):
    """Rows of scores as maps from labels. They stay rows: a note says which column is which label's."""

    domains: ClassVar[tuple[str, ...]] = DOMAIN

    @classmethod
    def expand(cls, node: OnnxNode, emit: Emit) -> Sequence[str]:
        make = Compose(node, emit)
        texts = node.attribute("classlabels_strings", ())
        labels = texts or Labels.of(make, "classlabels_int64s", "classlabels_strings").values
        node.ignore("classlabels_int64s")
        names = ", ".join(map(str, labels))
        emit.note(f"'{node.outputs[0]}' is a tensor, not a list of maps: its columns are of the labels {names}")
        return make.give(node.inputs[0])
