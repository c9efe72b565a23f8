"""What a network's rounding to the bit costs where the target has a quicker one: said, not silently paid."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from tilewright import pipeline, targets
from tilewright.analysis.costs import Analysis, analysis_of
from tilewright.ir.graph import Graph
from tilewright.ir.numerics_record import NumericsRecord
from tilewright.ir.requant import requants_of
from tilewright.passes.numerics.hardware import HARDWARE
from tilewright.target.settings import Settings

WORTH = 1.05
"""How many times the hardware's cycles are worth a note."""
SEARCH = 1.0
"""Seconds that the planner may look for the best of what is only mentioned."""


def with_rounding_note(found: Analysis, graph: Graph, settings: Settings) -> Analysis:
    """An analysis of a graph as imported, with a note where `--numerics hardware` would be quicker."""
    if not keeps_roundings(found.target, graph, settings):
        return found
    asked = replace(settings, numerics=HARDWARE, time_limit=min(settings.time_limit, SEARCH))
    other = analysis_of(pipeline.prediction(graph, found.target, asked))
    if not other.predicted_cycles or found.predicted_cycles < WORTH * other.predicted_cycles:
        return found
    return replace(found, notes=(*found.notes, note(found.predicted_cycles, other)))


def keeps_roundings(target: str, graph: Graph, settings: Settings) -> bool:
    """Whether nothing is said of the numerics, and the network has roundings that the target would have replaced if
    its format had left them open."""
    is_open = not settings.numerics and targets.find(target).numerics == HARDWARE
    return is_open and any(requant.has_exponents for node in graph.nodes for requant in requants_of(node.op))


def note(exact: int, other: Analysis) -> str:
    took = (
        f"the rounding to the bit takes {exact:,} cycles (predicted), --numerics {HARDWARE} {other.predicted_cycles:,}"
    )
    return f"{took}: {_changes(other.numerics_records)}"


def _changes(records: Sequence[NumericsRecord]) -> str:
    changed = [record for record in records if record.native and record.share > 0]
    most = max((record.expected for record in changed), default=0.0)
    layers = f"{len(changed)} of {len(records)} layers"
    return f"results of {layers} may differ by one step, of each at most {most:.1%} are expected to"
