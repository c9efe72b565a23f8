"""Kernels of weights in blocks for vectors that sum products of bytes, and which weights are put into panels."""

from __future__ import annotations

from collections.abc import Sequence
from functools import partial
from weakref import ReferenceType, ref

from tilewright.errors import instance
from tilewright.ir.graph import Graph, Node
from tilewright.ir.op import Op
from tilewright.ir.types import Array
from tilewright.ops.blockgather import BlockGather
from tilewright.ops.blockmatmul import OF_BYTES, BlockMatMul
from tilewright.target.kernel import Kernel, Types
from tilewright.target.processors import Dot, Vectors
from tilewright.target.target import Offer
from tilewright.targets.cpu.block_forms import PanelBlockGather, PanelBlockProduct
from tilewright.targets.cpu.block_packing import FLOATS, LAYOUTS, Panels
from tilewright.targets.cpu.sizes import in_c
from tilewright.targets.generic.movement import INDICES

PRODUCT = "X:float32 W:uint8 bias:float32 -> Y:float32"
ANY, WIDE, USUAL = 32, 16, 8
"""Rows of a panel: where registers may have any length, with the widest vectors, and with others."""


def panels_of(vectors: Vectors, name: str) -> Panels | None:
    """How weights of a format are packed; None where they stay as they are."""
    if vectors.dot is Dot.NONE or name not in (*LAYOUTS, *FLOATS):
        return None
    if vectors.dot is Dot.WIDENING:
        return Panels(name, ANY, is_apart=True)
    return Panels(name, WIDE if vectors.bytes == 64 else USUAL, vectors.dot is Dot.VNNI)


# ---- forms ----------------------------------------------------------------------------------------------------------


def forms(vectors: Vectors, graph: Graph, node: Node) -> Sequence[Offer]:
    op = node.op
    if isinstance(op, BlockMatMul) and (op.activations == OF_BYTES or op.format in FLOATS):
        return _product(vectors, graph, node, op)
    if isinstance(op, BlockGather) and any(isinstance(one.op, BlockMatMul) for one in _readers(graph, node)):
        return _gather(vectors, graph, node, op)
    return ()


def _readers(graph: Graph, node: Node) -> Sequence[Node]:
    """Of the same weights."""
    return graph.consumers[node.inputs[0]]


def _product(vectors: Vectors, graph: Graph, node: Node, op: BlockMatMul) -> Sequence[Offer]:
    panels, raw = panels_of(vectors, op.format), graph.constants.get(node.inputs[1])
    if panels is None or raw is None or not raw.size:
        return ()
    name = _stored(node.inputs[1])
    inputs = (node.inputs[0], name, *node.inputs[2:])
    return (Offer(PanelBlockProduct(len(raw), panels), inputs, {name: packed(panels, raw)}),)


def _gather(vectors: Vectors, graph: Graph, node: Node, op: BlockGather) -> Sequence[Offer]:
    """Words of which the head has the weights too."""
    panels, raw = panels_of(vectors, op.format), graph.constants.get(node.inputs[0])
    if panels is None or raw is None or not raw.size:
        return ()
    name, width = _stored(node.inputs[0]), graph.types[node.key].shape[-1]
    form = PanelBlockGather(len(raw), width, panels)
    return (Offer(form, (name, *node.inputs[1:]), {name: packed(panels, raw)}),)


def _stored(constant: str) -> str:
    return f"{constant}_panels"


_known: dict[tuple[int, Panels], tuple[ReferenceType[Array], ReferenceType[Array]]] = {}
"""Weights that were packed and are still used, by whose they are."""


def packed(panels: Panels, raw: Array) -> Array:
    """The same array for the same weights: several networks, and lookups, share them."""
    source, made = _known.get((id(raw), panels), (None, None))
    found = made() if source is not None and made is not None and source() is raw else None
    if found is None:
        found = panels.pack(raw)
        _known[id(raw), panels] = ref(raw), ref(found)
    return found


# ---- kernels --------------------------------------------------------------------------------------------------------


def _other_format(name: str, op: Op, types: Types) -> str | None:
    return None if instance(op, PanelBlockProduct).panels.format == name else f"weights are in {name}"


def _kernel(name: str) -> Kernel:
    scratch = "tw_block_floats_scratch" if name in FLOATS else "tw_block_product_scratch"
    return Kernel(
        PanelBlockProduct, f"block_{name.lower()}.c", PRODUCT, {}, scratch=in_c(scratch),
        unsupported_reason=partial(_other_format, name), header="block_product.h",
        cooperative=True,
    )  # fmt: skip


KERNELS = (
    *map(_kernel, (*LAYOUTS, *FLOATS)),
    Kernel(PanelBlockGather, "block_panel_gather.c", "W:uint8 indices -> Y:float32", {"indices": INDICES}),
)


def kernels(vectors: Vectors) -> tuple[Kernel, ...]:
    return () if vectors.dot is Dot.NONE else KERNELS
