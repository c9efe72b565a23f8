"""Options of a layer without tiles: cores work where its tensors lie, or the DMA copies them."""

from __future__ import annotations

from tilewright.ops.identity import Identity
from tilewright.planner.cluster.layer_homes import Homes
from tilewright.planner.cluster.tiling_option import Layer, Limits, Operand, TilingOption
from tilewright.target.cost_model import kernel_cycles, work
from tilewright.tiling.dma_shapes import apart, cost

UNSEEN_COMMANDS = 32
"""That are given while cores are in other layers, roughly."""


def at_home(layer: Layer, inside: frozenset[str], limits: Limits) -> TilingOption:
    """Cores work where the tensors lie: always possible, and slow."""
    grid, operands = layer.whole, _where_they_lie(layer)
    scratch = layer.kernel.scratch_bytes(layer.node.op, layer.types)
    alone = kernel_cycles(limits.costs, layer.kernel, layer.node.op, layer.types, work(grid, {}), limits.cores)
    cycles = alone if is_in_place(layer) else alone * limits.memories.home.slowdown
    return TilingOption(
        layer.node, layer.kernel, layer.engine, grid, "in_place", False, operands, layer.owners, inside, frozenset(),
        scratch, 0, cycles, cycles, limits.memories,
    )  # fmt: skip


def is_in_place(layer: Layer) -> bool:
    """Whether most of the result is there already: moving it all to L1 and back would be for nothing."""
    replaced = layer.node.op.overwrites
    return bool(replaced) and all(layer.owners[old] == layer.owners[new] for new, old in replaced.items())


def can_be_copied_by_dma(layer: Layer, home: Homes, limits: Limits) -> bool:
    """Whether a layer only copies, between L1 and another memory, in one transfer."""
    if not isinstance(layer.node.op, Identity) or not all(kind.elements for kind in layer.types.values()):
        return False
    if home.spilled or max(kind.bytes for kind in layer.types.values()) > limits.memories.tile_link.longest:
        return False
    if len({layer.owners[name] in home.inside for name in layer.types}) == 1:
        return False
    # Rows that lie apart come from outside to where they lie side by side.
    is_dense = {name: layer.whole.is_contiguous(name) for name in "XY"}
    return is_dense["X"] or (is_dense["Y"] and layer.owners["Y"] in home.inside)


def dma_copy(layer: Layer, inside: frozenset[str], limits: Limits) -> TilingOption:
    """The copy as a transfer. Of rows that are not contiguous in L1 each is a command."""
    grid, operands = layer.whole, _where_they_lie(layer)
    commands, runs, _ = cost(grid, apart(grid))
    link = limits.memories.tile_link
    together = link.strided and not (apart(grid) == "Y" and layer.owners["Y"] in inside)
    given = commands if together else runs
    cycles = limits.costs.tile + max(0, given - UNSEEN_COMMANDS) * link.command * limits.costs.slower
    return TilingOption(
        layer.node, layer.kernel, layer.engine, grid, "dma_copy", False, operands, layer.owners, inside, frozenset(),
        0, 0, 0.0, cycles, limits.memories,
    )  # fmt: skip


def _where_they_lie(layer: Layer) -> tuple[Operand, ...]:
    """Operands and results that have no buffers."""
    tensors = {**layer.node.operands(), **layer.node.results()}
    return tuple(
        Operand(name, tensor, name in layer.results, name in layer.constants, name in layer.ready, False, 0, 0, 0)
        for name, tensor in tensors.items()
    )
