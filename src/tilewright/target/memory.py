"""Memories and the links between them, as data: what the planner, the validators, generated C and runtimes read."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from tilewright.errors import InternalError
from tilewright.target.caches import Caches

CORES = "cores"
"""The cores of a cluster, among those that reach a memory."""

CODE, CONSTANTS, ARENA, STACK = "code", "constants", "arena", "stack"
USES = (CODE, CONSTANTS, ARENA, STACK)
"""What may lie in a memory of a board. Where the stack is, there also are variables, inputs and outputs."""
RAM_USES, FLASH_USES = frozenset({ARENA, STACK}), frozenset({CODE, CONSTANTS})
"""Of a board that has a RAM and a flash."""


@dataclass(frozen=True)
class Memory:
    name: str
    bytes: int | None
    """None where the caller decides."""
    alignment: int = 16
    """Of tensors and buffers there."""
    section: str = ""
    """Of the linker script, for arrays without contents; empty where no address names a byte of it."""
    constants: str = ""
    """The section of constants that live there; empty for that of all constants."""
    constants_alignment: int = 16
    reachable_by: frozenset[str] = frozenset({CORES})
    """Cores, links and accelerators that read and write it."""
    slowdown: float = 1.0
    """How many times longer kernels take whose operands lie there."""
    reserved: int = 0
    """Bytes for code, stacks outside L1 and the program around the network."""
    image: str = ""
    """The memory that constants of this one are loaded into with the program, which then copies them."""
    holds: frozenset[str] = frozenset()
    """Of USES, where it is a board's."""
    base_alignment: int = 1
    """What the places of all tensors and buffers are multiples of besides, where an accelerator wants that: of L1."""
    banks: tuple[str, ...] = ()
    """Memories of the platform that it is made of, one behind the other; empty for the one that is called like it."""

    base_offset: int = 0
    """Bytes of the platform's memory that lie before it and are for something else."""
    caches: Caches | None = None
    """What a computer keeps data in that is needed again."""

    @property
    def placement(self) -> int:
        """Tensors and buffers begin at multiples of this."""
        return max(self.alignment, self.base_alignment)

    def whole(self, size: int) -> int:
        """What a tensor or buffer of so many bytes takes there: whole units of the alignment."""
        return -(-size // self.alignment) * self.alignment

    def whole_constant(self, size: int) -> int:
        """The same of a constant."""
        return -(-size // self.constants_alignment) * self.constants_alignment

    @property
    def symbol(self) -> str:
        """What its array is called in C."""
        return self.name.lower()


def holding(memories: Sequence[Memory], use: str) -> list[Memory]:
    """Those of a board that something may lie in, in the order in which they are preferred."""
    return [memory for memory in memories if use in memory.holds]


@dataclass(frozen=True)
class Link:
    """What copies between two memories while cores compute: a DMA engine, or one of its ports."""

    name: str
    outer: str
    inner: str
    """The memory closer to the cores."""
    longest: int
    """Bytes of a single transfer."""
    read: float
    """Cycles for each byte that goes inward."""
    write: float
    """Cycles for each byte that goes outward."""
    latency: float = 0.0
    """Cycles of a transfer beyond those of its bytes."""
    command: float = 0.0
    """Cycles of the core that starts it."""
    strided: bool = True
    """Whether one command moves rows that lie apart; else each row is a command of its own."""
    groups: int = 1
    """Groups of transfers that can be waited for separately."""
    within_inner: bool = True
    """Whether it also copies within the inner memory."""
    queue: int = 1
    """Transfers that may be pending at once where the runtime has to see to that: of the link to L3. An engine that
    lets the core wait which starts one too many needs no number."""
    proxy_cycles: float = 0.0
    """Cycles of the one core that starts transfers for all others, each time that one of these asks for some; 0 where
    they start their own."""


@dataclass(frozen=True)
class Hierarchy:
    """The memories that data of a network comes from and goes to, by their paths of links to where tiles are computed.
    A memory that no path leads from is none of them: nothing of a network is put there."""

    l1: Memory
    """Where tiles are computed."""
    l2: Memory
    """The first one on the way: tensors live there, and cores reach it."""
    dma: Link
    """Between these two."""
    beside: tuple[Memory, ...] = ()
    """Any number of others from which one link leads to the tiles: for what L2 does not hold, in this order. The first
    also has weights that an accelerator reads there."""
    l3: Memory | None = None
    """One that cores do not reach, two links away: what lives there is staged in L2."""
    udma: Link | None = None
    """Between L2 and L3."""

    @property
    def wmem(self) -> Memory | None:
        """Of those beside, the one for weights of accelerators."""
        return self.beside[0] if self.beside else None

    @property
    def memories(self) -> list[Memory]:
        return [self.l1, self.l2, *self.beside, *([self.l3] if self.l3 else [])]


def hierarchy(memories: Sequence[Memory], links: Sequence[Link]) -> Hierarchy:
    """Raises `InternalError` for a machine without a memory for tiles, or anything that fills it."""
    known = {memory.name: memory for memory in memories}
    inner = [link for link in links if CORES in known[link.inner].reachable_by and known[link.inner].slowdown == 1.0]
    if not inner:
        raise InternalError("platform", "no link fills a memory that cores work in")
    dma, *_ = inner
    beside = {link.outer: known[link.outer] for link in links if link.inner == dma.inner and link.outer != dma.outer}
    behind = [link for link in links if link.inner == dma.outer and CORES not in known[link.outer].reachable_by]
    staged = (known[behind[0].outer], behind[0]) if behind else ()
    return Hierarchy(known[dma.inner], known[dma.outer], dma, tuple(beside.values()), *staged)
