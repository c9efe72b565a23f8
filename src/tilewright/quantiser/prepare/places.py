"""Where quantisers go: behind every operator, except where its reader takes its result in without a rounding."""

from __future__ import annotations

from collections.abc import Collection
from dataclasses import field

from tilewright.ir.graph import Graph, Node, rebuild
from tilewright.ops._elementwise import Unary
from tilewright.ops._filters import Filters
from tilewright.ops.add import Add
from tilewright.ops.batchnormalization import BatchNormalization
from tilewright.ops.clip import Clip
from tilewright.ops.concat import Concat
from tilewright.ops.div import Div
from tilewright.ops.groupnormalization import GroupNormalization
from tilewright.ops.hardsigmoid import HardSigmoid
from tilewright.ops.layernormalization import LayerNormalization
from tilewright.ops.matmul import MatMul
from tilewright.ops.mul import Mul
from tilewright.ops.pad import Pad
from tilewright.ops.relu import Relu
from tilewright.ops.rmsnormalization import RMSNormalization
from tilewright.ops.sigmoid import Sigmoid
from tilewright.ops.softmax import Softmax
from tilewright.ops.sub import Sub
from tilewright.ops.tanh import Tanh
from tilewright.passes.aliasing import is_only_reader
from tilewright.passes.quantise.masks import is_masked
from tilewright.passes.quantise.rotation import rotation_of
from tilewright.passes.quantise.rules import MONOTONE
from tilewright.passes.quantise.values import MOVES, Context, Format
from tilewright.quantiser.prepare.functions import inside_functions
from tilewright.records import dataclass

AFFINE = (Filters, MatMul, BatchNormalization, GroupNormalization, LayerNormalization, RMSNormalization)
"""Results that can still be scaled and shifted per channel before they are rounded."""

BINARY = (Add, Sub, Mul, Div)

FIXED = {
    Softmax: Format("int8", (1 / 256,), (-128,)), Sigmoid: Format("int8", (1 / 256,), (-128,)),
    HardSigmoid: Format("int8", (1 / 256,), (-128,)), Tanh: Format("int8", (1 / 128,), (0,)),
}  # fmt: skip
"""Functions whose range is known; what little of it bytes do not hold is less than a step."""


@dataclass(frozen=True)
class Places:
    leaders: dict[str, str]
    """Tensor that is quantised -> the tensor whose format it has."""
    absorbed: frozenset[str]
    """Results that their readers take in as they are."""
    members: dict[str, list[str]] = field(init=False)

    def __post_init__(self) -> None:
        members: dict[str, list[str]] = {}
        for tensor, leader in self.leaders.items():
            members.setdefault(leader, []).append(tensor)
        object.__setattr__(self, "members", members)


def layer_of(graph: Graph, found: Places, tensor: str) -> list[Node]:
    """The nodes that are one layer with what makes a quantised tensor, last first: nothing is rounded between them."""
    node, nodes = graph.producers.get(tensor), list[Node]()
    while node is not None:
        nodes.append(node)
        source = next((name for name in node.inputs if name in found.absorbed), None)
        node = None if source is None else graph.producers[source]
    return nodes


def places(graph: Graph, floats: Collection[str] = (), cells: Collection[str] = ()) -> Places:
    """All quantised tensors; `floats` are those that stay as they are, `cells` the recurrent nodes in integers."""
    constant = computed_from_constants(graph)
    leaders = {name: name for name in graph.sources if graph.types[name].dtype == "float32" and name not in floats}
    absorbed, (inside, angles), functions = set[str](), _inside_attentions(graph), inside_functions(graph)
    for node in graph.nodes:
        for tensor in filter(None, node.outputs):
            if graph.types[tensor].dtype != "float32" or tensor in constant or tensor in floats:
                continue
            if tensor in angles or (tensor not in graph.consumers and tensor not in graph.sinks):
                continue
            inner = tensor in inside or tensor in functions or _is_read_by(graph, tensor, cells)
            if inner or (_is_absorbed(graph, node, tensor, absorbed) and not _enters(graph, tensor, inside)):
                absorbed.add(tensor)
            elif node.key in cells:
                leaders[tensor] = node.key
            elif isinstance(node.op, Concat) and all(leaders.get(name) in cells for name in node.inputs):
                # All outputs of cells have the same format.
                leaders[tensor] = leaders[node.inputs[0]]
            else:
                leaders[tensor] = _leader(node, tensor, leaders)
    _share_concats(graph, leaders)
    return Places(leaders, frozenset(absorbed))


def _inside_attentions(graph: Graph) -> tuple[set[str], set[str]]:
    """What is never rounded: the parts of a rotation, and scores behind a mask that hides some from a softmax.

    And rows of angles that positions choose: they have a format of their own, and are part of no one layer.
    """
    context = Context(graph, rebuild(graph))
    found, angles = _inside_rotations(graph, context)
    for node in graph.nodes:
        if isinstance(node.op, Softmax) and is_only_reader(graph, node, node.inputs[0]):
            found |= {node.inputs[0]} if is_masked(context, node.inputs[0]) else set()
    return found, angles


def _inside_rotations(graph: Graph, context: Context) -> tuple[set[str], set[str]]:
    """Parts, and rows of angles, which many rotations may read."""
    turned = {node.key: one for node in graph.nodes if (one := rotation_of(context, node)) is not None}
    rotations = turned.values()
    inside = set[str]().union(*(each.inside for each in rotations)) - {each.source for each in rotations}
    found = {name for name in inside if _is_read_inside(graph, name, inside | turned.keys())}
    angles = found & set[str]().union(*(each.cosine.names | each.sine.names for each in rotations))
    return found - angles, angles


def _is_read_inside(graph: Graph, tensor: str, inside: Collection[str]) -> bool:
    return tensor not in graph.sinks and all(reader.key in inside for reader in graph.consumers.get(tensor, ()))


def _enters(graph: Graph, tensor: str, inside: Collection[str]) -> bool:
    """Whether it is what unrounded parts are computed from: a mask of one element would pass for a summand."""
    return any(reader.key in inside for reader in graph.consumers.get(tensor, ()))


def computed_from_constants(graph: Graph) -> set[str]:
    found = set(graph.constants)
    for node in graph.nodes:
        if any(node.inputs) and all(name in found for name in node.inputs if name):
            found.update(filter(None, node.outputs))
    return found


def _leader(node: Node, tensor: str, leaders: dict[str, str]) -> str:
    """What only moves or chooses elements leaves them as they were rounded."""
    moves = isinstance(node.op, MOVES + MONOTONE) and not (isinstance(node.op, Pad) and node.op.value)
    return leaders.get(node.inputs[0], tensor) if moves else tensor


def _share_concats(graph: Graph, leaders: dict[str, str]) -> None:
    """What is only concatenated is rounded once, in the format of the whole."""
    for node in graph.nodes:
        if not isinstance(node.op, Concat) or node.key not in leaders:
            continue
        for tensor in node.inputs:
            alone = leaders.get(tensor) == tensor and is_only_reader(graph, node, tensor)
            if alone and tensor not in graph.sources and list(leaders.values()).count(tensor) == 1:
                leaders[tensor] = leaders[node.key]


def _is_read_by(graph: Graph, tensor: str, cells: Collection[str]) -> bool:
    """Whether a tensor is the product that recurrent cells in integers begin with."""
    return any(reader.key in cells and reader.inputs[0] == tensor for reader in graph.consumers.get(tensor, ()))


def _is_absorbed(graph: Graph, node: Node, tensor: str, absorbed: Collection[str]) -> bool:
    readers = graph.consumers.get(tensor, [])
    if len(readers) != 1 or tensor in graph.sinks or tensor != node.outputs[0]:
        return False
    reader = readers[0]
    if isinstance(reader.op, Relu | Clip):
        return True
    if not _is_affine(graph, node, absorbed):
        return False
    if isinstance(reader.op, BatchNormalization):
        return True
    if isinstance(reader.op, Unary):
        return graph.types[reader.key].dtype == "float32"
    return isinstance(reader.op, BINARY) and _scales(graph, reader, tensor)


def _is_affine(graph: Graph, node: Node, absorbed: Collection[str]) -> bool:
    """Whether a result is linear and not rounded anywhere inside."""
    if isinstance(node.op, AFFINE):
        return True
    if not isinstance(node.op, BINARY):
        return False
    source = next((name for name in node.inputs if name in absorbed), None)
    return source is not None and _is_affine(graph, graph.producers[source], absorbed)


def _scales(graph: Graph, reader: Node, tensor: str) -> bool:
    """Whether a node adds a constant to a tensor or multiplies it with one: one value, or one per channel."""
    others = [name for name in reader.inputs if name != tensor]
    if len(others) != 1 or others[0] not in graph.constants or graph.types[reader.key] != graph.types[tensor]:
        return False
    if isinstance(reader.op, Div) and reader.inputs[0] != tensor:
        return False
    return sum(size > 1 for size in graph.types[others[0]].shape) <= 1
