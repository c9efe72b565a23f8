"""Which constants live in L3, and what L2 holds at each step."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence

from tilewright.errors import CompileError
from tilewright.ir.graph import Graph, Node
from tilewright.memory import allocator
from tilewright.planner.cluster import select
from tilewright.planner.cluster.capacity import check_constants, constant_sizes, io_bytes, l2_capacity, touched
from tilewright.planner.cluster.elsewhere import Elsewhere, pinned_constants
from tilewright.planner.cluster.tiling_option import TilingOption
from tilewright.planner.cluster.weight_memory import moved_beside
from tilewright.planner.keys import SCRATCH, Key, buffer_key, staged_key, staging_key, tensor_key
from tilewright.target.mapping import Mapped
from tilewright.target.memory import Hierarchy, Memory
from tilewright.target.settings import Settings


def constants_elsewhere(
    mapped: Mapped, settings: Settings, tensors: Sequence[select.Tensor], owners: Mapping[str, str]
) -> Elsewhere:
    """What L2 does not hold lives in memories beside it as far as there is room, else in L3, the largest first; all in
    L3 if asked for. What an engine makes of a node's constants lives where they do."""
    l3, moved = _graph_constants_elsewhere(mapped, settings, tensors, owners)
    beside = {
        name: memory.name
        for memory in reversed(mapped.target.hierarchy.beside)
        for own in [frozenset(name for name, home in moved.items() if home == memory.name)]
        for name in own | _offered(mapped, owners, own)
    }
    found = Elsewhere((l3 | _offered(mapped, owners, l3)) - beside.keys(), beside)
    return _with_pinned(found, pinned_constants(mapped.graph, settings), mapped.target.hierarchy)


def _with_pinned(found: Elsewhere, pinned: Mapping[str, str], memories: Hierarchy) -> Elsewhere:
    behind, known = memories.l3.name if memories.l3 else "", {memory.name for memory in memories.beside}
    l3 = frozenset(name for name, home in pinned.items() if home == behind)
    free = {name: home for name, home in found.beside.items() if name not in pinned}
    beside = {name: home for name, home in pinned.items() if home in known}
    return Elsewhere(found.l3 - pinned.keys() | l3, free | beside)


def _offered(mapped: Mapped, owners: Mapping[str, str], found: frozenset[str]) -> frozenset[str]:
    graph = mapped.graph
    return frozenset(
        {
            name
            for node in graph.nodes
            if node.key in mapped.choices and any(owners[n] in found for n in node.inputs if n)
            for choice in mapped.all_choices(node)
            for name in choice.node.inputs
            if name in graph.constants and graph.types[name].bytes
        }
    )


def _graph_constants_elsewhere(
    mapped: Mapped, settings: Settings, tensors: Sequence[select.Tensor], owners: Mapping[str, str]
) -> tuple[frozenset[str], dict[str, str]]:
    """Those of L3, and those beside L2 with their memories."""
    graph, memories = mapped.graph, mapped.target.hierarchy
    used = {owners[name] for node in graph.nodes if not node.op.view for name in node.inputs if name}
    constants = sorted((name for name in used if name in graph.constants), key=lambda n: (-graph.types[n].bytes, n))
    behind = memories.l3.name if memories.l3 else ""
    homes = [memories.l2.name, *filter(None, [behind])]
    if settings.home and settings.home not in homes:
        raise CompileError(f"--home {settings.home}", "is not a memory for constants", f"use {' or '.join(homes)}")
    check_constants(mapped, settings)
    if behind and settings.home == behind:
        return frozenset(name for name in constants if graph.types[name].bytes), {}
    if settings.home == memories.l2.name:
        return frozenset(), {}
    budget = l2_capacity(mapped, settings) - io_bytes(graph, memories.l2)
    excess = constant_sizes(graph, constants, memories.l2) + l2_peak(tensors, memories.l2) - budget
    beside = moved_beside(mapped, settings, excess)
    left = [name for name in constants if name not in beside]
    excess -= constant_sizes(graph, beside, memories.l2)
    moved: list[str] = []
    while behind and excess > 0 and len(moved) < len(left):
        # Twice the largest is needed to stage one while another is in use.
        excess += 2 * graph.types[left[0]].bytes if not moved else 0
        excess -= graph.types[left[len(moved)]].bytes
        moved.append(left[len(moved)])
    return frozenset(moved), beside


STAGED_SHARE = 4
"""What is staged at once has at most this part of L2: one constant is in use while the next one comes."""


def most_staged(mapped: Mapped, settings: Settings) -> int | None:
    """The most bytes that a constant of L3 should have; None where no constant lives there."""
    graph, memories = mapped.graph, mapped.target.hierarchy
    if memories.l3 is None:
        return None
    budget = l2_capacity(mapped, settings) - io_bytes(graph, memories.l2)
    used = {name for node in graph.nodes for name in node.inputs if name in graph.constants}
    constants = constant_sizes(graph, used, memories.l2)
    activations = max((touched(graph, node) - _read(graph, node) for node in graph.nodes), default=0)
    excess = constants + activations - budget
    moved = moved_beside(mapped, settings, excess)
    fit = constant_sizes(graph, moved, memories.l2) >= excess
    if settings.home == memories.l2.name or (fit and settings.home != memories.l3.name) or budget <= 0:
        return None
    return budget // STAGED_SHARE


def _read(graph: Graph, node: Node) -> int:
    """Bytes of the constants of a layer."""
    return sum(graph.types[name].bytes for name in set(node.inputs) if name in graph.constants)


def l2_peak(tensors: Sequence[select.Tensor], memory: Memory) -> int:
    """Bytes of L2, or of a memory beside it, for all activations if none is in L1."""
    return allocator.solve(l2_problem(tensors, frozenset(), {}, memory), 0).peak if tensors else 0


def staging(
    graph: Graph, options: Sequence[TilingOption], staged: Mapping[int, Sequence[str]], ahead: int
) -> dict[Key, tuple[int, int, int]]:
    """Bytes, first and last step of what a step has in L2: constants, working memory, and staging buffers for what is
    in flight between L3 and L1."""
    constants = {
        staged_key(step, name): (graph.types[name].bytes, max(step - ahead, 0), step)
        for step, names in staged.items()
        for name in names
    }
    staging_bytes = {
        staging_key(step, name): (size, step, step)
        for step, option in enumerate(options)
        for name, size in option.l2_staging_bytes.items()
    }
    scratch = {
        buffer_key(step, SCRATCH): (option.scratch, step, step)
        for step, option in enumerate(options)
        if option.mode == "in_l2" and option.scratch
    }
    return constants | staging_bytes | scratch


def l2_problem(
    tensors: Iterable[select.Tensor], l1: frozenset[str], staged: Mapping[Key, tuple[int, int, int]], memory: Memory
) -> allocator.Problem:
    buffers = [allocator.Buffer(tensor_key(t.name), t.bytes, t.first, t.last) for t in tensors if t.name not in l1]
    buffers += [allocator.Buffer(name, size, first, last) for name, (size, first, last) in staged.items()]
    return allocator.Problem(tuple(buffers), memory.placement)


def spilled_beside(
    tensors: Sequence[select.Tensor], l1: frozenset[str], staged: Mapping[Key, tuple[int, int, int]], budget: int,
    room: Mapping[str, int], memories: Hierarchy, pinned: frozenset[str] = frozenset(),
) -> dict[str, str]:  # fmt: skip
    """Activations to spill to memories beside L2, which have `room`, with the memory of each: the largest, until the
    rest fits L2. Those that are `pinned` stay."""
    spilled: dict[str, str] = {}
    for tensor in sorted(tensors, key=lambda tensor: (-tensor.bytes, tensor.name)):
        if allocator.solve(l2_problem(tensors, l1 | spilled.keys(), staged, memories.l2), 0).peak <= budget:
            break
        if tensor.name in l1 | pinned:
            continue
        for memory in memories.beside:
            more = {tensor.name, *(name for name, home in spilled.items() if home == memory.name)}
            if l2_peak([other for other in tensors if other.name in more], memory) <= room[memory.name]:
                spilled[tensor.name] = memory.name
                break
    return spilled
