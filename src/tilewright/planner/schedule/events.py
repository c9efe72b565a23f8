"""A schedule tile by tile: what each agent does between two barriers. Numpy can execute it, a validator checks it.

Agents are the core that moves data (`dma`) and those that compute: all together (`cores`) or one by one (`core 3`).
All of them meet at every barrier, so that a schedule is a sequence of epochs, in each of which the order is fixed only
among the events of one agent.
"""

from __future__ import annotations

from tilewright.ir.affine import Span
from tilewright.ir.types import BYTES, Shape, TensorType
from tilewright.planner.home import ARENA, Home
from tilewright.records import dataclass
from tilewright.tiling.tiles import Inside


def core(number: int) -> str:
    return f"core {number}"


Spans = tuple[Span, ...]


@dataclass(frozen=True, slots=True)
class Region:
    """Bytes that an event reads or writes, and what they hold."""

    memory: str
    """The name of a memory, or whose bytes they are: each constant, input and output has a space of its own."""
    start: int
    stop: int
    """Behind the last byte; not all between need be part of it."""
    tensor: str
    """The tensor that the bytes hold a part of; what else they hold where `role` says so."""
    spans: Spans
    """Which part of the tensor."""
    owner: str = ""
    """The tensor whose home it is a window of; empty for a buffer, whose bytes are all part of it."""
    frame: Shape = ()
    """The shape that the window's box is in."""
    box: Spans = ()
    """The window in its home."""
    order: tuple[int, ...] = ()
    """The axes of the tensor as frame and box have them; empty where that is their own order."""
    role: str = ""
    """`(params)` or `(scratch)` where they are no tensor's; tensors of a model may have such names too."""
    base: int = 0
    """Of a window: the first byte of its frame."""


@dataclass(frozen=True, slots=True)
class Transfer:
    agent: str
    link: str
    group: int
    layer: int
    tile: int
    source: Region
    target: Region

    @property
    def kind(self) -> str:
        return "store" if self.target.owner else "load"


@dataclass(frozen=True, slots=True)
class AwaitGroup:
    """For all transfers of a group."""

    agent: str
    group: int


@dataclass(frozen=True, slots=True)
class TileCall:
    """A kernel on a tile: `run` by cores, `gather` by cores for an accelerator, `submit` to it, or `finish` by cores
    what that has left."""

    agent: str
    kind: str
    layer: int
    tile: int
    reads: tuple[Region, ...]
    writes: tuple[Region, ...]
    job: int = -1
    """Of what is submitted."""


@dataclass(frozen=True, slots=True)
class AwaitJob:
    """For an accelerator to end a job and all before it."""

    agent: str
    job: int


@dataclass(frozen=True, slots=True)
class Begin:
    """Opens a group of transfers."""

    agent: str
    group: int
    link: str
    asks: bool = False
    """Somebody else starts them, who serves until the next barrier."""


@dataclass(frozen=True, slots=True)
class ServeOthers:
    """Starts transfers for those that ask, until the next barrier."""

    agent: str


@dataclass(frozen=True, slots=True)
class Copy:
    """Of bytes, which are there when it is over."""

    agent: str
    source: Region
    target: Region


TileEvent = Begin | Transfer | AwaitGroup | TileCall | AwaitJob | ServeOthers | Copy
Epoch = tuple[TileEvent, ...]
"""What happens between two barriers; in program order for each agent."""


def window_region(home: Home, tensor: str, kind: TensorType, place: Inside | None, spans: Spans) -> Region:
    """A part of a tensor where it lives; `place` says where it lies within a larger one."""
    frame, box = kind.shape, spans
    if place is not None:
        frame = place.shape
        first, last = spans[place.axis]
        moved = (first + place.start, last + place.start)
        box = (*spans[: place.axis], moved, *spans[place.axis + 1 :])
        box = tuple(box[axis] for axis in place.order) or box
    start, stop = _bytes(box, frame, BYTES[kind.dtype])
    memory, base = (home.memory, home.offset) if home.kind == ARENA else (f"{home.kind} {home.owner}", 0)
    order = () if place is None else place.order
    return Region(memory, base + start, base + stop, tensor, spans, home.owner, frame, box, order, base=base)


def _bytes(box: Spans, frame: Shape, element: int) -> Span:
    """From the first byte of a window to the one behind its last."""
    if any(first >= last for first, last in box):
        return 0, 0
    start = stop = 0
    stride = element
    for (first, last), size in zip(reversed(box), reversed(frame), strict=True):
        start += first * stride
        stop += (last - 1) * stride
        stride *= size
    return start, stop + element


def text(event: TileEvent, kernel: str = "") -> str:
    """One line; `kernel` is what a call calls."""
    if isinstance(event, Begin):
        return f"{event.agent:<8} begin   {event.link} group {event.group}"
    if isinstance(event, AwaitGroup):
        return f"{event.agent:<8} wait    group {event.group}"
    if isinstance(event, AwaitJob):
        return f"{event.agent:<8} wait    job {event.job}"
    if isinstance(event, ServeOthers):
        return f"{event.agent:<8} serve   transfers that others ask for"
    if isinstance(event, Copy):
        return f"{event.agent:<8} copy    {_shown(event.source)} -> {_shown(event.target)}"
    if isinstance(event, Transfer):
        where = f"layer {event.layer} tile {event.tile}"
        moved = f"{_shown(event.source)} -> {_shown(event.target)}"
        return f"{event.agent:<8} {event.kind:<7} {where}: {moved}, {event.link} group {event.group}"
    operands = ", ".join(map(_shown, event.reads)) + " -> " + ", ".join(map(_shown, event.writes))
    job = f", job {event.job}" if event.job >= 0 else ""
    called = f" {kernel}" if kernel else ""
    return f"{event.agent:<8} {event.kind:<7}{called} layer {event.layer} tile {event.tile}: {operands}{job}"


def _shown(region: Region) -> str:
    part = "x".join(f"{first}:{last}" for first, last in region.spans)
    return f"{region.tensor}[{part}] at {region.memory}+{region.start}..{region.stop}"
