"""The program of a machine: for each agent a tree of events for each layer, with loops over tiles as `For`.

Validator, interpreter and the writer of C read these trees and nothing else about the order of things. Leaves name
what their layer moves or calls (`LayerSchedule`) and a tile, by an index that is affine in loop variables. A transfer
or call of a tile that its layer does not have is left out: the load behind the last one, the store before the first.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import field

from tilewright.ir.affine import Affine
from tilewright.records import dataclass

DMA, CORES = "dma", "cores"
"""Agents: the core that moves data, if one is set aside for that, and those that compute, which run the same tree."""
EVERYBODY = frozenset({DMA, CORES})

TILES, PERIOD, CORE, TEAM = "tiles", "period", "core", "team"
"""Names in indices: the tiles of the layer, those that what has a single buffer stays for; the number of the core, how
many there are."""

OWN, REQUEST, COPY = "own", "request", "copy"
"""Who starts a group of transfers: the agent itself; the DMA core, which it asks; nobody, as it copies the bytes."""

LOAD, RENEW, STORE = "load", "renew", "store"
"""Transfers of a tile: operands, operands with a single buffer that stay for several tiles, results."""
RUN, GATHER, FINISH = "run", "gather", "finish"
"""Calls of a tile: the kernel; before and behind an accelerator, what cores do for it."""


def at(name: str) -> Affine:
    return Affine(((name, 1),))


ZERO = Affine()


def value(index: Affine, known: Mapping[str, int]) -> int:
    """What an index is where the variables have these values."""
    return index.offset + sum(factor * known[name] for name, factor in index.terms)


@dataclass(frozen=True)
class Moved:
    """Transfers of a tile, as far as they are due in it."""

    what: str
    tile: Affine
    turn: Affine
    """Which of several buffers they use."""


@dataclass(frozen=True)
class Group:
    """Starts transfers that are waited for together. None is begun where none of the tiles exist."""

    tag: str
    """Who waits names it; empty for copies, which are done by then."""
    moves: tuple[Moved, ...]
    by: str = OWN


@dataclass(frozen=True)
class Wait:
    """For the group that has the tag, if there is one."""

    tag: str
    by: str = OWN


@dataclass(frozen=True)
class Prefetch:
    """Starts, as one group for each, what these layers need before their turn."""

    layers: tuple[int, ...]
    tile: Affine = ZERO
    """It happens where this is 0: in one turn of a loop."""


@dataclass(frozen=True)
class WaitPrefetch:
    """For what was prefetched for the layer, if anything."""


@dataclass(frozen=True)
class Stage:
    """Starts to copy a layer's constants from behind the home of tensors into it; what is to pass other memories has
    done so by then."""

    layer: int


@dataclass(frozen=True)
class WaitStaged:
    """For all that is on its way to the home of tensors."""

    memories: tuple[str, ...]
    """From which it comes."""


@dataclass(frozen=True)
class Call:
    what: str
    tile: Affine
    turn: Affine


@dataclass(frozen=True)
class Submit:
    """Gives a tile to an accelerator, which works on it until the job is waited for."""

    tile: Affine
    tag: str = ""
    """The last two jobs of a tag are known, by their tiles. Empty: known by its layer, waited for in a later one."""
    meets: bool = False
    """The job is described first, then all agents meet, then it is submitted."""
    meanwhile: tuple[Event, ...] = ()
    """Happens in this order as soon as its first wait allows: between the jobs of this tile, or behind them."""
    prefetch: Prefetch | None = None
    """Happens behind `meanwhile` or behind the last job, whichever comes first."""


@dataclass(frozen=True)
class WaitJob:
    tag: str
    tile: Affine


@dataclass(frozen=True)
class WaitLayer:
    """For the job of an earlier layer."""

    layer: int


@dataclass(frozen=True)
class FinishLayer:
    """The call of an earlier layer that was submitted."""

    layer: int


@dataclass(frozen=True)
class Barrier:
    """All agents of the group go on when all have come."""

    group: frozenset[str] = EVERYBODY


@dataclass(frozen=True)
class Serve:
    """The DMA core starts what cores ask for, until all of them have left `Each`."""


@dataclass(frozen=True)
class For:
    """Events for values of a variable from `first` to before `stop`."""

    variable: str
    first: Affine
    stop: Affine
    events: tuple[Event, ...]
    step: Affine = field(default_factory=lambda: Affine(offset=1))
    counter: str = ""
    """A variable that counts the turns, if any uses it."""


@dataclass(frozen=True)
class Each:
    """What each core of the team does by itself; `core` is its number."""

    events: tuple[Event, ...]


Event = (
    Group | Wait | Prefetch | WaitPrefetch | Stage | WaitStaged | Call | Submit | WaitJob | WaitLayer | FinishLayer
    | Barrier | Serve | For | Each
)  # fmt: skip
Events = tuple[Event, ...]


@dataclass(frozen=True)
class Body:
    """What an agent does in the turn of a layer."""

    layer: int
    """The number of layers for what comes behind the last one."""
    before: Events
    """What the layer waits for, and what is fetched only now."""
    events: Events


@dataclass(frozen=True)
class Load:
    """Copies a constant to another memory, once and before the first call."""

    constant: str
    source: str
    target: str
    bytes: int


@dataclass(frozen=True)
class Program:
    agents: Mapping[str, tuple[Body, ...]]
    start: tuple[Load, ...] = ()
    """What start-up code does before any agent begins."""


def prefetches(events: Events) -> list[Prefetch]:
    """Those among events, and those that happen while jobs are given."""
    found = [event for event in all_events(events) if isinstance(event, Prefetch)]
    return found + [e.prefetch for e in all_events(events) if isinstance(e, Submit) and e.prefetch is not None]


def all_events(events: Events) -> Iterator[Event]:
    """These and those inside of them."""
    for event in events:
        yield event
        if isinstance(event, For | Each):
            yield from all_events(event.events)
        elif isinstance(event, Submit):
            yield from all_events(event.meanwhile)
