"""Which engine computes a layer where one of them has a memory of its own: by predicted time, copies counted."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from tilewright.ir.graph import Node
from tilewright.planner.arena.side_by_side import CORES, ENGINE, Layer, Problem, solve
from tilewright.target.cost_model import call_cycles, work
from tilewright.target.mapping import Choice, Estimate, Mapped
from tilewright.target.settings import Settings
from tilewright.target.target import Engine
from tilewright.tiling.tiles import TileGrid


def weighed(mapped: Mapped, settings: Settings) -> Mapped:
    """With estimates for engines that could compute a layer; by cost where several engines are named, else the first
    one that has a kernel takes it."""
    if all(engine.transfers is None for engine in mapped.target.engines):
        return mapped
    found = with_estimates(mapped)
    return by_cost(found) if len(settings.engines) > 1 else found


def with_estimates(mapped: Mapped) -> Mapped:
    """With what engines would take for a layer that several could compute."""
    found = dict(mapped.estimates)
    for node in mapped.graph.nodes:
        choices = _by_engine(mapped, node)
        if len(choices) > 1:
            found[node.key] = tuple(
                Estimate(choice.engine.name, choice.kernel.stem, round(_time(mapped, choice))) for choice in choices
            )
    return replace(mapped, estimates=found)


def by_cost(mapped: Mapped) -> Mapped:
    """With the choice first that is best for the whole network. There is one engine with a memory of its own."""
    problem = problem_of(mapped)
    chosen = solve(problem)
    choices, alternatives = dict(mapped.choices), dict(mapped.alternatives)
    for number in problem.movable:
        node = mapped.graph.nodes[number]
        everything = mapped.all_choices(node)
        first = next(one for one in everything if (_place(one.engine) == ENGINE) == (number in chosen))
        choices[node.key] = first
        alternatives[node.key] = tuple(one for one in everything if one is not first)
    return replace(mapped, choices=choices, alternatives=alternatives, is_weighed=True)


def problem_of(mapped: Mapped) -> Problem:
    graph = mapped.graph
    numbers = {name: number for number, name in enumerate(graph.types)}
    transfer = next(engine.transfers for engine in mapped.target.engines if engine.transfers is not None)

    def numbered(names: Sequence[str]) -> tuple[int, ...]:
        return tuple(numbers[name] for name in names if name and name not in graph.constants)

    def copy(name: str) -> float:
        if transfer.into.cycles is None:
            return 0.0
        return transfer.into.cycles(transfer.into.op(), {"X": graph.types[name], "Y": graph.types[name]}, {}, 1).cores

    layers = tuple(
        Layer(numbered(node.inputs), numbered(node.outputs), _times(mapped, node), node.op.view) for node in graph.nodes
    )
    kept = tuple((numbers[state.before], numbers[state.after]) for state in graph.states)
    copies = {number: copy(name) for name, number in numbers.items() if name not in graph.constants}
    return Problem(layers, copies, frozenset(numbered(graph.outputs)), kept)


def _times(mapped: Mapped, node: Node) -> tuple[float | None, float | None]:
    if node.op.view:
        return 0.0, 0.0
    found: dict[int, float] = {}
    for choice in _by_engine(mapped, node):
        place, own = _place(choice.engine), _time(mapped, choice)
        found[place] = min(own, found.get(place, own))
    return found.get(CORES), found.get(ENGINE)


def _by_engine(mapped: Mapped, node: Node) -> list[Choice]:
    """The first choice of every engine that takes a node."""
    found: dict[str, Choice] = {}
    for choice in mapped.all_choices(node) if node.key in mapped.choices else ():
        found.setdefault(choice.engine.name, choice)
    return list(found.values())


def _place(engine: Engine) -> int:
    return CORES if engine.transfers is None else ENGINE


def _time(mapped: Mapped, choice: Choice) -> float:
    types = mapped.graph.all_types(choice.node)
    grid = TileGrid.of(choice.node.op, types, tuple(choice.node.results()))
    found = call_cycles(mapped.target.costs, choice.kernel, choice.node.op, types, work(grid, {}), 1)
    return found.cores + found.submitting + found.engine
