"""Events of a program as lines of C: each a call of the runtime or of a function of its layer. Nothing is decided."""

from __future__ import annotations

from collections.abc import Iterator, Mapping

from tilewright.codegen.index_text import Indices
from tilewright.errors import InternalError
from tilewright.planner.program.program import (
    COPY,
    LOAD,
    OWN,
    REQUEST,
    RUN,
    STORE,
    Barrier,
    Call,
    Each,
    Event,
    Events,
    FinishLayer,
    For,
    Group,
    Moved,
    Prefetch,
    Serve,
    Stage,
    Submit,
    Wait,
    WaitJob,
    WaitLayer,
    WaitPrefetch,
    WaitStaged,
    all_events,
)
from tilewright.records import dataclass

NEXT, LAYER = "next", "layer"
"""What prefetches for later layers, and the number of the layer: names beside those of the layer's functions."""
DUE = {LOAD: "loading", STORE: "storing"}
"""Where the runtime keeps groups that begin while a tile is submitted."""


@dataclass(frozen=True)
class EventText:
    names: Mapping[str, str]
    """What the functions of the layer and its number are called here."""
    indices: Indices

    def lines(self, events: Events) -> list[str]:
        return [f"  {line}" for event in events for line in self._one(event)]

    def declared(self, events: Events) -> list[str]:
        """Variables for tags."""
        groups = {event.tag: event.by for event in all_events(events) if isinstance(event, Group | Wait) and event.tag}
        none = {OWN: "TW_DMA_NONE", REQUEST: "TW_REQUEST_NONE"}
        jobs = sorted({event.tag for event in all_events(events) if isinstance(event, Submit) and event.tag})
        lines = [f"  uint32_t {tag} = {none[by]};" for tag, by in groups.items()]
        return [*lines, *(f"  uint32_t {tag}[2];" for tag in jobs)]

    def _one(self, event: Event) -> Iterator[str]:
        if isinstance(event, For):
            yield from self._loop(event)
        elif isinstance(event, Each):
            yield "const int core = tw_core();"
            yield "tw_each_begin();"
            yield from (line[2:] for line in self.lines(event.events))
            yield "tw_each_end();"
        elif isinstance(event, Group):
            yield from self._group(event)
        elif isinstance(event, Submit):
            yield from self._submit(event)
        elif isinstance(event, Prefetch):
            yield from self._prefetch(event)
        elif isinstance(event, Call):
            yield self._guarded(self.indices.condition(event.tile), self._called(event))
        else:
            yield self._simple(event)

    def _simple(self, event: Event) -> str:
        if isinstance(event, Wait):
            wait = "tw_request_wait" if event.by == REQUEST else "tw_finish"
            return f"{event.tag} = {wait}({event.tag});"
        if isinstance(event, WaitJob):
            return f"tw_accelerator_wait({self._job(event)});"
        if isinstance(event, WaitStaged):
            return " ".join(f"tw_{memory.lower()}_stage_wait();" for memory in event.memories)
        found = {
            Barrier: "tw_barrier_all();", Serve: "tw_serve_requests();",
            WaitPrefetch: f"tw_wait_prefetch({self.names[LAYER]});",
        }.get(type(event), "")  # fmt: skip
        if isinstance(event, Stage | WaitLayer | FinishLayer):
            number = event.layer
            found = {
                Stage: f"layer_{number}_stage();", WaitLayer: f"tw_wait_layer({number});",
                FinishLayer: f"layer_{number}_finish(0, 0);",
            }[type(event)]  # fmt: skip
        if not found:
            raise InternalError("program", f"{event} has no C")
        return found

    def _loop(self, loop: For) -> Iterator[str]:
        text, inner = self.indices.text, EventText(self.names, self.indices.inside(loop))
        first, counted = f"int {loop.variable} = {text(loop.first)}", ""
        if loop.counter:
            first, counted = f"{first}, {loop.counter} = 0", f", {loop.counter}++"
        step = text(loop.step)
        following = f"{loop.variable}++" if step == "1" else f"{loop.variable} += {step}"
        yield "TW_ROLLED"
        yield f"for ({first}; {loop.variable} < {text(loop.stop)}; {following}{counted}) {{"
        yield from inner.lines(loop.events)
        yield "}"

    def _guarded(self, condition: str, line: str) -> str:
        return f"if ({condition}) {line}" if condition else line

    def _called(self, event: Call | Moved) -> str:
        return f"{self.names[event.what]}({self.indices.text(event.tile)}, {self.indices.text(event.turn)});"

    # ---- transfers --------------------------------------------------------------------------------------------------

    def _group(self, group: Group) -> Iterator[str]:
        conditions = [self.indices.condition(move.tile) for move in group.moves]
        if group.by == COPY:
            yield from map(self._guarded, conditions, map(self._called, group.moves))
        elif len(group.moves) == 1:
            (move,), begin = group.moves, "tw_request" if group.by == REQUEST else "tw_begin"
            tile, turn = self.indices.text(move.tile), self.indices.text(move.turn)
            yield self._guarded(conditions[0], f"{group.tag} = {begin}({self.names[move.what]}, {tile}, {turn});")
        else:
            some = " || ".join(conditions) if all(conditions) else ""
            yield self._guarded(some, f"{group.tag} = tw_dma_begin();")
            yield from map(self._guarded, conditions, map(self._called, group.moves))

    def _prefetch(self, event: Prefetch) -> Iterator[str]:
        condition = self.indices.equals(event.tile)
        if NEXT in self.names:
            yield self._guarded(condition, f"{self.names[NEXT]}();")
        else:
            yield from (f"layer_{number}_prefetch();" for number in event.layers)

    # ---- accelerators -----------------------------------------------------------------------------------------------

    def _job(self, event: Submit | WaitJob) -> str:
        index = self.indices.text(event.tile)
        return f"{event.tag}[{int(index) & 1 if index.isdigit() else f'tw_odd({index})'}]"

    def _submit(self, event: Submit) -> Iterator[str]:
        if event.meets:
            yield "tw_accelerator_barrier_first();"
        tile = self.indices.text(event.tile)
        if event.meanwhile:
            yield from self._submit_meanwhile(event)
            return
        yield f"{self.names[RUN]}({tile}, {tile});"
        yield f"{self._job(event)} = tw_accelerator_mark();" if event.tag else f"tw_keep_job({self.names[LAYER]});"

    def _submit_meanwhile(self, event: Submit) -> Iterator[str]:
        wait, *begun = event.meanwhile
        groups = [one for one in begun if isinstance(one, Group) and len(one.moves) == 1]
        by_kind = {group.moves[0].what: group for group in groups}
        if not isinstance(wait, WaitJob) or len(by_kind) < len(begun) or by_kind.keys() - {LOAD, STORE}:
            raise InternalError("program", f"{begun} cannot begin meanwhile")
        tile, given = self.indices.text(event.tile), [self._job(wait)]
        for what in (LOAD, STORE):
            given += self._due(by_kind[what].moves[0]) if what in by_kind else ["NULL", "0"]
        following = "NULL"
        if event.prefetch is not None:
            following = _chosen(self.indices.equals(event.prefetch.tile), self.names[NEXT])
        yield f"{self._job(event)} = tw_submit_meanwhile({', '.join([self.names[RUN], tile, *given, following])});"
        yield from (f"{group.tag} = tw_due.{DUE[what]};" for what, group in by_kind.items())

    def _due(self, move: Moved) -> list[str]:
        return [_chosen(self.indices.condition(move.tile), self.names[move.what]), self.indices.text(move.tile)]


def _chosen(condition: str, name: str) -> str:
    return f"{condition} ? {name} : NULL" if condition else name
