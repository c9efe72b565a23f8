"""Which engine computes a layer where no planner weighs them: an accelerator where it is predicted to be faster."""

from __future__ import annotations

from dataclasses import replace

from tilewright.ir.graph import Graph, Node
from tilewright.target.cost_model import call_cycles, work
from tilewright.target.mapping import Choice, Estimate, Mapped, first_form, map_nodes
from tilewright.target.target import Target
from tilewright.tiling.tiles import TileGrid


def fastest_first(mapped: Mapped) -> Mapped:
    """Of the cores and the accelerators that take a layer, the one with the fewest predicted cycles is preferred."""
    choices, alternatives = dict(mapped.choices), dict(mapped.alternatives)
    estimates: dict[str, tuple[Estimate, ...]] = {}
    for node in mapped.graph.nodes:
        found = mapped.all_choices(node) if node.key in choices else ()
        cores = [choice for choice in found if not choice.kernel.offloaded]
        if not cores or len(cores) == len(found):
            continue
        core = first_form(cores, node)
        cycles = {choice: _cycles(mapped, choice) for choice in found if choice.kernel.offloaded or choice is core}
        chosen = min(cycles, key=lambda choice: cycles[choice])
        choices[node.key] = chosen
        alternatives[node.key] = tuple(choice for choice in found if choice is not chosen)
        estimates[node.key] = _estimates(cycles)
    return replace(mapped, choices=choices, alternatives=alternatives, estimates=estimates)


def fewest_cycles(graph: Graph, node: Node, target: Target) -> float:
    """Predicted for a node by the best of all that take it, whatever else the graph has. Raises `CompileError` where
    nothing does."""
    mapped = map_nodes(replace(graph, nodes=(node,)), target)
    return min(_cycles(mapped, choice) for choice in mapped.all_choices(node))


def _estimates(cycles: dict[Choice, float]) -> tuple[Estimate, ...]:
    """The best of every engine."""
    best: dict[str, Estimate] = {}
    for choice, own in sorted(cycles.items(), key=lambda item: item[1]):
        best.setdefault(choice.engine.name, Estimate(choice.engine.name, choice.kernel.stem, round(own)))
    return tuple(best.values())


def _cycles(mapped: Mapped, choice: Choice) -> float:
    """Of the whole layer, predicted; the core waits for the accelerator."""
    types = mapped.graph.all_types(choice.node)
    grid = TileGrid.of(choice.node.op, types, tuple(choice.node.results()))
    cores = mapped.target.agents.cores
    found = call_cycles(mapped.target.costs, choice.kernel, choice.node.op, types, work(grid, {}), cores)
    return found.cores + found.submitting + found.engine
