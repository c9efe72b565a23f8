"""Events of a layer that tile loops are put together from; nothing where the layer has none of the kind."""

from __future__ import annotations

from tilewright.ir.affine import Affine
from tilewright.planner.program.program import (
    LOAD,
    RENEW,
    STORE,
    TILES,
    Barrier,
    Call,
    Events,
    Group,
    Moved,
    Prefetch,
    Submit,
    Wait,
    WaitJob,
    WaitPrefetch,
    at,
)
from tilewright.planner.schedule.layer_schedule import LayerSchedule
from tilewright.records import dataclass

LOADING, STORING, LAST, RENEWING, JOB = "loading", "storing", "last", "renewing", "job"
"""Tags."""
TILE = at("tile")
ONE = Affine(offset=1)
LAST_TILE = at(TILES) - 1
MEET = Barrier()


@dataclass(frozen=True)
class Turn:
    """What a layer's turn begins with, and what is begun in it for others."""

    waits_for: tuple[int, ...] = ()
    """Layers that an accelerator must have ended before this one begins."""
    stages_first: bool = False
    """Its constants are staged when its turn comes; otherwise while the layer before is at work."""
    stages_next: int | None = None
    """The layer whose constants are staged meanwhile."""
    prefetches_first: bool = False
    """What it prefetches comes when its turn comes."""
    prefetches: tuple[int, ...] = ()
    """The layers that are prefetched for while it is at work."""
    in_flight: bool = False
    """An accelerator still works on it when the next layer begins."""
    dma_bound: bool = False
    """An accelerator waits for the transfers of its tiles."""


@dataclass(frozen=True)
class Pieces:
    layer: LayerSchedule
    turn: Turn
    barrier: Barrier = MEET

    @property
    def loads(self) -> bool:
        return bool(self.layer.tile_loads)

    @property
    def stores(self) -> bool:
        return bool(self.layer.stores)

    def load(self, tile: Affine) -> Events:
        return (Group(LOADING, (Moved(LOAD, tile, tile),)),) if self.loads else ()

    def store(self, tile: Affine, tag: str = STORING) -> Events:
        return (Group(tag, (Moved(STORE, tile, tile),)),) if self.stores else ()

    def renew(self, tile: Affine) -> Events:
        return (Group(RENEWING, (Moved(RENEW, tile, tile),)),) if self.layer.renewals else ()

    @property
    def loaded(self) -> Events:
        return (Wait(LOADING),) if self.loads else ()

    def stored(self, tag: str = STORING) -> Events:
        return (Wait(tag),) if self.stores else ()

    @property
    def renewed(self) -> Events:
        return (Wait(RENEWING),) if self.layer.renewals else ()

    @property
    def prefetched(self) -> Events:
        return (WaitPrefetch(),) if self.layer.prefetch is not None else ()

    def prefetch(self) -> Events:
        """For later layers."""
        return (Prefetch(self.turn.prefetches),) if self.turn.prefetches else ()

    def prefetch_with_last(self, tile: Affine) -> tuple[Prefetch, ...]:
        """For later layers, in the turn in which a tile is the last one."""
        behind = tile + 1 + at(TILES) * -1
        return (Prefetch(self.turn.prefetches, behind),) if self.turn.prefetches else ()

    def meet(self, needed: bool = True) -> Events:
        return (self.barrier,) * needed

    # ---- accelerators ----------------------------------------------------------------------------------------------

    def submit(self, tile: Affine) -> Events:
        gathers = self.layer.has_prologue
        return *self.meet(gathers), Submit(tile, JOB, gathers)

    def computed(self, tile: Affine) -> Events:
        """The accelerator has ended a tile, and cores have finished it."""
        return WaitJob(JOB, tile), *self.meet(self.layer.has_epilogue), *self.meet(self.layer.has_epilogue)

    def beside(self, what: str, tile: Affine, needed: bool) -> Events:
        """What cores do for an accelerator."""
        return (self.barrier, Call(what, tile, tile), self.barrier) if needed else ()
