"""How an accelerator computes the tiles of a layer, as trees of events: the DMA core drives it and moves data, cores
gather what it reads and finish what it has left."""

from __future__ import annotations

from tilewright.ir.affine import Affine
from tilewright.planner.program.program import (
    CORES,
    DMA,
    FINISH,
    GATHER,
    PERIOD,
    TILES,
    ZERO,
    Call,
    Events,
    For,
    Submit,
    WaitJob,
    at,
)
from tilewright.planner.schedule.core_loops import Trees
from tilewright.planner.schedule.event_pieces import JOB, LAST_TILE, ONE, TILE, Pieces


def offload(p: Pieces) -> Trees:
    """The layer before may still write what this one reads, or use its buffers: all meet first."""
    layer = p.layer
    if layer.is_once and layer.option.kernel.can_preprogram:
        return _once(p)
    if p.turn.in_flight:
        begin = (*p.meet(), *p.load(ZERO), *p.prefetched, *p.loaded, *p.meet(layer.has_prologue))
        return {
            DMA: (*begin, Submit(ZERO, "", layer.has_prologue), *p.prefetch()),
            CORES: (*p.meet(), *_gathered(p, ZERO)),
        }
    if layer.is_queued:
        return {DMA: _queued(p), CORES: p.meet()}
    drive = _single if layer.buffers == 1 or layer.tiles == 1 else _early if layer.submits_early else _double
    return {DMA: (*p.meet(), *(_dma_bound if p.turn.dma_bound else drive)(p)), CORES: (*p.meet(), *_beside(p))}


def _once(p: Pieces) -> Trees:
    """One tile without transfers: its job is described while cores are still in the layer before."""
    submit = (*p.prefetched, Submit(ZERO, "" if p.turn.in_flight else JOB, meets=True), *p.prefetch())
    if p.turn.in_flight:
        return {DMA: submit, CORES: p.meet()}
    finish = (*p.meet(), Call(FINISH, ZERO, ZERO)) if p.layer.has_epilogue else ()
    return {DMA: (*submit, WaitJob(JOB, ZERO), *p.meet(p.layer.has_epilogue)), CORES: (*p.meet(), *finish)}


def _first(p: Pieces) -> Events:
    return *p.load(ZERO), *p.prefetched, *p.loaded


def _single(p: Pieces) -> Events:
    """One buffer of everything, or one tile: nothing goes on meanwhile."""
    turn = (
        *p.computed(TILE), *p.store(TILE), *p.stored(), *p.load(TILE + 1), *p.loaded, *_submit_next(p),
    )  # fmt: skip
    end = (*p.computed(LAST_TILE), *p.store(LAST_TILE), *p.stored())
    many = p.layer.tiles > 1
    return *_first(p), *_submit_first(p), *_turns(turn if many else ()), *end


def _double(p: Pieces) -> Events:
    """The next tile is queued behind the one at work; transfers go on meanwhile."""
    turn = (
        *p.loaded, *p.stored(), *_submit_next(p), *p.computed(TILE), *p.load(TILE + 2), *p.store(TILE),
    )  # fmt: skip
    end = (*p.computed(LAST_TILE), *p.stored(), *p.store(LAST_TILE), *p.stored())
    return *_first(p), *_submit_first(p), *p.load(ONE), *_turns(turn), *end


def _early(p: Pieces) -> Events:
    """The next tile is queued before its loads are there: only cores read them."""
    turn = (
        *_submit_next(p), *p.computed(TILE), *p.loaded, *p.load(TILE + 2), *p.stored(), *p.store(TILE),
    )  # fmt: skip
    end = (*p.computed(LAST_TILE), *p.loaded, *p.stored(), *p.store(LAST_TILE), *p.stored())
    return *_first(p), *_submit_first(p), *p.load(ONE), *_turns(turn), *end


def _dma_bound(p: Pieces) -> Events:
    """Tiles of a layer whose transfers take longer than the accelerator: what is loaded for the tile after the next is
    in flight before the next is submitted."""
    moved, many = (*p.loaded, *p.stored()), p.layer.tiles > 1
    turn = (
        *moved, *p.computed(TILE), *p.load(TILE + 2), *_submit_next(p), *p.store(TILE),
    )  # fmt: skip
    end = (*moved, *p.computed(LAST_TILE), *p.store(LAST_TILE), *p.stored())
    ahead = p.load(ONE) if many else ()
    return *_first(p), *ahead, *_submit_first(p), *_turns(turn if many else ()), *end


def _submit_first(p: Pieces) -> Events:
    return *p.submit(ZERO), *(p.prefetch() if p.layer.tiles == 1 else ())


def _submit_next(p: Pieces) -> Events:
    return *p.submit(TILE + 1), *p.prefetch_with_last(TILE + 1)


def _turns(turn: Events) -> Events:
    return (For("tile", ZERO, LAST_TILE, turn),) if turn else ()


# ---- jobs that end in order -----------------------------------------------------------------------------------------


def _queued(p: Pieces) -> Events:
    """An accelerator that takes more jobs for a tile than it has room for: transfers that the end of the tile before
    allows begin while jobs are given. What has a single buffer comes when all tiles before have ended."""
    first = (*p.meet(), *p.renew(ZERO), *p.load(ZERO), *p.prefetched, *p.renewed, *p.loaded)
    many = p.layer.tiles > 1
    begin = (*first, *_submit_first(p), *(p.load(ONE) if many else ()))
    end = (*p.stored(), WaitJob(JOB, LAST_TILE), *p.store(LAST_TILE), *p.stored())
    part, inside = at("part"), at("inside")
    if not many:
        return *begin, *end
    if not p.layer.renewals:
        return *begin, For("tile", ONE, at(TILES), _given(p, TILE)), *end
    later = For("inside", ONE, at(PERIOD), _given(p, part + inside))
    renewed = (
        *p.loaded,
        *p.stored(),
        WaitJob(JOB, part - 1),
        *p.renew(part),
        *p.renewed,
        *_given(p, part, waits=False),
    )
    others = For("part", at(PERIOD), at(TILES), (*renewed, later), at(PERIOD))
    return *begin, For("inside", ONE, at(PERIOD), _given(p, inside)), others, *end


def _given(p: Pieces, tile: Affine, waits: bool = True) -> Events:
    """The jobs of a tile; what the end of the one before allows meanwhile."""
    meanwhile = (WaitJob(JOB, tile - 1), *p.load(tile + 1), *p.store(tile - 1))
    prefetch = next(iter(p.prefetch_with_last(tile)), None)
    return *((*p.loaded, *p.stored()) if waits else ()), Submit(tile, JOB, False, meanwhile, prefetch)


# ---- the cores ------------------------------------------------------------------------------------------------------


def _beside(p: Pieces) -> Events:
    layer = p.layer
    if not layer.has_prologue and not layer.has_epilogue:
        return ()
    gather, finish = _gathered(p, TILE + 1), _finished(p, TILE)
    turn = (*gather, *finish) if layer.buffers > 1 else (*finish, *gather)
    return *_gathered(p, ZERO), *_turns(turn if layer.tiles > 1 else ()), *_finished(p, LAST_TILE)


def _gathered(p: Pieces, tile: Affine) -> Events:
    return p.beside(GATHER, tile, p.layer.has_prologue)


def _finished(p: Pieces, tile: Affine) -> Events:
    return p.beside(FINISH, tile, p.layer.has_epilogue)
