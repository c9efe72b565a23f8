"""Why each node is computed where it is: what every engine would take, what was chosen, and why not the others."""

from __future__ import annotations

from dataclasses import asdict
from typing import Any

from tilewright.planner.placed import Placed
from tilewright.planner.schedule.layer_schedule import LayerSchedule
from tilewright.planner.schedule.schedule import Schedule
from tilewright.records import dataclass
from tilewright.target.mapping import Mapped, by_full_names
from tilewright.target.runner import CYCLES, NANOSECONDS


@dataclass(frozen=True)
class Candidate:
    """An engine and a node."""

    engine: str
    kernel: str
    """The fastest that takes it; empty where none does."""
    cycles: int | None
    """Predicted, the node's tensors being wherever they suit the engine."""
    refusal: str
    """Why it does not take it."""


@dataclass(frozen=True)
class Explanation:
    node: str
    operator: str
    engine: str
    kernel: str
    cycles: int | None
    """Predicted, with the tensors where they are."""
    why: str
    candidates: tuple[Candidate, ...]
    short_name: str = ""
    """As tables show it."""
    unit: str = CYCLES
    """Of all times: those of a computer are nanoseconds."""

    def as_dict(self) -> dict[str, Any]:
        return asdict(self)


def explain(mapped: Mapped, schedule: Schedule) -> list[Explanation]:
    """Of every node that is computed, in order."""
    return [_explained(mapped, schedule.placed, layer) for layer in schedule.layers]


def _explained(mapped: Mapped, placed: Placed, layer: LayerSchedule) -> Explanation:
    key = layer.node.key
    found = _candidates(mapped, placed, key)
    unit = "ns" if mapped.target.runner.unit == NANOSECONDS else CYCLES
    why = _copied(mapped, layer) or _chosen(placed, layer, found, unit)
    operator, cycles = mapped.graph.producers[key].op.kind, placed.layer_cycles.get(key)
    short = mapped.graph.short_names.get(layer.node.name, layer.node.name)
    return Explanation(layer.node.name, operator, layer.engine, layer.kernel.stem, cycles, why, found, short, unit)


def _copied(mapped: Mapped, layer: LayerSchedule) -> str:
    """Of a copy between memories."""
    for transfers in (engine.transfers for engine in mapped.target.engines if engine.name == layer.engine):
        if transfers and layer.kernel in (transfers.into, transfers.out_of):
            return f"a copy {'to' if layer.kernel is transfers.into else 'from'} the memory of {layer.engine}"
    return ""


def _chosen(placed: Placed, layer: LayerSchedule, found: tuple[Candidate, ...], unit: str) -> str:
    if layer.node.name in by_full_names(placed.mapped.graph, placed.pinned):
        return "placed there by --place"
    if placed.weighs_engines:
        return _why(placed, layer, found, unit)
    names = [engine.name for engine in placed.mapped.target.engines if engine.transfers]
    if names and sum(candidate.cycles is not None for candidate in found) > 1:
        every = ",".join(sorted(engine.name for engine in placed.mapped.target.engines))
        return f"the first engine that supports it; --engines {every} weighs them"
    return _faster(layer.engine, found, unit)


def _candidates(mapped: Mapped, placed: Placed, key: str) -> tuple[Candidate, ...]:
    estimates = {estimate.engine: estimate for estimate in placed.estimates.get(key, ())}
    found: dict[str, Candidate] = {}
    for choice in (mapped.choices[key], *mapped.alternatives.get(key, ())):
        engine = choice.engine.name
        estimate = estimates.get(engine)
        kernel, cycles = (estimate.kernel, estimate.cycles) if estimate else (choice.kernel.stem, None)
        found.setdefault(engine, Candidate(engine, kernel, cycles, ""))
    for refused in mapped.refusals.get(key, ()):
        found.setdefault(refused.engine, Candidate(refused.engine, "", None, refused.reason))
    names = [engine.name for engine in mapped.target.engines]
    for one in mapped.target.external_kernels:
        kind = mapped.graph.producers[key].op.kind
        reason = one.reasons.get(kind, f"it has no kernel for {kind}")
        found.setdefault(one.name, Candidate(one.name, "", None, reason))
    return tuple(sorted(found.values(), key=lambda candidate: names.index(candidate.engine)))


def _why(placed: Placed, layer: LayerSchedule, found: tuple[Candidate, ...], unit: str) -> str:
    engine = layer.engine
    able = {candidate.engine: candidate.cycles for candidate in found if candidate.cycles is not None}
    if len(able) < 2:
        return "no other engine supports it" if len(placed.mapped.target.engines) > 1 else "there is no other engine"
    fastest = min(able, key=lambda name: able[name])
    if fastest != engine:
        more = able[engine] - able[fastest]
        return f"{fastest} is {more:,} {unit} faster alone, but not together with the other layers"
    return _faster(engine, found, unit)


def _faster(engine: str, found: tuple[Candidate, ...], unit: str) -> str:
    able = {candidate.engine: candidate.cycles for candidate in found if candidate.cycles is not None}
    if len(able) < 2:
        return "the first engine that supports it"
    own = able[engine]
    other = min((name for name in able if name != engine), key=lambda name: able[name])
    return f"{able[other] - own:,} {unit} faster than {other}"
