"""Which constants are staged from memories behind the home of tensors (L2), and what that holds at each step."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence

from tilewright.errors import CompileError
from tilewright.ir.graph import Graph, Node
from tilewright.memory import allocator
from tilewright.planner.cluster import select
from tilewright.planner.cluster.capacity import (
    capacity,
    check_constants,
    constant_sizes,
    constants_in,
    home_capacity,
    io_bytes,
    touched,
)
from tilewright.planner.cluster.elsewhere import Elsewhere, pinned_constants
from tilewright.planner.cluster.tiling_option import TilingOption
from tilewright.planner.cluster.weight_memory import moved_beside
from tilewright.planner.keys import SCRATCH, Key, buffer_key, staged_key, staging_key, tensor_key
from tilewright.target.mapping import Mapped
from tilewright.target.memory import Memory, Paths
from tilewright.target.settings import Settings


def constants_elsewhere(
    mapped: Mapped, settings: Settings, tensors: Sequence[select.Tensor], owners: Mapping[str, str]
) -> Elsewhere:
    """What the home does not hold lives in memories beside it if there is room, else in those one link further, the
    largest first; all in one of these if asked for. What an engine makes of a node's constants lives where they do."""
    memories = mapped.target.paths
    behind, moved = _graph_constants_elsewhere(mapped, settings, tensors, owners)
    beside = _with_offered(mapped, owners, moved, memories.beside)
    staged = _with_offered(mapped, owners, behind, memories.behind)
    found = Elsewhere({name: home for name, home in staged.items() if name not in beside}, beside)
    return _with_pinned(found, pinned_constants(mapped.graph, settings), mapped.target.paths)


def _with_pinned(found: Elsewhere, pinned: Mapping[str, str], memories: Paths) -> Elsewhere:
    def fixed(homes: Mapping[str, str], among: Sequence[Memory]) -> dict[str, str]:
        known = {memory.name for memory in among}
        free = {name: home for name, home in homes.items() if name not in pinned}
        return free | {name: home for name, home in pinned.items() if home in known}

    return Elsewhere(fixed(found.staged, memories.behind), fixed(found.beside, memories.beside))


def _with_offered(
    mapped: Mapped, owners: Mapping[str, str], homes: Mapping[str, str], memories: Sequence[Memory]
) -> dict[str, str]:
    """Constants with their memories, and with them what engines make of these; of several memories the first."""
    return {
        name: memory.name
        for memory in reversed(memories)
        for own in [frozenset(name for name, home in homes.items() if home == memory.name)]
        for name in own | _offered(mapped, owners, own)
    }


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
) -> tuple[dict[str, str], dict[str, str]]:
    """Those behind the home, and those beside it, with their memories."""
    graph, memories = mapped.graph, mapped.target.paths
    used = {owners[name] for node in graph.nodes if not node.op.view for name in node.inputs if name}
    constants = sorted((name for name in used if name in graph.constants), key=lambda n: (-graph.types[n].bytes, n))
    behind = [memory.name for memory in memories.behind]
    homes = [memories.home.name, *behind]
    if settings.home and settings.home not in homes:
        raise CompileError(f"--home {settings.home}", "is not a memory for constants", f"use {' or '.join(homes)}")
    check_constants(mapped, settings)
    if settings.home in behind:
        return dict.fromkeys((name for name in constants if graph.types[name].bytes), settings.home), {}
    if settings.home == memories.home.name:
        return {}, {}
    budget = home_capacity(mapped, settings) - io_bytes(graph, memories)
    excess = constant_sizes(graph, constants, memories.home) + home_peak(tensors, memories.home) - budget
    beside = moved_beside(mapped, settings, excess)
    left = [name for name in constants if name not in beside]
    excess -= constant_sizes(graph, beside, memories.home)
    moved: list[str] = []
    while behind and excess > 0 and len(moved) < len(left):
        # Twice the largest is needed to stage one while another is in use.
        excess += 2 * graph.types[left[0]].bytes if not moved else 0
        excess -= graph.types[left[len(moved)]].bytes
        moved.append(left[len(moved)])
    return _behind(mapped, settings, moved), beside


def _behind(mapped: Mapped, settings: Settings, moved: Sequence[str]) -> dict[str, str]:
    """Constants with the first memory behind the home that has room for them; else the last, which says what lacks.
    Where one does not hold all, what comes through it has room for two constants: one in use, one on its way."""
    memories, found = mapped.target.paths, dict[str, str]()
    passing = 2 * max((mapped.graph.types[name].bytes for name in moved), default=0)
    for name in moved:
        for memory in memories.behind:
            found[name], room = memory.name, capacity(mapped.target, memory, settings)
            holds_all = constants_in(mapped, memory, dict.fromkeys(moved, memory.name)) <= room
            kept = passing if memories.is_passed(memory) and not holds_all else 0
            if constants_in(mapped, memory, found) + kept <= room:
                break
    return found


STAGED_SHARE = 4
"""What is staged at once has at most this part of L2: one constant is in use while the next one comes."""


def most_staged(mapped: Mapped, settings: Settings) -> int | None:
    """The most bytes that a constant behind the home should have; None where no constant lives there."""
    graph, memories = mapped.graph, mapped.target.paths
    if not memories.behind:
        return None
    budget = home_capacity(mapped, settings) - io_bytes(graph, memories)
    used = {name for node in graph.nodes for name in node.inputs if name in graph.constants}
    constants = constant_sizes(graph, used, memories.home)
    activations = max((touched(graph, node) - _read(graph, node) for node in graph.nodes), default=0)
    excess = constants + activations - budget
    moved = moved_beside(mapped, settings, excess)
    fit = constant_sizes(graph, moved, memories.home) >= excess
    asked = settings.home in [memory.name for memory in memories.behind]
    if settings.home == memories.home.name or (fit and not asked) or budget <= 0:
        return None
    return budget // STAGED_SHARE


def _read(graph: Graph, node: Node) -> int:
    """Bytes of the constants of a layer."""
    return sum(graph.types[name].bytes for name in set(node.inputs) if name in graph.constants)


def home_peak(tensors: Sequence[select.Tensor], memory: Memory) -> int:
    """Bytes of L2, or of a memory beside it, for all activations if none is in L1."""
    return allocator.solve(home_problem(tensors, frozenset(), {}, memory), 0).peak if tensors else 0


def staging(
    graph: Graph, options: Sequence[TilingOption], staged: Mapping[int, Sequence[str]], ahead: int
) -> dict[Key, tuple[int, int, int]]:
    """Bytes, first and last step of what a step has in L2: constants, working memory, and staging buffers for what is
    in flight to and from memories behind."""
    constants = {
        staged_key(step, name): (graph.types[name].bytes, max(step - ahead, 0), step)
        for step, names in staged.items()
        for name in names
    }
    staging_bytes = {
        staging_key(step, name): (size, step, step)
        for step, option in enumerate(options)
        for name, size in option.staging_bytes.items()
    }
    scratch = {
        buffer_key(step, SCRATCH): (option.scratch, step, step)
        for step, option in enumerate(options)
        if option.mode == "in_place" and option.scratch
    }
    return constants | staging_bytes | scratch


def home_problem(
    tensors: Iterable[select.Tensor], inside: frozenset[str], staged: Mapping[Key, tuple[int, int, int]], memory: Memory
) -> allocator.Problem:
    buffers = [allocator.Buffer(tensor_key(t.name), t.bytes, t.first, t.last) for t in tensors if t.name not in inside]
    buffers += [allocator.Buffer(name, size, first, last) for name, (size, first, last) in staged.items()]
    return allocator.Problem(tuple(buffers), memory.placement)


def spilled_beside(
    tensors: Sequence[select.Tensor], inside: frozenset[str], staged: Mapping[Key, tuple[int, int, int]], budget: int,
    room: Mapping[str, int], memories: Paths, pinned: frozenset[str] = frozenset(),
) -> dict[str, str]:  # fmt: skip
    """Activations to spill to memories beside L2, which have `room`, with the memory of each: the largest, until the
    rest fits L2. Those that are `pinned` stay."""
    spilled: dict[str, str] = {}
    for tensor in sorted(tensors, key=lambda tensor: (-tensor.bytes, tensor.name)):
        if allocator.solve(home_problem(tensors, inside | spilled.keys(), staged, memories.home), 0).peak <= budget:
            break
        if tensor.name in inside | pinned:
            continue
        for memory in memories.beside:
            more = {tensor.name, *(name for name, home in spilled.items() if home == memory.name)}
            if home_peak([other for other in tensors if other.name in more], memory) <= room[memory.name]:
                spilled[tensor.name] = memory.name
                break
    return spilled
