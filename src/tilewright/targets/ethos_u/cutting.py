"""Which nodes of a network are one part for the NPU: those that depend on the same results of the core."""

from __future__ import annotations

from collections.abc import Mapping, Sequence, Set
from itertools import accumulate

from tilewright.ir.graph import Graph, Node
from tilewright.records import dataclass
from tilewright.targets.ethos_u.scales import moves

Reasons = dict[str, str]
"""Why nodes stay on the core, by their keys."""
Place = tuple[int, int, int]
"""A stage, a section, and a number of its own or 0: nodes of the same one are a part."""


@dataclass(frozen=True)
class Part:
    nodes: tuple[Node, ...]
    inputs: tuple[str, ...]
    results: tuple[str, ...]


def stages_of(graph: Graph, on_core: Mapping[str, str]) -> dict[str, int]:
    """How often a node's results have gone from one to the other on their way, the longest: nodes of the NPU with the
    same number can be computed at once."""
    found: dict[str, int] = {}
    for node in graph.nodes:
        before = [graph.producers[name] for name in node.inputs if name in graph.producers]
        steps = [found[one.key] + ((one.key in on_core) != (node.key in on_core)) for one in before]
        found[node.key] = max(steps, default=0)
    return found


def sections_of(graph: Graph, cuts: Set[str]) -> dict[str, int]:
    """How many sections are over when a node runs; with each node of `cuts` another one begins."""
    numbers = accumulate(node.key in cuts for node in graph.nodes)
    return {node.key: number for node, number in zip(graph.nodes, numbers, strict=True)}


def in_turn(graph: Graph, on_core: Mapping[str, str], strips: Set[str]) -> list[Node]:
    """All nodes as they run: strip by strip, with each of `strips` another begins, and stage by stage."""
    stages, sections = stages_of(graph, on_core), sections_of(graph, strips)
    return sorted(graph.nodes, key=lambda one: (sections[one.key], stages[one.key]))


def parts_of(graph: Graph, on_core: Mapping[str, str], cuts: Set[str]) -> list[Part]:
    """Those that compute something, in the order in which they run; with a node of `cuts` another part begins. A part
    that words enter or leave is one node: all inputs of a part are of one type, and several results are bytes."""
    stages, sections = stages_of(graph, on_core), sections_of(graph, cuts)
    words = [node for node in graph.nodes if node.key not in on_core and _has_words(graph, node)]
    alone: set[str] = set()
    while True:
        place = {
            node.key: (stages[node.key], sections[node.key], number * (node.key in alone))
            for number, node in enumerate(graph.nodes)
        }
        found = {node.key for node in words if node.key not in alone and _crosses(graph, node, place, on_core)}
        if not found:
            return _parts(graph, place, on_core)
        alone |= found


def _has_words(graph: Graph, node: Node) -> bool:
    return any(_is_word(graph, name) for name in (node.inputs[0], node.key))


def _is_word(graph: Graph, tensor: str) -> bool:
    return graph.types[tensor].dtype == "int16"


def _crosses(graph: Graph, node: Node, place: Mapping[str, Place], on_core: Mapping[str, str]) -> bool:
    """Whether words come from elsewhere, or go elsewhere, than to nodes of the same part."""
    others: list[str] = []
    if _is_word(graph, node.key):
        others += [one.key for one in graph.consumers.get(node.key, [])]
    if _is_word(graph, node.inputs[0]):
        maker = graph.producers.get(node.inputs[0])
        others += [maker.key if maker else ""]
    is_result = node.key in graph.sinks and _is_word(graph, node.key)
    return is_result or any(key in on_core or place.get(key) != place[node.key] for key in others)


def _parts(graph: Graph, place: Mapping[str, Place], on_core: Mapping[str, str]) -> list[Part]:
    groups: dict[Place, list[Node]] = {}
    for node in graph.nodes:
        if node.key not in on_core:
            groups.setdefault(place[node.key], []).append(node)
    return [part_of(graph, nodes) for _, nodes in sorted(groups.items()) if not all(map(moves, nodes))]


def part_of(graph: Graph, nodes: Sequence[Node]) -> Part:
    own = {node.key for node in nodes}
    read = dict.fromkeys(name for node in nodes for name in node.inputs if name and name not in graph.constants)
    inputs = tuple(name for name in read if name not in own)
    wanted = {name for node in graph.nodes if node.key not in own for name in node.inputs} | set(graph.sinks)
    return Part(tuple(nodes), inputs, tuple(node.key for node in nodes if node.key in wanted))
