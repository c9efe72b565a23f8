"""Tiling and memory of a network on a cluster, solved together: an option for every layer, a home for every tensor."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace

from tilewright.errors import CompileError
from tilewright.memory.arena import Arena
from tilewright.passes.aliasing import all_owners, home_of, insides
from tilewright.planner.cluster import select
from tilewright.planner.cluster.candidates import Candidate, costs_of, layer_options, layers_of, limits_of
from tilewright.planner.cluster.capacity import (
    TileBudget,
    check_states,
    tile_budget,
    with_stacks_inside,
    with_stacks_outside,
)
from tilewright.planner.cluster.elsewhere import pinned_constants
from tilewright.planner.cluster.home_buffers import constants_elsewhere
from tilewright.planner.cluster.home_layout import MemoryLayout, lay_out
from tilewright.planner.cluster.lifetimes import lifetimes, states_of, steps_of
from tilewright.planner.cluster.overlap import timeline
from tilewright.planner.cluster.plan import Plan, Step
from tilewright.planner.cluster.solve import Decision, Task, decide, tile_buffers
from tilewright.planner.cluster.spill import lacking, never_fits, overfull, pressures
from tilewright.planner.cluster.staged_cycles import staging_of, with_staging
from tilewright.planner.cluster.tile_shortage import no_option_fits
from tilewright.planner.home import ARENA, STATE, Home
from tilewright.planner.keys import SCRATCH, buffer_key, staged_key, staging_key, tensor_key
from tilewright.planner.machine_bound import MachineBound, Way, Work
from tilewright.target.mapping import Mapped, with_nodes
from tilewright.target.memory import Link, Paths
from tilewright.target.settings import Settings

HURRIED = 0.1
"""Of the solver's work, where nothing is won by a better choice."""


def plan(mapped: Mapped, settings: Settings) -> Plan:
    """The faster of two plans: with stacks where the budget puts them and, where they just fit, with stacks in L1.
    Stacks leave L1 before a layer has to work in L2."""
    budget = tile_budget(mapped, settings)
    check_states(mapped, settings)
    try:
        made, other = _plan_in(budget, mapped, settings), with_stacks_inside(budget)
    except CompileError:
        if not budget.stacks_inside:
            raise
        return _plan_in(with_stacks_outside(budget), mapped, settings)
    if other is None:
        return made
    try:
        return min(_plan_in(other, mapped, settings), made, key=lambda plan: plan.predicted)
    except CompileError:
        return made


def _plan_in(budget: TileBudget, mapped: Mapped, settings: Settings) -> Plan:
    """Tiling options and homes by one model, then offsets, which are checked. Where L2 does not hold it, some
    activations are spilled, and all is decided again."""
    task = _task(budget, mapped, settings)
    decision = decide(_hurried(task) if never_fits(task) else task)
    layout = _layout(task, decision)
    if layout.fits:
        return _placed(task, decision, layout)
    first: Task | None = None
    for pressure in pressures(task, decision, layout):
        # They differ in how full memories may be, not in what may leave: options stay as they are.
        spilling = replace(first, pressure=pressure) if first else _task(budget, mapped, settings, pressure)
        first = spilling
        if error := lacking(task, spilling, decision, layout):
            raise error
        if overfull(spilling, pressure):
            break  # those that follow have less of each memory
        try:
            other = decide(spilling)
        except CompileError:
            continue
        laid_out = _layout(spilling, other)
        if laid_out.fits:
            return _placed(spilling, other, laid_out)
    return _placed(task, decision, layout)


def _hurried(task: Task) -> Task:
    """Any choice will do, to say by how much it does not fit."""
    return replace(task, settings=replace(task.settings, time_limit=HURRIED))


def _task(budget: TileBudget, mapped: Mapped, settings: Settings, pressure: select.HomePressure | None = None) -> Task:
    graph = mapped.graph
    inside = insides(graph)
    owners = all_owners(graph, inside)
    nodes = steps_of(graph)
    tensors = lifetimes(graph, nodes, owners, mapped.target.paths.tiles)
    elsewhere = constants_elsewhere(mapped, settings, tensors, owners)
    # L1 is every network's, and what it holds is lost between calls.
    movable = frozenset(tensor.name for tensor in tensors if 0 < tensor.bytes <= budget.arena) - states_of(graph)
    spillable: frozenset[str] = frozenset().union(*pressure.spillable) if pressure else frozenset()
    pinned = pinned_constants(graph, settings)
    groups = [layers_of(mapped, settings, budget, node, owners, movable, inside, spillable, pinned) for node in nodes]
    limits = limits_of(budget, mapped, settings)
    found = layer_options(groups, limits)
    for one in found:
        if not one.options:
            raise no_option_fits(one.layer, budget, limits, tensors)
    return Task(mapped, settings, budget, owners, tensors, elsewhere, found, pressure)


def _layout(task: Task, decision: Decision) -> MemoryLayout:
    return lay_out(
        _resolved(task.mapped, decision.chosen), task.settings, task.tensors, decision.tile_tensors, decision.options,
        task.elsewhere, decision.spilled if task.pressure else None,
    )  # fmt: skip


def _placed(task: Task, decision: Decision, layout: MemoryLayout) -> Plan:
    mapped, chosen = _resolved(task.mapped, decision.chosen), decision.chosen
    decision.tiles_arena.check()
    layout.check(mapped, task.settings)
    alone = [candidate.alone for candidate in chosen]
    computed = timeline(decision.options, alone, decision.in_flight, costs_of(mapped.target, task.settings))
    types, memories = mapped.graph.types, mapped.target.paths
    ways = {name: memories.staging(home) for name, home in layout.staged_from.items()}
    staged = ({name: types[name].bytes for name in layout.staged[number]} for number in range(len(chosen)))
    staging = [staging_of(sizes, ways) for sizes in staged]
    predicted = with_staging(computed, staging, layout.ahead)
    saved = max(decision.cycles - sum(computed), 0)  # overlap that was hoped for and not reached is no bound
    tiles, home = decision.tiles_arena.solution.offsets, layout.home.solution.offsets
    steps = tuple(
        Step(
            candidate.option, candidate.prefetch_distance,
            {name: tiles[buffer_key(number, name)] for name, _, _ in tile_buffers(candidate.option)},
            {name: home[staged_key(number, name)] for name in layout.staged[number]},
            home.get(buffer_key(number, SCRATCH)), predicted[number], layout.ahead, decision.in_flight[number],
            {name: home[staging_key(number, name)] for name in candidate.option.staging_bytes},
            {name: tuple(_passes(layout, number, name, ways[name])) for name in layout.staged[number]},
        )
        for number, candidate in enumerate(chosen)
    )  # fmt: skip
    arenas = _arenas(memories, decision, layout)
    constants = {**layout.staged_from, **layout.resident}
    homes = {name: _home(mapped, task.owners[name], arenas, constants) for name in mapped.graph.types}
    estimates = {one.layer.node.key: one.estimates for one in task.found}
    bound = max(min(decision.bound, decision.cycles) - saved, round(sum(one.link for one in staging)))
    return Plan(
        mapped,
        task.settings,
        task.budget,
        steps,
        homes,
        sum(predicted),
        bound,
        arenas,
        estimates,
        _least(task, steps, homes),
    )


def _least(task: Task, steps: Sequence[Step], homes: Mapping[str, Home]) -> MachineBound:
    """Of the machine, whatever engine takes a layer; weights that live behind the home have to come from there."""
    mapped, memories = task.mapped, task.mapped.target.paths
    ways = {
        node.key: tuple(Way(choice.engine, choice.node) for choice in mapped.all_choices(node))
        for node in steps_of(mapped.graph)
    }
    links = [link for link in mapped.target.links if link.inner == memories.tiles.name]
    weights = {name for step in steps for name in step.option.node.inputs if step.option.node.op.multiplies}
    beyond: dict[Link, int] = {link: 0 for path in memories.staged for link in path.staging}
    for name in weights & homes.keys():
        for link in memories.staging(homes[name].memory):
            beyond[link] += mapped.graph.types[name].bytes
    return Work(mapped.graph, ways, task.budget.cores, links, beyond).bound()


def _arenas(memories: Paths, decision: Decision, layout: MemoryLayout) -> dict[str, Arena]:
    found = (
        (memories.tiles, decision.tiles_arena),
        (memories.home, layout.home),
        *((memory, layout.beside[memory.name]) for memory in memories.beside),
        *((memory, layout.behind[memory.name]) for memory in memories.behind),
    )
    return {memory.name: arena for memory, arena in found}


def _passes(layout: MemoryLayout, step: int, constant: str, way: Sequence[Link]) -> Iterator[tuple[str, int]]:
    """The memories between a constant's and the home, and where it is put there."""
    for link in way[:-1]:
        yield link.inner, layout.behind[link.inner].solution.offsets[staged_key(step, constant)]


def _resolved(mapped: Mapped, chosen: Sequence[Candidate]) -> Mapped:
    """With the nodes, engines and kernels that were chosen, and no constants but theirs."""
    options = {candidate.option.node.key: candidate.option for candidate in chosen}
    taken = {
        key: next(c for c in (mapped.choices[key], *mapped.alternatives[key]) if c.kernel is option.kernel)
        for key, option in options.items()
    }
    return replace(with_nodes(mapped, {key: option.node for key, option in options.items()}), choices=taken)


def _home(mapped: Mapped, owner: str, arenas: Mapping[str, Arena], constants: Mapping[str, str]) -> Home:
    kind, home = home_of(mapped.graph, owner), mapped.target.paths.home.name
    if kind not in (ARENA, STATE):
        return Home(kind, owner, constants.get(owner, home))
    key = tensor_key(owner)
    placed = ((memory, arena.solution.offsets) for memory, arena in arenas.items())
    # Tensors that no layer uses have no place, and need none.
    memory, offset = next(((memory, offsets[key]) for memory, offsets in placed if key in offsets), (home, 0))
    return Home(ARENA, owner, memory, offset)
