"""What would help a network that does not fit a board."""

from __future__ import annotations

from tilewright import targets
from tilewright.ir.graph import Graph
from tilewright.planner.arena.board_regions import room
from tilewright.records import dataclass
from tilewright.target.memory import CONSTANTS, STACK, Memory, holding
from tilewright.target.settings import RAM, Settings
from tilewright.target.target import Target

ENOUGH_STACK = 2048
"""Bytes."""
NAMED = 3
"""How many other boards an error names."""


@dataclass(frozen=True)
class Needs:
    """Bytes of the memory with the stack, and of the one with the constants."""

    changing: int
    lasting: int


def advice(target: Target, graph: Graph, memory: Memory, needs: Needs, settings: Settings) -> str:
    """Everything that might do, the cheapest first. Other memories and strips of rows have been tried by now."""
    changing = STACK in memory.holds
    found = []
    if _is_mostly_floats(graph):
        found.append("a network quantised to int8 (a quarter of the bytes: tilewright quantise)")
    if not changing and not settings.packed_weights:
        found.append("--pack-weights where weights have at most 4 bits")
    if changing and memory.banks and settings.memories:
        found.append("leave out --memory: the board may have more")
    if changing and streams_may_shrink(target, settings):
        found.append("--optimise ram: the accelerator's parts in strips")
    if changing and (stack := _smaller_stack(target)):
        found.append(f"a smaller stack: --stack {stack} (`run` shows how much is used)")
    found.append(
        _larger(target, needs, changing)
        if memory.banks
        else f"more memory: --memory {memory.symbol}={needs.changing if changing else needs.lasting}"
    )
    return "what may help: " + "; ".join(found)


def _is_mostly_floats(graph: Graph) -> bool:
    sizes = [(kind.dtype, kind.bytes) for kind in graph.types.values()]
    return 2 * sum(size for dtype, size in sizes if dtype == "float32") > sum(size for _, size in sizes)


def _smaller_stack(target: Target) -> int:
    """Of what hardly any network needs more; 0 where there is no more anyway."""
    return ENOUGH_STACK if target.agents.stack > ENOUGH_STACK else 0


def streams_may_shrink(target: Target, settings: Settings) -> bool:
    """Whether an accelerator's own compiler has not been asked for less RAM."""
    return settings.optimise != RAM and any(engine.early_passes for engine in target.engines)


def _accelerators(target: Target) -> set[str]:
    return {engine.name for engine in target.engines if any(kernel.offloaded for kernel in engine.kernels)}


def _larger(target: Target, needs: Needs, changing: bool) -> str:
    """Boards that have both in one piece each, and the accelerators; what is told of them is what is missing here."""
    boards = [targets.find_board(name) for name in targets.board_names() if targets.has_core(name)]
    boards = [board for board in boards if _accelerators(target) <= _accelerators(board)]
    sizes = {
        board.name: [max(map(room, holding(board.memories, use))) for use in (STACK, CONSTANTS)] for board in boards
    }
    fits = [
        (ram if changing else flash, name)
        for name, (ram, flash) in sizes.items()
        if ram >= needs.changing and flash >= needs.lasting
    ]
    enough = sorted(fits)[:NAMED]
    named = ", ".join(f"{name} ({size // 1024} KiB)" for size, name in enough)
    return (
        f"a larger board: --board {named}"
        if enough
        else "a smaller network: no known board like it has so much in one piece"
    )
