"""What a unit makes of a node: the node with operands in the form that the device reads, or the reason why not."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from tilewright.accelerator.accepting import objection
from tilewright.accelerator.jobs import Declared
from tilewright.accelerator.packing import with_packed
from tilewright.accelerator.unit import Unit
from tilewright.errors import Refusal
from tilewright.ir.graph import Graph, Node
from tilewright.ir.types import Array, TensorType, type_of
from tilewright.target.target import Offer


def offer_of(unit: Unit) -> Callable[[Graph, Node], Offer]:
    def offer(graph: Graph, node: Node) -> Offer:
        able = [form for form in unit.forms() if form.pattern.op == node.op.kind]
        if not able:
            kinds = dict.fromkeys(pattern.op for pattern in unit.accelerator.patterns)
            raise Refusal(f"it computes {' and '.join(kinds)}")
        reasons: dict[str, str] = {}
        for form in able:
            found, why = _tried(form, graph, node)
            if found is not None and why is None:
                return found
            # A form that is only about who requantises has nothing to say of other layers.
            if form.pattern.name not in reasons or "requantise" in reasons[form.pattern.name]:
                reasons[form.pattern.name] = why or ""
        raise Refusal(_joined(reasons))

    return offer


def _tried(form: Declared, graph: Graph, node: Node) -> tuple[Offer | None, str | None]:
    """What a form makes of a node, or why it does not take it."""
    try:
        plain = _prepared(form, graph, node)
        if (why := objection(form, plain.op, _types(graph, node, plain))) is not None:
            return None, why
        found = _packed(form, graph, node, plain)
        return found, objection(form, found.op, _types(graph, node, found))
    except Refusal as refusal:
        return None, refusal.what


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


def prepared_types(form: Declared, graph: Graph, node: Node) -> dict[str, TensorType]:
    """Of operands and results as the unit would have them."""
    return _types(graph, node, _prepared(form, graph, node))


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
        values = np.zeros(1, np.int32) if given is None else given.reshape(-1)
        if values.size not in (1, channels):
            continue
        operands[name] = f"{node.key}.{name}.each"
        constants[operands[name]] = np.broadcast_to(values, (channels,)).astype(np.int32).copy()
    last = max((i for i, name in enumerate(_names(op)) if name in operands), default=-1)
    inputs = tuple(operands.get(name, "") for name in _names(op)[: last + 1]) if constants else node.inputs
    return Offer(op, inputs, constants)


def _names(op: object) -> list[str]:
    return [name.rstrip("?*") for name in op.operands]  # type: ignore[attr-defined]


def _channels(graph: Graph, node: Node) -> int:
    """Filters or columns of the result."""
    shape = graph.types[node.key].shape
    first = hasattr(node.op, "channels_last") and not node.op.channels_last
    return shape[1] if first else shape[-1] if shape else 1
