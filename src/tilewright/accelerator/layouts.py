"""Layers that a device takes in the other layout only are moved there, where that saves more than Transposes cost."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import replace
from functools import partial

from tilewright.accelerator.accepting import unsupported_reason
from tilewright.accelerator.chains import Chained
from tilewright.accelerator.declaration import CHANNELS_LAST
from tilewright.accelerator.following import found_chain
from tilewright.accelerator.jobs import Declared
from tilewright.accelerator.numbers import Types
from tilewright.accelerator.offers import prepared
from tilewright.accelerator.unit import Unit
from tilewright.errors import Refusal
from tilewright.ir.graph import Graph, Node
from tilewright.ir.op import Op
from tilewright.ir.types import TensorType
from tilewright.ops._windows import Windowed
from tilewright.passes import Pass
from tilewright.passes.layout.channels_last import ChannelPosition, all_worth_it, with_layout

MACS_PER_BYTE = 4
"""Multiplications that are worth a byte that is transposed."""

ALONE = 2**40
"""More than any Transpose costs: of operators that nobody else computes."""


Moves = Callable[[Node], bool]
"""Whether a layer is to be where the device takes it."""


def every_layer(node: Node) -> bool:
    return True


def layout_passes(unit: Unit, moves: Moves = every_layer) -> list[Pass]:
    """One for each layout that its patterns ask for."""
    wanted = dict.fromkeys(pattern.layout for pattern in unit.accelerator.patterns if pattern.layout)
    return [_layout_pass(unit, name, moves) for name in wanted]


def _layout_pass(unit: Unit, wanted: str, moves: Moves) -> Pass:
    forms = [form for form in unit.forms() if form.pattern.layout == wanted]
    last = wanted == CHANNELS_LAST

    def worth(graph: Graph, node: Node) -> int:
        return _worth(forms, last, graph, node) if moves(node) else 0

    def kept(graph: Graph, node: Node) -> int:
        """What the device does not take is in the layout that the cores like: the target's own passes came before.
        Portable kernels for the other one need about ten instructions more for a MAC, as for a byte that is
        transposed."""
        return graph.macs(node) if isinstance(node.op, Windowed) and not worth(graph, node) else 0

    layout = ChannelPosition(last, worth, kept, lambda graph: dict(_links(forms, last, graph)))
    return Pass(
        f"{wanted} for {unit.name}", partial(with_layout, layout), ensures=partial(all_worth_it, layout)
    )  # fmt: skip


def _worth(forms: list[Declared], last: bool, graph: Graph, node: Node) -> int:
    able = [form for form in forms if form.pattern.op == node.op.kind]
    if not able or not isinstance(node.op, Windowed):
        return 0
    if not any(_takes(form, last, graph, node) for form in able):
        return 0
    if able[0].accelerator.reference_passes:
        return ALONE
    return max(graph.macs(node), graph.types[node.key].elements) // MACS_PER_BYTE


def _links(forms: list[Declared], last: bool, graph: Graph) -> Iterator[tuple[str, int]]:
    """Results that a job would not store: what is saved by it is lost with a Transpose between."""
    for form in forms:
        for node in graph.nodes if form.is_chain else ():
            if node.op.kind != form.pattern.op or not (worth := _worth([form], last, graph, node)):
                continue
            for one in found_chain(form.pattern, graph, node).nodes[:-1]:
                yield one.key, worth


def _takes(form: Declared, last: bool, graph: Graph, node: Node) -> bool:
    """Whether a form would take a layer, with those behind it that it computes too, in this layout."""
    try:
        op, types = prepared(form, graph, node)
    except Refusal:
        return False
    return unsupported_reason(form, _turned(op, last), _moved(types, last)) is None


def _turned(op: Op, last: bool) -> Op:
    if isinstance(op, Chained):
        return replace(op, parts=tuple(_turned(part, last) for part in op.parts))
    return replace(op, channels_last=last) if isinstance(op, Windowed) else op


def _moved(types: Types, last: bool) -> dict[str, TensorType]:
    """As the operands and results are in the other layout."""
    return {name: _permuted(kind, last) if len(kind.shape) > 2 else kind for name, kind in types.items()}


def _permuted(kind: TensorType, last: bool) -> TensorType:
    first, *rest = kind.shape
    return TensorType(kind.dtype, (first, *rest[1:], rest[0]) if last else (first, rest[-1], *rest[:-1]))
