"""Constants in the weight memory: what kernels read where it lies, and what else goes there when L2 is full."""

from __future__ import annotations

from collections.abc import Mapping

from tilewright.ir.graph import Graph, Node
from tilewright.planner.cluster.capacity import beside_capacity, constant_sizes
from tilewright.target.mapping import Choice, Mapped
from tilewright.target.memory import Memory
from tilewright.target.settings import Settings


def may_be_resident(mapped: Mapped, choice: Choice, pinned: Mapping[str, str]) -> bool:
    """Whether what a kernel reads in the weight memory are constants that are there, or may still go there. `pinned`
    are constants whose memory is no longer a choice."""
    wmem, operands = mapped.target.paths.weights, choice.node.operands()
    names = [operands[name] for name in choice.kernel.resident]
    if wmem is None or any(name not in mapped.graph.constants for name in names):
        return False
    return all(pinned.get(name, wmem.name) == wmem.name for name in names)


def moved_beside(mapped: Mapped, settings: Settings, excess: int) -> dict[str, str]:
    """Constants that live beside L2, which takes that many bytes off it, with their memories: the largest first,
    as far as there is room whatever kernels are chosen, and in each memory what those before do not hold."""
    found: dict[str, str] = {}
    resident = {node.key: _most_resident(mapped, node) for node in mapped.graph.nodes}
    for memory in mapped.target.paths.beside if settings.weight_memory else ():
        own = resident if memory is mapped.target.paths.weights else dict.fromkeys(resident, 0)
        taken = _moved_to(mapped, memory, beside_capacity(mapped, settings, memory), own, excess, frozenset(found))
        excess -= sum(taken.values())
        found |= dict.fromkeys(taken, memory.name)
    return found


def _moved_to(
    mapped: Mapped, memory: Memory, size: int, resident: Mapping[str, int], excess: int, others: frozenset[str]
) -> dict[str, int]:
    """Constants, but for `others`, that a memory of this size has for that, with their bytes."""
    taken: dict[str, int] = {}
    room = size - sum(resident.values())
    for name, own in _largest_first(mapped.graph, memory):
        # A layer has its constants in one form only: as they are, or as an accelerator reads them.
        more = max(own - max(resident[reader.key] for reader in mapped.graph.consumers[name]), 0)
        if sum(taken.values()) >= excess:
            break
        if more <= room and name not in others:
            taken[name], room = own, room - more
    return taken


def _largest_first(graph: Graph, memory: Memory) -> list[tuple[str, int]]:
    used = [name for name in graph.constants if name in graph.consumers]
    sizes = {name: memory.whole_constant(graph.types[name].bytes) for name in used}
    return sorted(sizes.items(), key=lambda one: (-one[1], one[0]))


def _most_resident(mapped: Mapped, node: Node) -> int:
    """Bytes in the weight memory of the form of a layer that has most there."""
    choices = mapped.all_choices(node) if node.key in mapped.choices else ()
    return max((_resident_bytes(mapped, choice) for choice in choices), default=0)


def _resident_bytes(mapped: Mapped, choice: Choice) -> int:
    wmem, operands = mapped.target.paths.weights, choice.node.operands()
    names = [operands[name] for name in choice.kernel.resident if operands[name] in mapped.graph.constants]
    return constant_sizes(mapped.graph, names, wmem) if wmem else 0
