"""Options to run one layer on a cluster, as data: how it is cut, buffered and fed, its bytes and its cycles."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import field
from functools import cached_property
from typing import NamedTuple

from tilewright.ir.graph import Node
from tilewright.ir.types import TensorType
from tilewright.records import dataclass
from tilewright.target.costs import Costs
from tilewright.target.kernel import Kernel
from tilewright.target.memory import Link, Paths
from tilewright.tiling.dma_shapes import apart, cost
from tilewright.tiling.tiles import Inside, TileGrid


class Operand(NamedTuple):
    """An operand or result as the tiles of a layer see it."""

    name: str
    """In the operator."""
    tensor: str
    is_result: bool
    is_constant: bool
    is_ready: bool
    """There from the beginning: a constant, or what the caller brings. It may be fetched before the layer's turn."""
    streamed: bool
    """Copied by DMA between its home and a buffer; otherwise kernels use it where it lies."""
    bytes: int
    """Of one buffer."""
    buffers: int
    """How many of them, over all cores."""
    period: int
    """Tiles after which another part is needed; 0 if never."""
    spilled: bool = False
    """It lives behind the home: each part passes through a staging buffer there, as large as that of the tile."""


@dataclass(frozen=True)
class Tiling:
    """How a layer is run."""

    node: Node
    kernel: Kernel
    engine: str
    grid: TileGrid
    mode: str
    """`cooperative`: all cores work on one tile; `per_core`: each core has tiles of its own; `offload`: an accelerator
    computes; `dma_copy`: the layer is a copy, made by one DMA transfer; `in_place`: no tiles, cores work on the tensors
    where they lie, with their working memory beside them."""
    double: bool
    operands: tuple[Operand, ...]

    @cached_property
    def single_buffered(self) -> tuple[Operand, ...]:
        """The operands that have one buffer where all else has two, though another part is needed after some tiles."""
        if self.mode != "offload" or not self.double:
            return ()
        return tuple(o for o in self.operands if o.streamed and not o.is_result and o.period > 0 and o.buffers == 1)


@dataclass(frozen=True)
class TilingOption(Tiling):
    """One of the ways in which a layer may be run, with what it takes."""

    owners: Mapping[str, str]
    """Operand and result names -> the tensor that owns the bytes."""
    inside: frozenset[str]
    """Owners of activations that this option expects in L1; the others are expected in L2."""
    spilled: frozenset[str]
    """Except for these, which it expects behind the home."""
    scratch: int
    """Bytes of working memory, over all cores."""
    params: int
    """Bytes of the parameter structs."""
    kernel_cycles: float
    cycles: float
    memories: Paths
    """Of the platform."""
    weights: int = 0
    """Bytes of constants that an accelerator reads from the weight memory."""
    engine_cycles: float = 0.0
    """Of an accelerator, while the cores could do something else."""
    fills_queue: bool = False
    """Whether the core that submits it waits until the accelerator has finished everything submitted before."""
    cold_cycles: float = 0.0
    """Cycles, among those of the layer, until its code is in the instruction caches."""

    @cached_property
    def streamed_constants(self) -> tuple[str, ...]:
        """Names of the operands that are constants and not in the weight memory."""
        return tuple(o.name for o in self.operands if o.is_constant and o.name not in self.kernel.resident)

    @property
    def warm_cycles(self) -> float:
        """What it takes if its code is there already, as that of a kernel that comes again may be."""
        return self.cycles - self.cold_cycles

    @cached_property
    def prefetch_bytes(self) -> int:
        """Bytes that may be filled before the layer's turn: what is ready of the first tile, and parameters."""
        tiles = self.memories.tiles
        buffers = sum(tiles.whole(o.bytes) * o.buffers for o in self.operands if o.is_ready and o.streamed)
        return buffers + tiles.whole(self.params)

    @cached_property
    def own_bytes(self) -> int:
        """Bytes that are needed only during the layer."""
        tiles = self.memories.tiles
        buffers = sum(tiles.whole(o.bytes) * o.buffers for o in self.operands if not o.is_ready and o.streamed)
        return buffers + (0 if self.mode == "in_place" else tiles.whole(self.scratch))

    @property
    def bytes(self) -> int:
        return self.prefetch_bytes + self.own_bytes

    @cached_property
    def before(self) -> int:
        """Bytes of L1 in use from the moment the layer is prefetched; for a DMA copy into L1, those of its result."""
        if self.mode != "dma_copy":
            return self.prefetch_bytes
        made = (self.grid.types[name].bytes for name in self.grid.results if self.owners[name] in self.inside)
        return sum(self.memories.tiles.whole(size) for size in made)

    def fetching(self, dma: Link) -> float:
        """Cycles until what comes before its turn is there."""
        moved = cost(self.grid, apart(self.grid)) if self.mode == "dma_copy" else (0, 0, self.prefetch_bytes)
        _, runs, size = moved
        return size * dma.read + runs + dma.latency

    def loading(self, dma: Link) -> float:
        """Cycles of what its tiles load when its turn has come."""
        tiles = self.grid.tiles
        turns = ((o, (tiles / o.period if o.period else 1) - o.is_ready) for o in self.operands if not o.is_result)
        return sum(o.bytes * loads for o, loads in turns if o.streamed) * dma.read

    @cached_property
    def staging_bytes(self) -> dict[str, int]:
        """Bytes of the L2 staging buffers, for operands and results in flight between L3 and L1."""
        return {o.name: self.memories.tiles.whole(o.bytes) * o.buffers for o in self.operands if o.spilled}

    @cached_property
    def can_stay_in_flight(self) -> bool:
        """Whether the accelerator can work on it while later layers run: one tile, and no transfer after it."""
        moved = any(operand.is_result and operand.streamed for operand in self.operands)
        return self.mode == "offload" and self.grid.tiles == 1 and not moved


def ends_in_order(option: TilingOption, later: TilingOption) -> bool:
    """Whether one accelerator computes both layers, and begins a job only when those before it have ended."""
    kinds = [one.mode == "offload" and one.kernel.in_order for one in (option, later)]
    return all(kinds) and option.engine == later.engine


@dataclass(frozen=True)
class Layer:
    """What is to be run, before it is decided how."""

    node: Node
    kernel: Kernel
    engine: str
    types: Mapping[str, TensorType]
    owners: Mapping[str, str]
    """Operand and result names -> the tensor that owns the bytes."""
    movable: frozenset[str]
    """Owners that may live in L1."""
    constants: frozenset[str]
    """Names of operands that are constants."""
    ready: frozenset[str]
    """Names of operands that no layer makes."""
    params_bytes: int
    inside: Mapping[str, Inside]
    """Operands and results that lie within larger tensors."""
    spillable: frozenset[str] = frozenset()
    """Owners that may live in L3."""

    @cached_property
    def whole(self) -> TileGrid:
        """Not cut."""
        return TileGrid.of(self.node.op, self.types, self.results, inside=self.inside)

    @cached_property
    def results(self) -> tuple[str, ...]:
        return tuple(self.node.results())

    @cached_property
    def result_set(self) -> frozenset[str]:
        return frozenset(self.results)


@dataclass(frozen=True)
class RuntimeSlots:
    """What the runtime can have in flight at once."""

    prefetch: int
    """How many steps before its own something may be fetched or copied for a layer."""
    offload: int
    """Layers that an accelerator may be at work for."""
    dma: Link
    """What fills L1."""
    staged_read: Mapping[str, float] = field(default_factory=dict)
    """Cycles for a byte from each memory behind the home to it."""


@dataclass(frozen=True)
class Limits:
    cores: int
    tile_bytes: int
    buffering: str
    costs: Costs
    memories: Paths
