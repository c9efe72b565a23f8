"""What a unit makes of a node: the node with operands in the form that the device reads, or the reason why not."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace

import numpy as np

from tilewright.accelerator.accepting import unsupported_reason
from tilewright.accelerator.chains import kind_name, parts_of
from tilewright.accelerator.declaration import texts
from tilewright.accelerator.following import Chain, found_chain
from tilewright.accelerator.jobs import Declared
from tilewright.accelerator.packing import with_packed
from tilewright.accelerator.unit import Unit
from tilewright.errors import Refusal
from tilewright.ir.graph import Graph, Node
from tilewright.ir.op import Op
from tilewright.ir.types import Array, TensorType, type_of
from tilewright.target.target import Offer

Weigh = Callable[[Graph, Chain], tuple[float, float]]
"""Cycles of a chain joined, and of its layers apart."""


def offer_of(unit: Unit, weigh: Weigh | None = None) -> Callable[[Graph, Node], Offer]:
    """`weigh` for the reason why layers were not joined."""

    def offer(graph: Graph, node: Node) -> Offer:
        able = [form for form in unit.forms() if node.op.kind in (form.pattern.op, kind_name(form.pattern))]
        if not able:
            kinds = dict.fromkeys(kind_name(pattern) for pattern in unit.accelerator.patterns)
            raise Refusal(f"it computes {' and '.join(kinds)}")
        reasons: dict[str, str] = {}
        for form in able:
            found, why = _tried(form, graph, node, weigh)
            if found is not None and why is None:
                return found
            # A form that is only about who requantises has nothing to say of other layers.
            if form.pattern.name not in reasons or "requantise" in reasons[form.pattern.name]:
                reasons[form.pattern.name] = why or ""
        raise Refusal(_joined(reasons))

    return offer


def _tried(form: Declared, graph: Graph, node: Node, weigh: Weigh | None) -> tuple[Offer | None, str | None]:
    """What a form makes of a node, or why it does not take it."""
    try:
        found = _as_declared(form, graph, node)
        plain = _prepared(form, graph, found.joined)
        if (why := unsupported_reason(form, plain.op, _types(graph, found.joined, plain))) is not None:
            return None, why
        if len(found.nodes) > 1:
            return None, _left_apart(graph, found, weigh)
        made = _packed(form, graph, found.joined, plain)
        return made, unsupported_reason(form, made.op, _types(graph, found.joined, made))
    except Refusal as refusal:
        return None, refusal.what


def any_takes(units: Sequence[Unit], graph: Graph, node: Node) -> bool:
    """Whether a unit computes a node, by itself or with those behind it, once it has the layout that the unit wants."""
    return any(_takes_in_some_layout(form, graph, node) for unit in units for form in unit.forms())


def _takes_in_some_layout(form: Declared, graph: Graph, node: Node) -> bool:
    if form.pattern.op != node.op.kind:
        return False
    pattern = replace(form.pattern, layout="", packings={})
    anyhow = Declared(form.accelerator, pattern, form.gives_totals, form.source)
    try:
        joined = found_chain(pattern, graph, node).joined
        plain = _prepared(anyhow, graph, joined)
        return unsupported_reason(anyhow, plain.op, _types(graph, joined, plain)) is None
    except Refusal:
        return False


def _as_declared(form: Declared, graph: Graph, node: Node) -> Chain:
    """A node as the operator that a form computes, with the nodes behind it that this takes."""
    if node.op.kind == kind_name(form.pattern):
        return Chain((node,), node)
    return found_chain(form.pattern, graph, node)


def _left_apart(graph: Graph, found: Chain, weigh: Weigh | None) -> str:
    behind = " and ".join(node.name for node in found.nodes[1:])
    if weigh is None:
        return f"it is not joined with {behind}"
    joined, apart = weigh(graph, found)
    return f"joined with {behind} it would take {joined:.0f} cycles, {apart:.0f} apart"


def chain_unsupported(form: Declared, graph: Graph, found: Chain) -> str | None:
    """Why a device does not take layers that follow each other as its pattern says, or None."""
    try:
        plain = _prepared(form, graph, found.joined)
        why = unsupported_reason(form, plain.op, _types(graph, found.joined, plain))
        if why is None:
            made = _packed(form, graph, found.joined, plain)
            why = unsupported_reason(form, made.op, _types(graph, found.joined, made))
        return why
    except Refusal as refusal:
        return refusal.what


def _packed(form: Declared, graph: Graph, node: Node, plain: Offer) -> Offer:
    """With constants in the order in which the device reads them."""
    found = plain
    for operand, packing in form.pattern.packings.items():
        names = dict(zip(plain.op.operand_names(len(plain.inputs)), plain.inputs, strict=True))
        array = graph.constants.get(names.get(operand, ""))
        if array is None:
            raise Refusal(f"{operand} is not constant, and it is packed for the device")
        shapes = {name: kind.shape for name, kind in _types(graph, node, plain).items() if name in names}
        op, row = with_packed(plain.op, shapes, operand, array, packing.order)
        tensor = f"{node.key}.{operand}.packed"
        inputs = tuple(tensor if name == operand else given for name, given in names.items())
        found = Offer(op, inputs, {**plain.constants, tensor: row})
    return found


def prepared(form: Declared, graph: Graph, node: Node) -> tuple[Op, dict[str, TensorType]]:
    """The operator that a form computes from a node on, with the types of operands and results as the unit would have
    them. Raises `Refusal` where something else follows than its pattern has."""
    joined = _as_declared(form, graph, node).joined
    return joined.op, _types(graph, joined, _prepared(form, graph, joined))


def _joined(reasons: dict[str, str]) -> str:
    if len(reasons) == 1:
        return next(iter(reasons.values()))
    return "; ".join(f"{pattern}: {why}" for pattern, why in reasons.items())


def _types(graph: Graph, node: Node, offer: Offer) -> dict[str, TensorType]:
    names = offer.op.operand_names(len(offer.inputs))
    made = {name: type_of(array) for name, array in offer.constants.items()}
    operands = {
        name: made.get(tensor) or graph.types[tensor]
        for name, tensor in zip(names, offer.inputs, strict=True)
        if tensor
    }
    return operands | {name: graph.types[tensor] for name, tensor in node.results().items()}


def _prepared(form: Declared, graph: Graph, node: Node) -> Offer:
    """With operands that the device always reads, one value for each filter or column."""
    op, operands = node.op, dict(node.operands())
    constants: dict[str, Array] = {}
    for name in form.pattern.required:
        channels = _channels(graph, node)
        given = graph.constants.get(operands.get(name, ""))
        if name in operands and (given is None or given.size == channels):
            continue
        dtype = texts(form.pattern.types.get(name, "int32"))[0]
        values = np.zeros(1, dtype) if given is None else given.reshape(-1)
        if values.size not in (1, channels):
            continue
        operands[name] = f"{node.key}.{name}.each"
        constants[operands[name]] = np.broadcast_to(values, (channels,)).copy()
    last = max((i for i, name in enumerate(_names(op)) if name in operands), default=-1)
    inputs = tuple(operands.get(name, "") for name in _names(op)[: last + 1]) if constants else node.inputs
    return Offer(op, inputs, constants)


def _names(op: object) -> list[str]:
    return [name.rstrip("?*") for name in op.operands]  # type: ignore[attr-defined]


def _channels(graph: Graph, node: Node) -> int:
    """Filters or columns of the result."""
    op, shape = parts_of(node.op)[0], graph.types[node.key].shape
    first = hasattr(op, "channels_last") and not op.channels_last
    return shape[1] if first else shape[-1] if shape else 1
