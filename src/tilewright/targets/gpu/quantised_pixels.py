"""Images that are quantised when a network begins: integers, channels last, and as many channels as convolutions want,
in one kernel in place of three."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from functools import partial
from typing import ClassVar

import numpy as np

from tilewright.errors import Refusal
from tilewright.ir.affine import Span, axis_loops, whole
from tilewright.ir.graph import Builder, Graph, Node
from tilewright.ir.op import Index, Op, Params
from tilewright.ir.types import Array, Shape, Shapes, TensorType
from tilewright.ops._internal import Internal
from tilewright.ops._linear import NARROW
from tilewright.ops.pad import Pad
from tilewright.ops.quantizelinear import QuantizeLinear
from tilewright.ops.transpose import Transpose
from tilewright.passes import Complaint, Pass
from tilewright.passes.aliasing import is_only_reader
from tilewright.passes.rewriting import rewrite
from tilewright.records import dataclass
from tilewright.target.kernel import Kernel
from tilewright.target.params import params_of

MOST_CHANNELS = 8
"""Of a result: an item of the GPU makes all of a pixel."""


def _last(rank: int) -> Shape:
    """The axes of an image with its channels moved behind all others."""
    return (0, *range(2, rank), 1)


@dataclass(frozen=True)
class QuantisedPixels(Internal):
    """QuantizeLinear of an image, with its channels moved last, and more of them that all have one level."""

    operands: ClassVar[tuple[str, ...]] = QuantizeLinear.operands
    more: int = 0
    """Channels behind those of the image."""
    level: int = 0
    """Of these."""

    def index(self, shapes: Shapes) -> Index:
        loops = axis_loops(len(shapes["X"]))
        image = (loops[0], loops[-1], *loops[1:-1])
        constants = {name: tuple(map(whole, shapes[name])) for name in ("scale", "zero")}
        return {"X": image, **constants, "Y": loops}

    def padding_of(self, shapes: Shapes) -> Mapping[tuple[str, int], Span]:
        return {("X", 1): (0, self.more)}

    def unsplittable(self, shapes: Shapes) -> frozenset[str]:
        return frozenset(f"d{axis}" for axis in range(len(shapes["X"])))

    def check(self, types: Mapping[str, TensorType]) -> None:
        QuantizeLinear().check(types)
        if len(types["X"].shape) < 3 or types["scale"].elements != 1:
            raise Refusal(f"images are expected, and one scale: {types['X']}, {types['scale']}")

    def result_dtypes(self, dtypes: Mapping[str, str]) -> tuple[str, ...]:
        return (dtypes["zero"],)

    def numpy(self, X: Array, scale: Array, zero: Array) -> Array:
        pixels = QuantizeLinear().numpy(X, scale, zero).transpose(_last(X.ndim))
        behind = (*((0, 0),) * (X.ndim - 1), (0, self.more))
        return np.pad(pixels, behind, constant_values=zero.dtype.type(self.level))

    def params(self, types: Mapping[str, TensorType]) -> Params:
        image = types["X"].shape
        own = params_of(QuantizeLinear(), types)
        return {
            "images": image[0], "channels": image[1], "pixels": types["X"].elements // max(image[0] * image[1], 1),
            "made": image[1] + self.more, "level": self.level, "low": own["low"], "high": own["high"],
        }  # fmt: skip


KERNELS = (
    Kernel(
        QuantisedPixels, "gpu_quantised_pixels.c", "X:float32 scale:float32 zero -> Y", {"zero": NARROW, "Y": NARROW},
        header="gpu_quantised_pixels.h",
    ),
)  # fmt: skip


# ---- the rewrite --------------------------------------------------------------------------------------------------


def run(graph: Graph) -> Graph:
    return rewrite(graph, partial(_join, graph))


def none_apart(graph: Graph) -> Iterator[Complaint]:
    for node in graph.nodes:
        if _found(graph, node) is not None:
            yield node.where, "could be quantised where it is made"


def _join(graph: Graph, node: Node, builder: Builder) -> Mapping[str, str] | None:
    found = _found(graph, node)
    if found is None:
        return None
    quantised, op = found
    builder.add(op, quantised.inputs, node.outputs, quantised.name)
    return {node.key: node.key}


def _found(graph: Graph, node: Node) -> tuple[Node, QuantisedPixels] | None:
    """The QuantizeLinear behind channels that are moved last, and may have got more, and what all of it is."""
    pad = node.op if isinstance(node.op, Pad) and _channels_behind(node.op) else None
    moved = node if pad is None else _only_source(graph, node, Transpose)
    if moved is None or not isinstance(moved.op, Transpose) or (pad is None and _gets_more(graph, moved)):
        return None
    quantised = _only_source(graph, moved, QuantizeLinear)
    if quantised is None or moved.op.perm != _last(len(graph.types[moved.key].shape)):
        return None
    op = QuantisedPixels(_channels_behind(pad), int(pad.value)) if pad else QuantisedPixels()
    return (quantised, op) if _takes(graph, quantised, node, op) else None


def _gets_more(graph: Graph, moved: Node) -> bool:
    """Whether all that is done with channels that are moved is to give them more."""
    readers = graph.consumers.get(moved.key, ())
    only = readers[0].op if len(readers) == 1 and moved.key not in graph.sinks else None
    return isinstance(only, Pad) and _channels_behind(only) > 0


def _channels_behind(pad: Pad) -> int:
    """Of nothing else; otherwise 0."""
    *others, behind = pad.pads
    return 0 if any(others) else behind


def _only_source(graph: Graph, node: Node, kind: type[Op]) -> Node | None:
    """What makes the first operand of a node that alone reads it, if it is of this kind."""
    source = graph.producers.get(node.inputs[0])
    is_it = source is not None and isinstance(source.op, kind) and is_only_reader(graph, node, source.key)
    return source if is_it else None


def _takes(graph: Graph, quantised: Node, made: Node, op: QuantisedPixels) -> bool:
    kind = graph.types[made.key]
    if kind.dtype not in NARROW or kind.elements == 0 or kind.shape[-1] > MOST_CHANNELS:
        return False
    try:
        op.check({name: graph.types[tensor] for name, tensor in quantised.operands().items()})
    except Refusal:
        return False
    return True


QUANTISE_PIXELS = Pass("images quantised in one kernel", run, ensures=none_apart)
