"""Which engine computes a layer where no planner weighs them: an accelerator only where it is predicted to be faster."""

from __future__ import annotations

from dataclasses import replace

from tilewright.ir.graph import Graph
from tilewright.target.cost_model import call_cycles, work
from tilewright.target.mapping import Choice, Mapped, Refused, first_form
from tilewright.tiling.tiles import TileGrid


def fastest_first(mapped: Mapped) -> Mapped:
    """On a target without a cluster, the engine that takes a layer with the fewest predicted cycles is preferred; what
    declines it says so."""
    if mapped.target.cluster is not None:
        return mapped
    choices, alternatives, refusals = dict(mapped.choices), dict(mapped.alternatives), dict(mapped.refusals)
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
        if chosen is core:
            refusals[node.key] = (*_declined(cycles, core), *refusals.get(node.key, ()))
            alternatives[node.key] = tuple(choice for choice in cores if choice is not core)
    return replace(mapped, choices=choices, alternatives=alternatives, refusals=refusals)


def _declined(cycles: dict[Choice, float], core: Choice) -> list[Refused]:
    return [
        Refused(
            choice.engine.name, "",
            f"{choice.kernel.stem} would take {round(own):,} cycles, {core.kernel.stem} {round(cycles[core]):,}",
        )
        for choice, own in cycles.items()
        if choice is not core
    ]  # fmt: skip


def _cycles(mapped: Mapped, choice: Choice) -> float:
    """Of the whole layer, predicted; a core waits for the accelerator."""
    graph: Graph = mapped.graph
    types = graph.all_types(choice.node)
    grid = TileGrid(choice.node.op, types, tuple(choice.node.results()))
    found = call_cycles(mapped.target.costs, choice.kernel, choice.node.op, types, work(grid, {}), 1)
    return found.cores + found.submitting + found.engine
