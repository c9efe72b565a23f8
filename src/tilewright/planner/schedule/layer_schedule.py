"""What a layer moves and calls: which transfers are due in which tiles, between which buffers and homes, and what its
kernel gets. `unroll.py` says what it means tile by tile."""

from __future__ import annotations

from tilewright.ir.graph import Node
from tilewright.ir.op import Params
from tilewright.planner.cluster.tile_params import Variants
from tilewright.planner.cluster.tiling_option import Operand, Tiling
from tilewright.planner.home import Home
from tilewright.records import dataclass
from tilewright.target.kernel import Kernel
from tilewright.tiling.dma_shapes import DmaShape

DMA_IN, DMA_IN_ROWS, DMA_IN_STRIDED = "dma_in", "dma_in_rows", "dma_in_strided"
DMA_OUT, DMA_OUT_ROWS, STAGED_LOAD, STAGED_STORE = "dma_out", "dma_out_rows", "load", "store"
"""Commands of transfers: `tw_` before one of these is its function. One run of bytes, or rows that lie side by side in
L1 and apart in the other memory; only those of DMA_IN_STRIDED lie apart in L1. There are loops around rows where a
shape has several levels of them. Behind the home one command moves runs and rows."""


@dataclass(frozen=True)
class Slots:
    """Equal buffers side by side, of which each turn of a loop has one."""

    memory: str
    offset: int
    """Of the first, from the start of the memory's arena."""
    bytes: int
    """Of each, in whole units of the memory's alignment."""
    turns: int = 1
    """How many are used by turns: two where one is filled while the other is in use."""
    period: int = 1
    """Turns after which the next one is used."""
    cores: int = 1
    """How many cores have as many of their own; 1 where all have the same."""

    @property
    def count(self) -> int:
        """How many buffers there are."""
        return self.turns * self.cores

    @property
    def end(self) -> int:
        """Behind the last byte of the last one."""
        return self.offset + self.bytes * self.count

    def at(self, turn: int, core: int) -> int:
        """The offset of the buffer of a turn on a core."""
        own = self.turns * core if self.cores > 1 else 0
        used = turn // self.period % self.turns if self.turns > 1 else 0
        return self.offset + self.bytes * (own + used)


@dataclass(frozen=True)
class When:
    """The tiles of a loop that something is due in."""

    period: int = 1
    """Tiles from one time to the next; 0 for the first tile only."""
    not_first: bool = False
    """The first was prefetched."""
    per_core: bool = False
    """The first of each core counts, not that of the layer."""

    def holds(self, tile: int, turn: int) -> bool:
        if self.per_core:
            return self.period > 0 or turn == 0
        if self.not_first and tile == 0:
            return False
        return tile % self.period == 0 if self.period else tile == 0


@dataclass(frozen=True)
class Move:
    """The transfer of a tile's window of an operand or result between its home and a buffer."""

    operand: Operand
    home: Home
    buffer: Slots
    when: When
    command: str
    """What moves it out of or into its home."""
    shape: DmaShape
    """How the window lies in its home."""
    staging: Slots | None = None
    """Where the window rests between two links, if its home is where the first one does not reach."""

    @property
    def ahead(self) -> bool:
        """Whether the next part is staged while this one is in use."""
        return self.staging is not None and self.staging.turns > 1 and self.when.period > 0


@dataclass(frozen=True)
class Argument:
    """What a kernel gets for an operand or result: a buffer, or its window where it lies."""

    operand: Operand
    home: Home
    buffer: Slots | None
    window: DmaShape | None
    """How the window lies in its home, where there is no buffer."""


@dataclass(frozen=True)
class Staged:
    """A constant from behind the home that is copied into it as a whole."""

    constant: str
    memory: str
    """Where it lives."""
    bytes: int
    offset: int
    """In the arena of the home."""
    passes: tuple[tuple[str, int], ...] = ()
    """The memories between its own and the home, and where it is put in their arenas."""

    @property
    def last_from(self) -> str:
        """The memory from which it comes to the home."""
        return self.passes[-1][0] if self.passes else self.memory


@dataclass(frozen=True)
class Prefetch:
    """What is fetched before a layer's turn, or at its beginning: its parameters, if they are in L1, and what its first
    tile needs that no layer makes. A layer that is only copied by DMA is nothing else."""

    moves: tuple[Move, ...] = ()
    copies: str = ""
    """The command by which the layer's operand is copied to its result, if it is such a layer."""


@dataclass(frozen=True)
class TileParams:
    """The parameter structs of a layer's tiles."""

    variants: Variants
    struct_bytes: int = 0
    """Of one of them, on a 32-bit core; generated C asserts it. 0 where they are read where they are stored."""

    @property
    def bytes(self) -> int:
        """Of all of them."""
        return self.struct_bytes * len(self.variants.params)


@dataclass(frozen=True)
class LayerSchedule:
    number: int
    option: Tiling
    buffers: int
    """2 where transfers of the next tile go on while one is computed."""
    arguments: tuple[Argument, ...]
    tile_params: TileParams | None
    """None where nothing but the DMA is at work."""
    params: Slots | None
    """Where the parameters are in L1; None where they are read where they are stored."""
    scratch: Slots | None
    prefetch: Prefetch | None
    loads: tuple[Move, ...] = ()
    stores: tuple[Move, ...] = ()
    staged: tuple[Staged, ...] = ()

    @property
    def node(self) -> Node:
        return self.option.node

    @property
    def kernel(self) -> Kernel:
        return self.option.kernel

    @property
    def engine(self) -> str:
        return self.option.engine

    @property
    def tiles(self) -> int:
        return self.option.grid.tiles

    def params_of(self, tile: int) -> Params:
        """What the kernel is given for a tile."""
        return self.tile_params.variants.of(self.option.grid.indices(tile)) if self.tile_params is not None else {}

    @property
    def is_copied(self) -> bool:
        """Whether it is nothing but a transfer."""
        return self.option.mode == "dma_copy"

    @property
    def is_per_core(self) -> bool:
        """Whether each core has tiles of its own."""
        return self.option.mode == "per_core"

    @property
    def is_once(self) -> bool:
        return self.tiles == 1 and not self.loads and not self.stores

    @property
    def is_queued(self) -> bool:
        """Whether an accelerator that ends jobs in order is given those of a tile before it has ended the last."""
        kernel = self.option.kernel
        ahead = self.is_once and kernel.can_preprogram
        return kernel.in_order and not ahead and (self.buffers > 1 or self.tiles == 1)

    @property
    def renewals(self) -> tuple[Move, ...]:
        """The loads into the only buffer of what stays for several tiles, while all else has two."""
        return tuple(move for move in self.loads if move.operand in self.option.single_buffered)

    @property
    def tile_loads(self) -> tuple[Move, ...]:
        """The others."""
        return tuple(move for move in self.loads if move.operand not in self.option.single_buffered)

    @property
    def held_tiles(self) -> int:
        """Tiles between two renewals; all of them where there are none."""
        return min((move.when.period for move in self.renewals), default=self.tiles)

    @property
    def has_prologue(self) -> bool:
        return self.option.kernel.has_prologue

    @property
    def has_epilogue(self) -> bool:
        """Whether cores finish it, other than whoever waits for it."""
        return self.option.kernel.has_epilogue and not self.option.kernel.waits

    @property
    def epilogue_operands(self) -> frozenset[str]:
        """Operands that the accelerator does not read, but the cores that finish."""
        return self.option.kernel.epilogue_operands(self.option.grid.op) if self.has_epilogue else frozenset()

    @property
    def submits_early(self) -> bool:
        """Whether the accelerator can have a tile before what is loaded for it is there; of two, that of the second is
        there anyway."""
        if self.buffers == 1 or self.tiles < 3 or not self.has_epilogue or self.has_prologue:
            return False
        return all(not move.when.period or move.operand.name in self.epilogue_operands for move in self.loads)
