"""Where every tensor lives: which tensors share bytes, how long each is needed, and offsets in one static arena."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace

from tilewright.ir.graph import Graph, Node
from tilewright.memory.allocator import Buffer, Problem, Solution, shown
from tilewright.memory.arena import side_by_side, solved_behind
from tilewright.memory.validate import check_placement
from tilewright.passes.aliasing import (
    Owners,
    _last_uses,
    home_of,
    in_place_owners,
    view_owners,
)
from tilewright.planner.board_regions import with_fitting_ram
from tilewright.planner.check_states import check_states
from tilewright.planner.home import ARENA, STATE, Home
from tilewright.target.mapping import Mapped


@dataclass(frozen=True)
class Allocation:
    mapped: Mapped
    places: Mapping[str, Home]
    scratch: Mapping[str, int]
    """Node key -> offset of its working memory in the arena."""
    problem: Problem
    solution: Solution
    state_bytes: int = 0
    """At the start of the arena; what lies there is kept between calls."""

    @property
    def arena_bytes(self) -> int:
        return self.solution.peak

    def __str__(self) -> str:
        lines = [f"arena {self.solution.peak} bytes, lower bound {self.solution.lower_bound}, {self.solution.method}"]
        for buffer in sorted(self.problem.buffers, key=lambda b: (b.first, shown(b.name))):
            start = self.solution.offsets[buffer.name]
            live = f"live {buffer.first}..{buffer.last}"
            lines.append(f"  {start:>8} .. {start + buffer.bytes:<8} {live:<14} {shown(buffer.name)}")
        if self.state_bytes:
            lines.append(f"  the first {self.state_bytes} bytes are state, which is kept between calls")
        return "\n".join(lines)


def allocate(mapped: Mapped) -> Allocation:
    """Aliases, then lifetimes, then offsets; checked by the validator."""
    graph, memory = mapped.graph, mapped.target.memories[0]
    owners = in_place_owners(graph, view_owners(graph))
    states, problem = _state_buffers(graph), arena_problem(mapped)
    kept = side_by_side(states, memory.alignment)
    solution = solved_behind(kept, replace(problem, buffers=problem.buffers[len(states) :]))
    check_placement(problem, solution)
    check_states(graph, owners, problem)
    target = with_fitting_ram(mapped.target, graph, solution.peak)
    mapped, memory = replace(mapped, target=target), target.memories[0]
    places = {name: _place(graph, owners, name, memory.name, solution) for name in graph.types}
    scratch = {node.key: solution.offsets[_scratch_key(node)] for node, _ in _scratch_sizes(mapped)}
    return Allocation(mapped, places, scratch, problem, solution, kept.peak)


def arena_problem(mapped: Mapped) -> Problem:
    """Everything that lies in the arena, states first."""
    graph, memory = mapped.graph, mapped.target.memories[0]
    owners = in_place_owners(graph, view_owners(graph))
    buffers = (*_state_buffers(graph), *tensor_buffers(graph, owners), *_scratch_buffers(mapped))
    # What a board's memory holds besides is counted with the schedule.
    return Problem(buffers, memory.alignment, memory.bytes if mapped.target.board is None else None)


def _state_buffers(graph: Graph) -> list[Buffer]:
    """What is needed from the first step to behind the last one."""
    return [Buffer((s.before,), graph.types[s.before].bytes, 0, len(graph.nodes)) for s in graph.states]


def tensor_buffers(graph: Graph, owners: Owners) -> list[Buffer]:
    last = _last_uses(graph, owners)
    first: dict[str, int] = {}
    for step, node in enumerate(graph.nodes):
        for name in filter(None, node.outputs):
            first.setdefault(owners[name], step)
    return [
        Buffer((owner,), graph.types[owner].bytes, step, last[owner])
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
        Buffer(_scratch_key(node), size, steps[node.key], _in_use_until(mapped, node, steps))
        for node, size in _scratch_sizes(mapped)
    ]


def _in_use_until(mapped: Mapped, node: Node, steps: Mapping[str, int]) -> int:
    """The last step that a layer's working memory is needed in: an accelerator's until somebody reads its result, so
    that what does not need it may go on."""
    step = steps[node.key]
    if not mapped.choice(node).kernel.offloaded:
        return step
    readers = [steps[reader.key] for name in node.outputs for reader in mapped.graph.consumers.get(name, ())]
    return max(step, min(readers, default=step + 1) - 1)


def _scratch_key(node: Node) -> tuple[str, str]:
    return node.key, "(scratch)"


def _place(graph: Graph, owners: Owners, name: str, memory: str, solution: Solution) -> Home:
    owner = owners[name]
    home = home_of(graph, owner)
    if home not in (ARENA, STATE):
        return Home(home, owner)
    return Home(ARENA, owner, memory, solution.offsets.get((owner,), 0))
