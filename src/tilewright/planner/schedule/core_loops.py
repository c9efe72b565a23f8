"""How cores compute the tiles of a layer, as trees of events: together or each its own; and who moves data."""

from __future__ import annotations

from tilewright.ir.affine import Affine
from tilewright.planner.program.program import (
    COPY,
    CORE,
    CORES,
    DMA,
    LOAD,
    OWN,
    REQUEST,
    RUN,
    STORE,
    TEAM,
    TILES,
    ZERO,
    Barrier,
    Call,
    Each,
    Events,
    For,
    Group,
    Moved,
    Serve,
    Submit,
    Wait,
    at,
)
from tilewright.planner.schedule.event_pieces import LAST, LAST_TILE, LOADING, STORING, TILE, Pieces

Trees = dict[str, Events]
"""Agent -> what it does in a layer."""

TURN, STEP = at("turn"), at(TEAM)
ALONE = Barrier(frozenset({CORES}))
"""All cores meet where no core is set aside."""


# ---- together -------------------------------------------------------------------------------------------------------


def cooperative(p: Pieces) -> Trees:
    """All cores on one tile at a time; with two buffers the DMA core moves others meanwhile."""
    if p.layer.is_once:
        return {DMA: (*p.prefetched, *p.meet(), *p.prefetch()), CORES: (*p.meet(), Call(RUN, ZERO, ZERO))}
    return {DMA: _feed(p), CORES: _compute(p)}


def _feed(p: Pieces) -> Events:
    # The buffers of this layer may lie where the layer before still works.
    begin = (*p.meet(p.loads), *p.load(ZERO), *p.prefetched)
    end = (*p.meet(), *p.store(LAST_TILE, LAST)) if p.stores else ()
    if p.layer.buffers > 1 and p.layer.tiles > 1:
        turn = (*p.loaded, *p.stored(), *p.meet(), *p.store(TILE - 1), *p.load(TILE + 1))
        return *begin, _tiles(turn), *p.prefetch(), *end, *p.stored(), *p.stored(LAST)
    turn = (*p.loaded, *p.meet(), *p.meet(), *p.store(TILE), *p.stored(), *p.load(TILE + 1))
    return *begin, *_but_last(p, turn), *p.loaded, *p.meet(), *p.prefetch(), *end, *p.stored(LAST)


def _compute(p: Pieces) -> Events:
    run = Call(RUN, TILE, TILE)
    last = (*p.meet(), Call(RUN, LAST_TILE, LAST_TILE), *p.meet(p.stores))
    if p.layer.buffers > 1 and p.layer.tiles > 1:
        return *p.meet(p.loads), _tiles((*p.meet(), run)), *p.meet(p.stores)
    return *p.meet(p.loads), *_but_last(p, (*p.meet(), run, *p.meet())), *last


def cooperative_alone(p: Pieces) -> Trees:
    """Cooperative kernels where no core is set aside: all move, then compute. What is moved is there at a barrier."""
    run = Call(RUN, TILE, TILE)
    if p.layer.is_once:
        return {CORES: (*p.prefetched, *p.meet(), *p.prefetch(), Call(RUN, ZERO, ZERO))}
    begin = (*p.meet(p.loads), *p.load(ZERO), *p.prefetched)
    end = (*p.meet(), *p.store(LAST_TILE, LAST)) if p.stores else ()
    if p.layer.buffers > 1 and p.layer.tiles > 1:
        moved = (*p.loaded, *p.stored(), *p.meet(), *p.store(TILE - 1), *p.load(TILE + 1))
        turn = (*moved, *p.prefetch_with_last(TILE), run)
        return {CORES: (*begin, _tiles(turn), *end, *p.stored(), *p.stored(LAST))}
    # The second barrier: each core has stored its part, from where others load.
    store = (*p.store(TILE), *p.stored(), *p.meet())
    turn = (*p.loaded, *p.meet(), run, *p.meet(), *store, *p.load(TILE + 1))
    last = (*p.loaded, *p.meet(), *p.prefetch(), Call(RUN, LAST_TILE, LAST_TILE))
    return {CORES: (*begin, *_but_last(p, turn), *last, *end, *p.stored(LAST))}


def _tiles(turn: Events) -> For:
    return For("tile", ZERO, at(TILES), turn)


def _but_last(p: Pieces, turn: Events) -> Events:
    """A turn for every tile but the last."""
    return (For("tile", ZERO, LAST_TILE, turn),) if p.layer.tiles > 1 else ()


# ---- each its own ---------------------------------------------------------------------------------------------------


def per_core_ports(p: Pieces) -> Trees:
    """Each core moves its tiles itself, by a port of its own. Groups are few: a core has one at most, so that none
    waits for a group until another has computed a tile."""
    run = Call(RUN, TILE, TURN)
    behind = p.layer.buffers > 1
    moved = p.loads or p.stores
    wait = (Wait(LOADING),) * moved
    following = [Moved(LOAD, TILE + STEP, TURN + 1)] * p.loads
    if behind:
        both = _group((*following, *[Moved(STORE, TILE + STEP * -1, TURN - 1)] * p.stores))
        turn, stop = (*wait, *both, run), at(TILES) + STEP if p.stores else at(TILES)
    else:
        both = _group((*following, *[Moved(STORE, TILE, TURN)] * p.stores))
        turn, stop = (*wait, run, *both), at(TILES)
    return {DMA: _aside(p), CORES: (*p.meet(), Each((*_first_load(p), _own(turn, stop), *wait)), *p.meet())}


def per_core_requests(p: Pieces) -> Trees:
    """Only the DMA core can start transfers: cores ask it."""
    run = Call(RUN, TILE, TURN)
    double = p.layer.buffers > 1
    loaded, stored = (Wait(LOADING, REQUEST),) * p.loads, (Wait(STORING, REQUEST),) * p.stores
    load = _group([Moved(LOAD, TILE + STEP, TURN + 1)] * p.loads, LOADING, REQUEST)
    store = _group([Moved(STORE, TILE, TURN)] * p.stores, STORING, REQUEST)
    turn = (*loaded, *load, run, *stored, *store) if double else (*loaded, *stored, run, *store, *load)
    first = _first_load(p, REQUEST)
    own = Each((*first, _own(turn, at(TILES)), *stored))
    return {DMA: _aside(p, Serve()), CORES: (*p.meet(), own, *p.meet())}


def per_core_copies(p: Pieces) -> Trees:
    """Each core copies its tiles itself: nothing is in flight when it goes on."""
    load = _group([Moved(LOAD, TILE, TURN)] * p.loads, "", COPY)
    store = _group([Moved(STORE, TILE, TURN)] * p.stores, "", COPY)
    own = Each((_own((*load, Call(RUN, TILE, TURN), *store), at(TILES)),))
    return {CORES: (*p.prefetched, *p.meet(), *p.prefetch(), own, *p.meet())}


def _aside(p: Pieces, *meanwhile: Serve) -> Events:
    """The DMA core, while cores have tiles of their own."""
    return *p.prefetched, *p.meet(), *p.prefetch(), *meanwhile, *p.meet()


def _first_load(p: Pieces, by: str = OWN) -> Events:
    return _group([Moved(LOAD, at(CORE), ZERO)] * p.loads, LOADING, by)


def _group(moves: tuple[Moved, ...] | list[Moved], tag: str = LOADING, by: str = OWN) -> Events:
    return (Group(tag, tuple(moves), by),) if moves else ()


def _own(turn: Events, stop: Affine) -> For:
    """A core's own tiles."""
    return For("tile", at(CORE), stop, turn, STEP, "turn")


# ---- neither --------------------------------------------------------------------------------------------------------


def in_place(p: Pieces) -> Trees:
    """One core computes where the operands live."""
    return {DMA: _aside(p), CORES: (*p.meet(), _first_core(), *p.meet())}


def in_place_requests(p: Pieces) -> Trees:
    """One core computes, on a machine whose cores ask for transfers: the DMA core sees them leave, also where they have
    asked for nothing."""
    return {DMA: _aside(p, Serve()), CORES: (*p.meet(), _first_core(), *p.meet())}


def in_place_alone(p: Pieces) -> Trees:
    return {CORES: (*p.prefetched, *p.meet(), *p.prefetch(), _first_core(), *p.meet())}


def _first_core() -> Each:
    """The first core has the only tile; of several tiles each its own."""
    return Each((_own((Call(RUN, TILE, TURN),), at(TILES)),))


def dma_copy(p: Pieces) -> Trees:
    """Only a transfer, which was started as a prefetch. The layer before may still use the bytes of what comes next."""
    meets = bool(p.turn.prefetches)
    return {DMA: (*p.meet(meets), *p.prefetch(), *p.prefetched), CORES: p.meet(meets)}


def dma_copy_alone(p: Pieces) -> Trees:
    return {CORES: (*p.meet(bool(p.turn.prefetches)), *p.prefetch(), *p.prefetched)}


# ---- where nothing is moved -----------------------------------------------------------------------------------------

CALLED: Events = (Call(RUN, ZERO, ZERO),)
"""There is one core."""
SUBMITTED: Events = (Submit(ZERO),)
"""An accelerator computes, for which that core waits later."""
TOGETHER: Events = (*CALLED, ALONE)
"""Several call one kernel, which deals its work out to them."""
SIDE_BY_SIDE: Events = (_first_core(), ALONE)
"""Of several cores, each has parts of its own, as many as there are."""
