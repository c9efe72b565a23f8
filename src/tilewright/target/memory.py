"""Memories and the links between them, as data: what the planner, the validators, generated C and runtimes read."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from functools import cached_property

from tilewright.errors import InternalError
from tilewright.records import dataclass
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
    """Bytes for code, stacks outside that of the tiles and the program around the network."""
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
    copies: str = ""
    """The section of constants that start-up code copies there, where it is another than that of variables."""
    caches: Caches | None = None
    """What a computer keeps data in that is needed again."""

    @property
    def placement(self) -> int:
        """Tensors and buffers begin at multiples of this."""
        return max(self.alignment, self.base_alignment)

    def whole(self, size: int) -> int:
        """The bytes that a tensor or buffer takes there: whole units of the alignment."""
        return -(-size // self.alignment) * self.alignment

    def whole_constant(self, size: int) -> int:
        """What a constant of so many bytes takes there: whole units of its alignment."""
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
    """Transfers that may be pending at once where the runtime has to see to that: of one that stages. An engine that
    lets the core wait which starts one too many needs no number."""
    proxy_cycles: float = 0.0
    """Cycles of the one core that starts transfers for all others, each time that one of these asks for some; 0 where
    they start their own."""


NO_LINK = Link("", "", "", 0, 0.0, 0.0)
"""Of a machine that works where its tensors lie."""


@dataclass(frozen=True)
class Path:
    """How data of a memory comes to where tiles are computed."""

    memory: Memory
    links: tuple[Link, ...]
    """From there inward: the last one fills the memory of the tiles."""

    @property
    def staging(self) -> tuple[Link, ...]:
        """Those that whole constants, or parts of other tensors, take before tiles are cut out of them."""
        return self.links[:-1]


@dataclass(frozen=True)
class Paths:
    """The memories that data of a network comes from and goes to, in the order in which they are preferred. A memory
    that no path leads from is none of them: nothing of a network is put there."""

    tiles: Memory
    """Where tiles are computed."""
    near: tuple[Path, ...]
    """Memories that tiles are cut out of. The first is the home of tensors; others are for what it does not hold."""
    staged: tuple[Path, ...] = ()
    """Memories that cores do not reach, at least one link behind the home: what lives there is staged in it."""

    @cached_property
    def home(self) -> Memory:
        """Where tensors live, inputs and outputs too, and what is staged comes to; cores reach it."""
        return self.near[0].memory

    @cached_property
    def tile_link(self) -> Link:
        """Between the home and the tiles."""
        return self.near[0].links[0]

    @cached_property
    def beside(self) -> tuple[Memory, ...]:
        """Others that tiles are cut out of."""
        return tuple(path.memory for path in self.near[1:])

    @cached_property
    def weights(self) -> Memory | None:
        """Of those beside, the one that accelerators read weights in."""
        return self.beside[0] if self.beside else None

    @cached_property
    def first_values(self) -> Memory:
        """Where constants lie that states are set to before the first call: they are read once, so that a slower memory
        has them where there is one with room of its own for constants."""
        return next((memory for memory in self.beside if memory.constants), self.home)

    @cached_property
    def behind(self) -> tuple[Memory, ...]:
        """What is staged lives there."""
        return tuple(path.memory for path in self.staged)

    @cached_property
    def spilling(self) -> Path | None:
        """Of the staged ones, that of activations, which come and go in parts: a single link behind the home."""
        return next((path for path in self.staged if len(path.staging) == 1), None)

    @cached_property
    def spill(self) -> Memory | None:
        """Where activations go that no memory near the tiles holds."""
        return self.spilling.memory if self.spilling else None

    @property
    def memories(self) -> list[Memory]:
        return [self.tiles, self.home, *self.beside, *self.behind]

    def is_passed(self, memory: Memory) -> bool:
        """Whether what lives farther behind passes it on the way to the home."""
        return any(link.inner == memory.name for path in self.staged for link in path.staging[:-1])

    def staging(self, memory: str) -> tuple[Link, ...]:
        """The links by which what lives in a memory comes to the home; none where it is near the tiles."""
        return next((path.staging for path in self.staged if path.memory.name == memory), ())


def paths(memories: Sequence[Memory], links: Sequence[Link]) -> Paths:
    """Without links, the first memory is all that there is. Raises `InternalError` where no link fills one that cores
    work in."""
    if not links:
        return Paths(memories[0], (Path(memories[0], (NO_LINK,)),))
    known = {memory.name: memory for memory in memories}
    inner = [link for link in links if CORES in known[link.inner].reachable_by and known[link.inner].slowdown == 1.0]
    if not inner:
        raise InternalError("platform", "no link fills a memory that cores work in")
    first, *_ = inner
    near = {link.outer: Path(known[link.outer], (link,)) for link in reversed(links) if link.inner == first.inner}
    home = near.pop(first.outer)
    others = tuple(reversed(near.values()))
    return Paths(known[first.inner], (home, *others), _behind(home, known, links))


def _behind(home: Path, known: Mapping[str, Memory], links: Sequence[Link]) -> tuple[Path, ...]:
    """The nearest first, each by the shortest path."""
    found: dict[str, Path] = {home.memory.name: home}
    waiting = [home]
    while waiting:
        inner, *waiting = waiting
        for link in links:
            outer = known[link.outer]
            if link.inner == inner.memory.name and outer.name not in found and CORES not in outer.reachable_by:
                found[outer.name] = Path(outer, (link, *inner.links))
                waiting.append(found[outer.name])
    return tuple(found.values())[1:]
