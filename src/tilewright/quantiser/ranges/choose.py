"""The range of each tensor: of those that different methods propose, the one with the least error where it is read."""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np

from tilewright.ir.evaluate import evaluate_node
from tilewright.ir.graph import Graph, Node
from tilewright.ir.types import Array
from tilewright.ops.softmax import Softmax
from tilewright.passes.quantise.values import Format
from tilewright.quantiser.prepare.places import FIXED, Places
from tilewright.quantiser.ranges.observe import Spread
from tilewright.quantiser.ranges.ranges import Candidate, candidates, rounded
from tilewright.quantiser.samples.samples import Feeds
from tilewright.quantiser.samples.stream import Progress, Walk
from tilewright.records import dataclass

UNTRIED = ("min-max", "fixed")
"""Methods that need no measurement."""


@dataclass(frozen=True)
class Chosen:
    format: Format
    method: str


def chosen_formats(
    graph: Graph, places: Places, spread: Spread, dtypes: Mapping[str, str], fixed: Mapping[str, Format],
    feeds: list[Feeds], progress: Progress,
) -> dict[str, Chosen]:  # fmt: skip
    """For every quantised tensor; `dtypes` are those of the leaders, `fixed` the formats that leave no choice.

    Without samples to try on, all that was seen.
    """
    leaders = dict.fromkeys(places.leaders.values())
    proposals = {leader: _proposals(graph, leader, spread, dtypes[leader], fixed) for leader in leaders}
    if not feeds:
        proposals = {leader: [one for one in found if one.method in UNTRIED] for leader, found in proposals.items()}
    open_ones = {leader: found for leader, found in proposals.items() if len(found) > 1}
    errors = _Errors(graph, places, open_ones)
    for number, one in enumerate(feeds):
        progress("choosing ranges", number, len(feeds))
        errors.measure(one)
    best = {
        leader: found[errors.best(leader)] if leader in open_ones else found[0] for leader, found in proposals.items()
    }
    return {tensor: Chosen(best[leader].format, best[leader].method) for tensor, leader in places.leaders.items()}


def _proposals(graph: Graph, leader: str, spread: Spread, dtype: str, fixed: Mapping[str, Format]) -> list[Candidate]:
    node = graph.producers.get(leader)
    known = fixed.get(leader) or (FIXED.get(type(node.op)) if node is not None else None)
    if known is None or dtype != "int8":
        return candidates(spread.histograms[leader], dtype)
    # Shares of attention are far below 1 where there are many; what the network gives may always reach it.
    inside = node is not None and isinstance(node.op, Softmax) and leader not in {*graph.sinks, *fixed}
    return [Candidate("fixed", known), *(candidates(spread.histograms[leader], dtype) if inside else ())]


class _Errors:
    """Sums of relative squared errors of readers' results, for each tensor and candidate."""

    def __init__(self, graph: Graph, places: Places, proposals: Mapping[str, list[Candidate]]) -> None:
        self.graph, self.places, self.proposals = graph, places, proposals
        self.walk = Walk(graph)
        self.totals = {leader: np.zeros(len(found)) for leader, found in proposals.items()}
        self.moved = {tensor for tensor, leader in places.leaders.items() if tensor != leader}

    def best(self, leader: str) -> int:
        return int(np.argmin(self.totals[leader]))

    def measure(self, feeds: Feeds) -> None:
        values = self.walk.values(feeds)
        for node in self.graph.nodes:
            results = evaluate_node(self.graph, node, values)
            for position, tensor in enumerate(node.inputs):
                leader = self.places.leaders.get(tensor, "") if tensor else ""
                if leader in self.proposals and node.key not in self.moved and tensor not in node.inputs[:position]:
                    self._read(node, tensor, leader, values, results[0])
            values.update((name, value) for name, value in zip(node.outputs, results, strict=False) if name)
            for tensor in node.outputs:
                if tensor in self.proposals and tensor in self.graph.sinks:
                    self._given(tensor, values[tensor])
            self.walk.release(node, values)

    def _read(self, node: Node, tensor: str, leader: str, values: Mapping[str, Array], result: Array) -> None:
        if result.dtype != np.float32:
            return
        size = float(np.sum(np.square(result, dtype=np.float64))) or 1.0
        for at, candidate in enumerate(self.proposals[leader]):
            changed = {**values, tensor: rounded(values[tensor], candidate.format)}
            wrong = evaluate_node(self.graph, node, changed)[0] - result
            self.totals[leader][at] += float(np.sum(np.square(wrong, dtype=np.float64))) / size

    def _given(self, tensor: str, value: Array) -> None:
        size = float(np.sum(np.square(value, dtype=np.float64))) or 1.0
        for at, candidate in enumerate(self.proposals[tensor]):
            wrong = rounded(value, candidate.format) - value
            self.totals[tensor][at] += float(np.sum(np.square(wrong, dtype=np.float64))) / size
