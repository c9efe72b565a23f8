"""The inputs of a model: what a user gives, or random ones that suit it."""

from __future__ import annotations

from tilewright.errors import CompileError
from tilewright.ir.arrays import Given, arrays_of, convert_all, match, random_inputs
from tilewright.ir.at_sizes import sizes_of, symbols_of
from tilewright.ir.graph import Graph, Node
from tilewright.ir.length import resolved
from tilewright.ir.types import Array, TensorType
from tilewright.ops.onehot import OneHot
from tilewright.planner.schedule.schedule import Schedule

MAX_RUN_BYTES = 2**31
"""Running and comparing hold every tensor several times in memory, and shapes come from an untrusted file."""


def input_types(graph: Graph) -> dict[str, TensorType]:
    return {name: graph.types[name] for name in graph.inputs}


def given_inputs(graph: Graph, given: Given) -> dict[str, Array]:
    """In the model's types."""
    refuse_too_large(graph)
    types = input_types(graph)
    if symbols_of(graph):
        types = resolved(types, sizes_of(types, match(list(types), arrays_of(given, "input"), "inputs")))
    return convert_all(types, given)


def made_up_inputs(graph: Graph, seed: int) -> dict[str, Array]:
    """Reproducible ones that suit the model's types."""
    refuse_too_large(graph)
    return random_inputs(input_types(graph), seed, _index_bounds(graph))


def refuse_too_large(graph: Graph) -> None:
    needed = sum(kind.bytes for kind in graph.types.values())
    if needed > MAX_RUN_BYTES:
        raise CompileError(
            "run", f"the tensors take {needed / 2**30:.1f} GiB, at most {MAX_RUN_BYTES / 2**30:.0f} GiB are run here",
            "compile and analyze work; run a smaller input, for example with --dim",
        )  # fmt: skip


def refuse_large_arena(schedule: Schedule) -> None:
    """A library holds its arena and no tensor a second time."""
    if schedule.arena_bytes > MAX_RUN_BYTES:
        raise CompileError(
            "load", f"the arena takes {schedule.arena_bytes / 2**30:.1f} GiB, at most {MAX_RUN_BYTES / 2**30:.0f} GiB "
            "are held here", "compile and analyze work; load it for a smaller input",
        )  # fmt: skip


def _index_bounds(graph: Graph) -> dict[str, int]:
    """Graph input -> the size of the axis that it indexes, for inputs that are indices."""
    sources = {name: name for name in graph.inputs}
    bounds: dict[str, int] = {}
    for node in graph.nodes:
        if node.inputs and node.inputs[0] in sources and (node.op.view or node.op.kind == "Cast"):
            sources[node.key] = sources[node.inputs[0]]
        operands = node.operands()
        index = sources.get(operands.get("indices", ""))
        if index is not None:
            size = _positions(graph, node)
            bounds[index] = min(size, bounds.get(index, size))
    return bounds


def _positions(graph: Graph, node: Node) -> int:
    """How many values an index can have: places along an axis of the data, or the depth that a OneHot makes."""
    if isinstance(node.op, OneHot):
        return node.op.depth
    return graph.types[node.inputs[0]].shape[getattr(node.op, "axis", 0)]
