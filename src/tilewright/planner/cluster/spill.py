"""Where a first plan does not fit L2: the bytes that activations have there, and which of them may be spilled."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from tilewright.errors import CompileError
from tilewright.planner.cluster import select
from tilewright.planner.cluster.candidates import LayerOptions
from tilewright.planner.cluster.capacity import (
    constant_sizes,
    home_capacity,
    io_bytes,
    room_beside,
    spill_capacity,
)
from tilewright.planner.cluster.home_buffers import staging
from tilewright.planner.cluster.home_layout import MemoryLayout
from tilewright.planner.cluster.lifetimes import states_of
from tilewright.planner.cluster.solve import Decision, Task
from tilewright.planner.cluster.tiling_option import TilingOption
from tilewright.target.mapping import Mapped

SHARES = (1.0, 0.95, 0.88, 0.75, 0.6)
"""Parts of each memory that may be filled: offsets may not fit where sums do."""

SMALLEST = 256
"""What takes less than one part in this many of L2 is not worth spilling to L3."""


def pressures(task: Task, decision: Decision, layout: MemoryLayout) -> Iterator[select.HomePressure]:
    """To be tried one after the other until a plan fits."""
    spillable = _spillable(task, max(layout.budget, 0) // SMALLEST)
    groups = tuple(frozenset(one.options[0].owners.values()) & spillable for one in task.found)
    room = room_beside(task.mapped, task.settings, layout.staged_from, layout.resident)
    behind = spill_capacity(task.mapped, task.settings, layout.staged_from)
    behind -= layout.passing(task.mapped.target.paths.spill)
    budgets = _home_budgets(task, decision, layout)
    for share in SHARES:
        beside = {memory: int(size * share) for memory, size in room.items()}
        left = tuple(int(r * share) for r in budgets)
        yield select.HomePressure(groups, left, beside, int(behind * share), states_of(task.mapped.graph))


def lacking(task: Task, pressure: Task, decision: Decision, layout: MemoryLayout) -> CompileError | None:
    """The layer that lacks most bytes of L2 though all that may be spilled is, if there is one; `pressure` is the task
    with the options that were tried."""
    owned = frozenset(tensor.name for tensor in task.tensors)
    budgets = _home_budgets(task, decision, layout)
    least = [min(_least(option, owned) for option in one.options) for one in pressure.found]
    missing = [size - budget for size, budget in zip(least, budgets, strict=True)]
    worst = max(range(len(missing)), key=missing.__getitem__)
    if missing[worst] <= 0 or min(budgets) < 0:
        return None
    return CompileError(
        f"{task.mapped.target.paths.home.name}, {task.found[worst].layer.node.where}",
        f"at least {least[worst]} bytes are needed for its activations or parts of them, {budgets[worst]} are left by "
        f"constants, inputs and outputs: {missing[worst]} are missing", "make the layer smaller",
    )  # fmt: skip


def never_fits(task: Task) -> bool:
    """Whether the activations of a step are more than the memories have, wherever constants will be."""
    mapped, settings = task.mapped, task.settings
    memories, steps = mapped.target.paths, len(task.found)
    at_home = _always_read(mapped) if not memories.beside and not memories.behind else frozenset()
    given = io_bytes(mapped.graph, memories) + constant_sizes(mapped.graph, at_home, memories.home)
    home = home_capacity(mapped, settings) - given
    room = room_beside(mapped, settings, {}, {})
    spillable = frozenset(tensor.name for tensor in task.tensors)
    behind = spill_capacity(mapped, settings, {})
    pinned = states_of(mapped.graph)
    return overfull(task, select.HomePressure((spillable - pinned,) * steps, (home,) * steps, room, behind, pinned))


def _always_read(mapped: Mapped) -> frozenset[str]:
    """Constants that layers read whichever kernels compute them."""
    nodes = [node for node in mapped.graph.nodes if node.key in mapped.choices]
    read = [set.intersection(*(set(choice.node.inputs) for choice in mapped.all_choices(node))) for node in nodes]
    return frozenset().union(*read) & mapped.graph.constants.keys()


def overfull(task: Task, pressure: select.HomePressure) -> bool:
    """Whether the activations of a step are more than all memories that they may be in have together: no choice is left
    to look for, which a solver takes long to find out."""
    movable = frozenset().union(*(one.layer.movable for one in task.found))
    spillable = frozenset().union(*pressure.spillable)
    for step, budget in enumerate(pressure.budgets):
        live = [tensor for tensor in task.tensors if tensor.first <= step <= tensor.last]
        free = [tensor.bytes for tensor in live if tensor.name not in pressure.pinned]
        elsewhere = (
            _most_held([tensor.bytes for tensor in live if tensor.name in movable], task.budget.arena),
            *(_most_held(free, size) for size in pressure.beside.values()),
            _most_held([tensor.bytes for tensor in live if tensor.name in spillable], pressure.behind),
        )
        if sum(tensor.bytes for tensor in live) > budget + sum(elsewhere):
            return True
    return False


def _most_held(sizes: Sequence[int], capacity: int) -> int:
    """Bytes of tensors that a memory holds at the most, each of them whole."""
    return min(sum(size for size in sizes if size <= capacity), max(capacity, 0))


def _least(option: TilingOption, owned: frozenset[str]) -> int:
    """Bytes of L2 that an option needs: tensors that it expects there, and staging buffers of those behind."""
    elsewhere = option.inside | option.spilled
    whole = {
        option.owners[name]: kind.bytes for name, kind in option.grid.types.items() if option.owners[name] in owned
    }
    needed = [*option.staging_bytes.values(), *(size for owner, size in whole.items() if owner not in elsewhere)]
    return sum(option.memories.home.whole(size) for size in needed)


def _home_budgets(task: Task, decision: Decision, layout: MemoryLayout) -> list[int]:
    """Bytes of L2 that constants in use and working memory leave at each step."""
    held = staging(task.mapped.graph, decision.options, layout.staged, 0).values()
    steps = range(len(decision.options))
    return [layout.budget - sum(size for size, first, last in held if first <= step <= last) for step in steps]


def _spillable(task: Task, least: int) -> frozenset[str]:
    """Tensors that all layers can be fed with in parts."""
    whole = {
        owner for one in task.found for owner in one.options[0].owners.values() if not _takes_parts(one, owner)
    }  # fmt: skip
    return (
        frozenset(tensor.name for tensor in task.tensors if tensor.bytes > least) - whole - states_of(task.mapped.graph)
    )


def _takes_parts(one: LayerOptions, owner: str) -> bool:
    return any(option.mode not in ("in_place", "dma_copy") and owner not in option.inside for option in one.options)
