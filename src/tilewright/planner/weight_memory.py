"""What kernels read where it lies in the weight memory: constants that need no room in L2."""

from __future__ import annotations

from tilewright.ir.graph import Graph, Node
from tilewright.planner.capacity import constant_sizes, wmem_capacity
from tilewright.target.mapping import Choice, Mapped
from tilewright.target.settings import Settings


def reads_constants(graph: Graph, choice: Choice) -> bool:
    """Whether its kernel reads operands in the weight memory, and these are known when the network is compiled."""
    operands, resident = choice.node.operands(), choice.kernel.resident
    return bool(resident) and all(operands[name] in graph.constants for name in resident)


def layers_that_read(mapped: Mapped, settings: Settings) -> frozenset[str]:
    """Keys of layers that some kernel computes with constants in the weight memory; none if it cannot hold them all."""
    graph = mapped.graph
    if not settings.weight_memory:
        return frozenset()
    found = {node.key: [c for c in _choices(mapped, node) if reads_constants(graph, c)] for node in graph.nodes}
    needed = sum(max(_resident_bytes(mapped, choice) for choice in own) for own in found.values() if own)
    return frozenset(key for key, own in found.items() if own and needed <= wmem_capacity(mapped, settings))


def constants_elsewhere(mapped: Mapped, settings: Settings) -> frozenset[str]:
    """Constants that L2 need not hold if those layers are computed so: what is read there, and what it was made of."""
    graph, layers = mapped.graph, layers_that_read(mapped, settings)
    found: set[str] = set()
    for node in graph.nodes:
        for choice in _choices(mapped, node) if node.key in layers else ():
            if reads_constants(graph, choice):
                operands = choice.node.operands()
                found |= {operands[name] for name in choice.kernel.resident}
                found |= {name for name in node.inputs if name in graph.constants} - set(choice.node.inputs)
    return frozenset(found)


def _choices(mapped: Mapped, node: Node) -> tuple[Choice, ...]:
    return mapped.all_choices(node) if node.key in mapped.choices else ()


def _resident_bytes(mapped: Mapped, choice: Choice) -> int:
    wmem, operands = mapped.target.hierarchy.wmem, choice.node.operands()
    unit = wmem.constants_alignment if wmem else 1
    return constant_sizes(mapped.graph, (operands[name] for name in choice.kernel.resident), unit)
