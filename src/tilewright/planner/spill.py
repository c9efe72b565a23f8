"""The room that activations have where a first plan does not fit the far memory, and which of them may leave it."""

from __future__ import annotations

from collections.abc import Iterator

from tilewright.errors import CompileError
from tilewright.planner import select
from tilewright.planner.candidates import Candidates
from tilewright.planner.capacity import cluster_of, rounded, spare_room, store_room
from tilewright.planner.l2_buffers import staging
from tilewright.planner.l2_layout import Layout
from tilewright.planner.options import Way
from tilewright.planner.solve import Decision, Task

SHARES = (1.0, 0.95, 0.88, 0.75, 0.6)
"""Parts of the room that may be filled: offsets may not fit where sums do."""

SMALLEST = 256
"""What takes less than this part of the far memory is not worth the way to the store."""


def reliefs(task: Task, decision: Decision, layout: Layout) -> Iterator[select.Scarce]:
    """To be tried one after the other until a plan fits."""
    storable = _storable(task, max(layout.room, 0) // SMALLEST)
    groups = tuple(frozenset(one.ways[0].owners.values()) & storable for one in task.found)
    spare = spare_room(task.mapped, task.settings, layout.stored, layout.resident)
    store = store_room(task.mapped, layout.stored)
    rooms = _rooms(task, decision, layout)
    for share in SHARES:
        yield select.Scarce(groups, tuple(int(r * share) for r in rooms), int(spare * share), int(store * share))


def lacking(task: Task, scarce: Task, decision: Decision, layout: Layout) -> CompileError | None:
    """The layer that lacks most of the far memory though all that may leave it does, if there is one; `scarce` has the
    ways that were tried."""
    owned = frozenset(tensor.name for tensor in task.tensors)
    rooms = _rooms(task, decision, layout)
    least = [min(_least(way, owned) for way in one.ways) for one in scarce.found]
    missing = [size - room for size, room in zip(least, rooms, strict=True)]
    worst = max(range(len(missing)), key=missing.__getitem__)
    if missing[worst] <= 0 or min(rooms) < 0:
        return None
    return CompileError(
        f"{cluster_of(task.mapped).far}, {task.found[worst].layer.node.where}",
        f"at least {least[worst]} bytes are needed for its activations or parts of them, {rooms[worst]} are left by "
        f"constants, inputs and outputs: {missing[worst]} are missing", "make the layer smaller",
    )  # fmt: skip


def _least(way: Way, owned: frozenset[str]) -> int:
    """Bytes of the far memory that a way needs: tensors that it expects there, and parts of those in the store."""
    elsewhere = way.near | way.deep
    whole = {way.owners[name]: kind.bytes for name, kind in way.grid.types.items() if way.owners[name] in owned}
    needed = [*way.bounces.values(), *(size for owner, size in whole.items() if owner not in elsewhere)]
    return sum(rounded(size, 16) for size in needed)


def _rooms(task: Task, decision: Decision, layout: Layout) -> list[int]:
    """Bytes of the far memory that constants in use and working memory leave at each step."""
    held = staging(task.mapped.graph, decision.ways, layout.staged, 0).values()
    steps = range(len(decision.ways))
    return [layout.room - sum(size for size, first, last in held if first <= step <= last) for step in steps]


def _storable(task: Task, least: int) -> frozenset[str]:
    """Tensors that all layers can be fed with in parts."""
    whole = {
        owner for one in task.found for owner in one.ways[0].owners.values() if not _takes_parts(one, owner)
    }  # fmt: skip
    return frozenset(tensor.name for tensor in task.tensors if tensor.bytes > least) - whole


def _takes_parts(one: Candidates, owner: str) -> bool:
    return any(way.mode not in ("direct", "moved") and owner not in way.near for way in one.ways)
