"""Where every tensor lives: which tensors share bytes, how long each is needed, and offsets in one static arena."""

from __future__ import annotations

from collections.abc import Container, Iterable, Mapping
from dataclasses import dataclass, replace

from tilewright.ir import Graph, Node
from tilewright.mapping import Mapped
from tilewright.memory import Buffer, Problem, Solution, solve
from tilewright.ordering import Task, order
from tilewright.validate import check_placement

Owners = Mapping[str, str]
"""Tensor -> the tensor whose bytes it uses: itself, what it is a view of, or what it is computed in the place of."""


@dataclass(frozen=True)
class Place:
    """Where a tensor's first byte is."""

    memory: str
    """arena, input, output or constant."""
    owner: str
    offset: int = 0
    """Bytes from the start of the arena."""

    def __str__(self) -> str:
        return f"arena+{self.offset}" if self.memory == "arena" else self.memory


@dataclass(frozen=True)
class Allocation:
    mapped: Mapped
    places: Mapping[str, Place]
    scratch: Mapping[str, int]
    """Node key -> offset of its working memory in the arena."""
    problem: Problem
    solution: Solution

    @property
    def arena_bytes(self) -> int:
        return self.solution.peak

    def __str__(self) -> str:
        lines = [f"arena {self.solution.peak} bytes, lower bound {self.solution.lower_bound}, {self.solution.method}"]
        for buffer in sorted(self.problem.buffers, key=lambda b: (b.first, b.name)):
            start = self.solution.offsets[buffer.name]
            live = f"live {buffer.first}..{buffer.last}"
            lines.append(f"  {start:>8} .. {start + buffer.bytes:<8} {live:<14} {buffer.name}")
        return "\n".join(lines)


def reorder(graph: Graph) -> Graph:
    """The same nodes in the order with the lowest peak of live bytes."""
    owners = view_owners(graph)
    callers = {owners[name] for name in (*graph.inputs, *graph.outputs, *graph.constants)}
    sizes = {owner: graph.types[owner].bytes for owner in dict.fromkeys(owners.values()) if owner not in callers}
    tasks = [
        Task(
            _unique(name for read in filter(None, node.inputs) for name in (read, owners[read])), _unique(node.outputs)
        )
        for node in graph.nodes
    ]
    return replace(graph, nodes=tuple(graph.nodes[i] for i in order(tasks, sizes, frozenset())))


def allocate(mapped: Mapped) -> Allocation:
    """Aliases, then lifetimes, then offsets; checked by the validator."""
    graph, memory = mapped.graph, mapped.target.memories[0]
    owners = in_place_owners(graph, view_owners(graph))
    buffers = (*_tensor_buffers(graph, owners), *_scratch_buffers(mapped))
    problem = Problem(buffers, memory.alignment, memory.bytes)
    solution = solve(problem)
    check_placement(problem, solution)
    places = {name: _place(graph, owners, name, solution) for name in graph.types}
    scratch = {node.key: solution.offsets[_scratch_name(node)] for node, _ in _scratch_sizes(mapped)}
    return Allocation(mapped, places, scratch, problem, solution)


def view_owners(graph: Graph) -> dict[str, str]:
    """Owners that follow from views alone; a graph output owns the bytes of what it is a view of."""
    owners = {name: name for name in graph.types}
    for node in graph.nodes:
        if node.op.view:
            owners[node.outputs[0]] = owners[node.inputs[0]]
    for output in graph.outputs:
        if home_of(graph, owners[output]) == "arena":
            _merge(owners, owners[output], output)
    return owners


def in_place_owners(graph: Graph, owners: dict[str, str], kept: Container[str] = ()) -> dict[str, str]:
    """Let results take the place of operands that nothing reads afterwards, but for `kept` ones."""
    moved = dict(owners)
    last = _last_uses(graph, owners)
    for step, node in enumerate(graph.nodes):
        if not node.op.elementwise or len(list(filter(None, node.outputs))) != 1 or node.key in kept:
            continue
        new = _end(moved, node.key)
        for operand in filter(None, node.inputs):
            old = _end(moved, operand)
            if old != new and graph.types[operand] == graph.types[node.key] and _ends_here(graph, last, step, old):
                last[new] = max(last.get(new, step), step)
                moved[old] = new
                break
    return {name: _end(moved, name) for name in owners}


def home_of(graph: Graph, tensor: str) -> str:
    """Which memory a tensor belongs to by its role."""
    if tensor in graph.constants:
        return "constant"
    if tensor in graph.inputs:
        return "input"
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
    return last


def _tensor_buffers(graph: Graph, owners: Owners) -> list[Buffer]:
    last = _last_uses(graph, owners)
    first: dict[str, int] = {}
    for step, node in enumerate(graph.nodes):
        for name in filter(None, node.outputs):
            first.setdefault(owners[name], step)
    return [
        Buffer(owner, graph.types[owner].bytes, step, last[owner])
        for owner, step in first.items()
        if home_of(graph, owner) == "arena"
    ]


def _scratch_sizes(mapped: Mapped) -> list[tuple[Node, int]]:
    sizes = []
    for node in mapped.graph.nodes:
        if not node.op.view:
            size = mapped.choice(node).kernel.scratch(node.op, mapped.graph.all_types(node))
            sizes.append((node, size))
    return [(node, size) for node, size in sizes if size]


def _scratch_buffers(mapped: Mapped) -> list[Buffer]:
    steps = {node.key: step for step, node in enumerate(mapped.graph.nodes)}
    return [
        Buffer(_scratch_name(node), size, steps[node.key], steps[node.key]) for node, size in _scratch_sizes(mapped)
    ]


def _scratch_name(node: Node) -> str:
    return f"{node.key} (scratch)"


def _place(graph: Graph, owners: Owners, name: str, solution: Solution) -> Place:
    owner = owners[name]
    home = home_of(graph, owner)
    return Place(home, owner, solution.offsets[owner] if home == "arena" and owner in solution.offsets else 0)


def _unique(names: Iterable[str]) -> tuple[str, ...]:
    return tuple(dict.fromkeys(filter(None, names)))
