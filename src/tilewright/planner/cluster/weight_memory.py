"""Constants in the weight memory: what kernels read where it lies, and what else goes there when L2 is full."""

from __future__ import annotations

from collections.abc import Mapping

from tilewright.ir.graph import Graph, Node
from tilewright.planner.cluster.capacity import constant_sizes, wmem_capacity
from tilewright.target.mapping import Choice, Mapped
from tilewright.target.memory import Memory
from tilewright.target.settings import Settings


def may_be_resident(mapped: Mapped, choice: Choice, pinned: Mapping[str, str]) -> bool:
    """Whether what a kernel reads in the weight memory are constants that are there, or may still go there. `pinned`
    are constants whose memory is no longer a choice."""
    wmem, operands = mapped.target.hierarchy.wmem, choice.node.operands()
    names = [operands[name] for name in choice.kernel.resident]
    if wmem is None or any(name not in mapped.graph.constants for name in names):
        return False
    return all(pinned.get(name, wmem.name) == wmem.name for name in names)


def moved_to_wmem(mapped: Mapped, settings: Settings, excess: int) -> frozenset[str]:
    """Constants that live there so that L2 has so many bytes less to hold: the largest first, as far as there is room
    whatever kernels are chosen."""
    wmem = mapped.target.hierarchy.wmem
    if wmem is None or not settings.weight_memory or excess <= 0:
        return frozenset()
    taken: dict[str, int] = {}
    resident = {node.key: _most_resident(mapped, node) for node in mapped.graph.nodes}
    room = wmem_capacity(mapped, settings) - sum(resident.values())
    for name, size in _largest_first(mapped.graph, wmem):
        # A layer has its constants in one form only: as they are, or as an accelerator reads them.
        other = max(resident[reader.key] for reader in mapped.graph.consumers[name])
        more = max(size - other, 0)
        if sum(taken.values()) >= excess:
            break
        if more <= room:
            taken[name], room = size, room - more
    return frozenset(taken)


def _largest_first(graph: Graph, wmem: Memory) -> list[tuple[str, int]]:
    used = [name for name in graph.constants if name in graph.consumers]
    sizes = {name: wmem.whole_constant(graph.types[name].bytes) for name in used}
    return sorted(sizes.items(), key=lambda one: (-one[1], one[0]))


def _most_resident(mapped: Mapped, node: Node) -> int:
    """Bytes in the weight memory of the form of a layer that has most there."""
    choices = mapped.all_choices(node) if node.key in mapped.choices else ()
    return max((_resident_bytes(mapped, choice) for choice in choices), default=0)


def _resident_bytes(mapped: Mapped, choice: Choice) -> int:
    wmem, operands = mapped.target.hierarchy.wmem, choice.node.operands()
    names = [operands[name] for name in choice.kernel.resident if operands[name] in mapped.graph.constants]
    return constant_sizes(mapped.graph, names, wmem) if wmem else 0
