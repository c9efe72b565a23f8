"""Which tensors share bytes: views, results in the place of operands, operands of Concats inside their results."""

from __future__ import annotations

from collections.abc import Collection, Container, Mapping
from functools import partial
from types import MappingProxyType

from tilewright.errors import instance
from tilewright.ir.graph import Graph, Node
from tilewright.ir.op import Op
from tilewright.ops.concat import Concat
from tilewright.tiling.tiles import Inside

NOTHING: Mapping[str, Collection[str]] = MappingProxyType({})

Owners = Mapping[str, str]
"""Tensor -> the tensor whose bytes it uses: itself, what it is a view of, or what it is computed in the place of."""


def view_owners(graph: Graph) -> dict[str, str]:
    """Owners that follow from views and states alone; a graph output owns the bytes of what it is a view of, and a
    state's value when a call begins those of its value when the call ends."""
    owners = {name: name for name in graph.types}
    for node in graph.nodes:
        if node.op.view:
            owners[node.outputs[0]] = owners[node.inputs[0]]
    for output in graph.outputs:
        if home_of(graph, owners[output]) == "arena":
            _merge(owners, owners[output], output)
    for state in graph.states:
        if home_of(graph, owners[state.after]) == "arena":
            _merge(owners, owners[state.after], state.before)
    return owners


def in_place_owners(
    graph: Graph,
    owners: dict[str, str],
    kept: Container[str] = (),
    allowed: Mapping[str, Collection[str]] = NOTHING,
    around: Collection[str] = (),
) -> dict[str, str]:
    """Let results take the place of operands that nothing reads afterwards, but for `kept` ones. Where it is not the
    operator that lets them, a kernel may: `allowed` has its operands by the node's key. Owners with others inside them,
    `around` those, stay in the arena."""
    moved, arena_only = dict(owners), set(around)
    last = _last_uses(graph, owners)
    for step, node in enumerate(graph.nodes):
        if len(node.results()) != 1 or node.key in kept:
            continue
        replaced = _replaced(node, allowed.get(node.key, ()))
        new = _end(moved, node.key)
        if home_of(graph, new) == "state":
            continue  # an operand would be made there while others still read the old value
        alone = partial(_is_read_once, graph, node, moved)
        for operand in filter(None, replaced):
            old = _end(moved, operand)
            whole = graph.types[old].bytes == graph.types[operand].bytes  # not some rows of another tensor
            same = whole and graph.types[operand] == graph.types[node.key]
            stays = old not in arena_only or home_of(graph, new) == "arena"
            if old != new and same and stays and _ends_here(graph, last, step, old) and alone(operand, old):
                arena_only |= {new} if old in arena_only else set()
                last[new] = max(last.get(new, step), step)
                moved[old] = new
                break
    return {name: _end(moved, name) for name in owners}


def _replaced(node: Node, allowed: Collection[str]) -> tuple[str, ...]:
    """Tensors whose place the result may take."""
    if node.op.elementwise:
        return node.inputs
    return tuple(
        name
        for operand, name in node.operands().items()
        if operand in node.op.overwrites.values() or operand in allowed
    )


def _is_read_once(graph: Graph, node: Node, moved: dict[str, str], operand: str, owner: str) -> bool:
    """Whether a node reads an owner's bytes as one operand only, or element by element all the same."""
    shared = [name for name in filter(None, node.inputs) if _end(moved, name) == owner]
    if node.op.elementwise:
        return all(graph.types[name].bytes == graph.types[operand].bytes for name in shared)
    return shared == [operand]


def home_of(graph: Graph, tensor: str) -> str:
    """Which memory a tensor belongs to by its role."""
    if tensor in graph.constants:
        return "constant"
    if tensor in graph.inputs:
        return "input"
    if any(tensor == state.before for state in graph.states):
        return "state"
    return "output" if tensor in graph.outputs else "arena"


def _ends_here(graph: Graph, last: Mapping[str, int], step: int, owner: str) -> bool:
    """Whether a step is the last that reads bytes of the arena."""
    return home_of(graph, owner) == "arena" and last[owner] == step


def _end(moved: dict[str, str], name: str) -> str:
    """Where a chain of moves ends. Chains are cut short on the way: networks are deep."""
    while moved[name] != name:
        moved[name] = name = moved[moved[name]]
    return name


def _merge(owners: dict[str, str], old: str, new: str) -> None:
    for name, owner in owners.items():
        if owner == old:
            owners[name] = new


def _last_uses(graph: Graph, owners: Owners) -> dict[str, int]:
    last: dict[str, int] = {}
    for step, node in enumerate(graph.nodes):
        for name in filter(None, (*node.inputs, *node.outputs)):
            last[owners[name]] = step
    for output in graph.outputs:
        last[owners[output]] = len(graph.nodes)
    for state in graph.states:
        last[owners[state.before]] = len(graph.nodes)
    return last


def is_joined(graph: Graph, node: Node) -> bool:
    """Whether a node is a Concat whose operands can all be made in their places, so that it has nothing to do."""
    return isinstance(node.op, Concat) and all(is_made_for(graph, node, name) for name in node.inputs)


def is_made_for(graph: Graph, joined: Node, name: str) -> bool:
    """Whether a node makes a tensor only for a Concat."""
    maker = graph.producers.get(name)
    if maker is None or maker.op.view or isinstance(maker.op, Concat) or len(maker.outputs) > 1:
        return False
    # What cannot be cut may be too large for anything but a result that lies side by side.
    if type(maker.op).footprint is not Op.footprint:
        return False
    return joined.inputs.count(name) == 1 and is_only_reader(graph, joined, name)


def is_only_reader(graph: Graph, node: Node, tensor: str) -> bool:
    """Whether nothing but this node needs a tensor."""
    return tensor not in graph.sinks and [reader.key for reader in graph.consumers.get(tensor, ())] == [node.key]


def all_owners(graph: Graph, inside: Mapping[str, Inside]) -> dict[str, str]:
    """Views, results in the place of operands, and operands of Concats inside their results."""
    owners = in_place_owners(graph, view_owners(graph), inside)
    for node in graph.nodes:
        if is_joined(graph, node):
            owners |= dict.fromkeys(node.inputs, owners[node.key])
    return owners


def insides(graph: Graph) -> dict[str, Inside]:
    """Operands of Concats are made where the Concat has them: nothing is left for it to do. Views may have the axes of
    their bytes in another order."""
    found = {}
    for node in graph.nodes:
        if node.op.view and (turned := node.op.bytes_order(graph.operand_shapes(node))):
            name = {**node.operands(), **node.results()}[turned[0]]
            found[name] = Inside(tuple(graph.types[name].shape[axis] for axis in turned[1]), 0, 0, turned[1])
        if is_joined(graph, node):
            axis, at = instance(node.op, Concat).axis, 0
            for name in node.inputs:
                found[name] = Inside(graph.types[node.key].shape, axis, at)
                at += graph.types[name].shape[axis]
    return found
