"""Options to run one layer on a cluster, as data: how it is cut, buffered and fed, its bytes and its cycles."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from functools import cached_property

from tilewright.ir.graph import Node
from tilewright.ir.types import TensorType
from tilewright.target.costs import Costs
from tilewright.target.kernel import Kernel
from tilewright.target.memory import Hierarchy, Link
from tilewright.tiling.dma_shapes import cost
from tilewright.tiling.tiles import Inside, TileGrid


@dataclass(frozen=True)
class Operand:
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
    l3: bool = False
    """It lives in the store: on the way, each part rests in a buffer of the far memory, as large as the near one."""


@dataclass(frozen=True)
class TilingOption:
    """One way to run a layer."""

    node: Node
    kernel: Kernel
    engine: str
    grid: TileGrid
    mode: str
    """`together`: all cores work on one tile; `apart`: each core has tiles of its own; `offload`: an accelerator
    works; `moved`: one transfer between the homes is all that is to be done; `direct`: cores work where the tensors
    lie, and their working memory is far too."""
    double: bool
    operands: tuple[Operand, ...]
    owners: Mapping[str, str]
    """Operand and result names -> the tensor that owns the bytes."""
    l1: frozenset[str]
    """Owners of activations that this way expects in the near memory; others are expected in the far one."""
    l3: frozenset[str]
    """But for these, which it expects in the store."""
    scratch: int
    """Bytes of working memory, over all cores."""
    params: int
    """Bytes of the parameter structs."""
    kernel_cycles: float
    cycles: float
    weights: int = 0
    """Bytes of constants that an accelerator reads from the weight memory."""
    engine_cycles: float = 0.0
    """Of an accelerator, while the cores could do something else."""
    fills_queue: bool = False
    """Whether its accelerator must have ended all that was handed over before, until a core can go on."""
    cold_cycles: float = 0.0
    """Of them, those until its code is in the caches."""

    @property
    def warm_cycles(self) -> float:
        """What it takes if its code is there already, as that of a kernel that comes again may be."""
        return self.cycles - self.cold_cycles

    @cached_property
    def prefetch_bytes(self) -> int:
        """Bytes that may be filled before the layer's turn: what is ready of the first tile, and parameters."""
        return sum(_room(o.bytes) * o.buffers for o in self.operands if o.is_ready and o.streamed) + _room(self.params)

    @cached_property
    def own_bytes(self) -> int:
        """Bytes that are needed only during the layer."""
        buffers = sum(_room(o.bytes) * o.buffers for o in self.operands if not o.is_ready and o.streamed)
        return buffers + (0 if self.mode == "in_l2" else _room(self.scratch))

    @property
    def bytes(self) -> int:
        return self.prefetch_bytes + self.own_bytes

    @cached_property
    def before(self) -> int:
        """Bytes that are taken as soon as something of the layer is fetched: a near result that is moved there too."""
        if self.mode != "dma_copy":
            return self.prefetch_bytes
        return sum(_room(self.grid.types[name].bytes) for name in self.grid.results if self.owners[name] in self.l1)

    def fetching(self, dma: Link) -> float:
        """Cycles until what comes before its turn is there."""
        moved = cost(self.grid, self.grid.results[0]) if self.mode == "dma_copy" else (0, 0, self.prefetch_bytes)
        _, runs, size = moved
        return size * dma.read + runs + dma.latency

    @cached_property
    def l2_staging_bytes(self) -> dict[str, int]:
        """Bytes of the far memory for operands and results on their way from and to the store."""
        return {o.name: _room(o.bytes) * o.buffers for o in self.operands if o.l3}

    @cached_property
    def can_stay_in_flight(self) -> bool:
        """Whether an accelerator can be left with it as a whole: nothing is to be moved afterwards."""
        moved = any(operand.is_result and operand.streamed for operand in self.operands)
        return self.mode == "offload" and self.grid.tiles == 1 and not moved


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
    """Owners that may live in the near memory."""
    constants: frozenset[str]
    """Names of operands that are constants."""
    ready: frozenset[str]
    """Names of operands that no layer makes."""
    params_bytes: int
    inside: Mapping[str, Inside]
    """Operands and results that lie within larger tensors."""
    spillable: frozenset[str] = frozenset()
    """Owners that may live in the store."""

    @cached_property
    def results(self) -> tuple[str, ...]:
        return tuple(self.node.results())

    @cached_property
    def result_set(self) -> frozenset[str]:
        return frozenset(self.results)


@dataclass(frozen=True)
class Slots:
    """What the runtime can have under way at once."""

    prefetch: int
    """How many steps before its own something may be fetched or copied for a layer."""
    offload: int
    """Layers that an accelerator may be at work for."""
    dma: Link
    """What fills L1."""


@dataclass(frozen=True)
class Limits:
    cores: int
    l1_bytes: int
    buffering: str
    costs: Costs
    memories: Hierarchy


def _room(size: int) -> int:
    """A buffer's bytes in whole units of the alignment."""
    return _rounded(size, ALIGNMENT)


def _rounded(size: int, unit: int) -> int:
    return -(-size // unit) * unit


ALIGNMENT = 8
