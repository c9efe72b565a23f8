"""The whole way from a model to C, in a straight line. Each stage takes one frozen value and gives the next."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import replace
from functools import partial
from itertools import islice
from pathlib import Path
from typing import Any

from tilewright import targets
from tilewright.codegen import binary_data, folder
from tilewright.codegen.network import Writer, symbol_prefix
from tilewright.errors import CompileError, instance, present, raise_all
from tilewright.ir.arrays import Given
from tilewright.ir.at_sizes import symbols_of
from tilewright.ir.graph import Graph
from tilewright.own_kernels.attach import with_own_kernels
from tilewright.passes import Pass, apply, in_bodies
from tilewright.passes.canonicalize_attention import CANONICALIZE_ATTENTION
from tilewright.passes.collapse_tflite_add import COLLAPSE_TFLITE_ADD
from tilewright.passes.convolve import CONVOLVE, CONVOLVE_REQUANTISED
from tilewright.passes.crop_windows import CROP_WINDOWS
from tilewright.passes.drop_identities import DROP_IDENTITIES
from tilewright.passes.drop_zero_biases import DROP_ZERO_BIASES
from tilewright.passes.fold_batchnorm import FOLD_BATCHNORM
from tilewright.passes.fold_constants import FOLD_CONSTANTS
from tilewright.passes.fold_zero_points import FOLD_ZERO_POINTS
from tilewright.passes.fuse_activations import fuse_activations
from tilewright.passes.fuse_attention import fuse_attention
from tilewright.passes.fuse_bias import FUSE_BIAS
from tilewright.passes.fuse_integer_div import FUSE_INTEGER_DIV
from tilewright.passes.fuse_patterns import FUSE_PATTERNS
from tilewright.passes.fuse_requant import FUSE_REQUANT
from tilewright.passes.narrow_floats import narrow_floats
from tilewright.passes.note_scales import with_scales
from tilewright.passes.numerics.hardware import numerics_passes
from tilewright.passes.pack_weights import PACK_WEIGHTS
from tilewright.passes.quantise.rules import QUANTISE
from tilewright.passes.reorder import reorder
from tilewright.passes.separate_outputs import SEPARATE_OUTPUTS
from tilewright.passes.separate_states import separate_states
from tilewright.passes.slice_sized_constants import SLICE_SIZED_CONSTANTS
from tilewright.passes.tabulate import TABULATE
from tilewright.passes.unroll_control_flow import UNROLL_CONTROL_FLOW
from tilewright.planner.arena.allocation import Allocation
from tilewright.planner.cluster.node_order import interleaved
from tilewright.planner.cluster.plan import Plan
from tilewright.planner.planners import planner_of
from tilewright.planner.schedule.schedule import Schedule
from tilewright.records import dataclass
from tilewright.target.mapping import Mapped, check_engines, in_reach, map_nodes, only_engines
from tilewright.target.precision import short_operands
from tilewright.target.processors import check_processor
from tilewright.target.runner import CAPABILITIES, UNICORN, GpuProcess
from tilewright.target.settings import CYCLES, DEFAULT, OPTIONS, PRECISIONS, RAM, Settings, check_options
from tilewright.target.sizes import for_all_sizes
from tilewright.target.target import Target

IMPORT_PASSES = (FUSE_INTEGER_DIV,)
"""Part of a model's meaning: without them the reference is not what was exported."""

QUANTISING = (DROP_IDENTITIES, QUANTISE)
"""From a float graph with quantisers to the integer network that it stands for."""

PASSES = (
    FOLD_CONSTANTS,
    CANONICALIZE_ATTENTION,
    CROP_WINDOWS,
    FUSE_PATTERNS,
    FOLD_BATCHNORM,
    FUSE_BIAS,
    FUSE_REQUANT,
    FOLD_ZERO_POINTS,
    DROP_ZERO_BIASES,
    COLLAPSE_TFLITE_ADD,
    TABULATE,
    SEPARATE_OUTPUTS,
)

CONVOLVING = (CONVOLVE, FOLD_ZERO_POINTS, DROP_ZERO_BIASES)
"""What is left of transposed convolutions, and what can be said of the convolutions that they become."""

MOST_THREADS = 64
"""What the pool in C has room for."""

STAGES = ("graph", "quantised", "lowered", "fitted", "mapped", "tiled", "schedule", "c")


@dataclass(frozen=True)
class Compiled:
    """Every stage's result, for printing and for the stages after."""

    graph: Graph
    """As imported."""
    quantised: Graph
    """The reference: what the C computes to the bit, and for floats within rounding."""
    lowered: Graph
    """As the target's kernels want it, whatever the sizes of the memories."""
    fitted: Graph
    """With layers that fit the memories; `lowered` itself where nothing has to fit."""
    mapped: Mapped
    allocation: Allocation | Plan
    schedule: Schedule
    files: Mapping[str, str]


def stages(
    graph: Graph, target_name: str, name: str = "", settings: Settings = DEFAULT, predicts: bool = False
) -> Iterator[Any]:
    """The result of every stage in the order of STAGES; whoever needs no more than one of them stops there. Where the
    schedule only `predicts` what it takes, its events are not followed one by one, and no C is written for it."""
    target = _with_lengths(graph, _target(target_name, settings))
    planner = planner_of(target)
    yield graph
    quantised = _with_known_flow(apply(graph, reference_passes(target, settings)), target)
    yield quantised
    placed = None
    for placed in (_planned if target.alternatives is None else _best)(quantised, target, settings):
        yield placed
    schedule = planner.schedule(placed, settings, predicts)
    yield schedule
    if predicts:
        return
    yield folder.files(schedule, name)


def _planned(quantised: Graph, target: Target, settings: Settings) -> Iterator[Any]:
    """Lowered, fitted, mapped and placed."""
    planner = planner_of(target)
    # A target's passes turn copies into views, so that outputs may share bytes again.
    separate = (SEPARATE_OUTPUTS, separate_states(planner.joins))
    fusing = (fuse_activations(target.applies), fuse_attention(target.fuses))
    narrowing = _narrowing(target, settings)
    packing = (PACK_WEIGHTS,) if settings.packed_weights else ()
    own = (*fusing, *CONVOLVING, *target.all_passes, *narrowing, *target.stored_passes, *packing)
    lowered = _reordered(
        apply(quantised, (SLICE_SIZED_CONSTANTS, *target.early_passes(settings.optimise), *PASSES, *own, *separate))
    )
    yield lowered
    target = in_reach(target, lowered)
    fitted = planner.fit(lowered, target, settings)
    yield fitted
    taken = for_all_sizes(map_nodes(fitted, target, dict(settings.placed)))
    preferred = planner.prefer(taken, settings)
    mapped = preferred if settings.optimise == RAM else interleaved(preferred)
    yield mapped
    yield planner.place(mapped, settings)


def _best(quantised: Graph, target: Target, settings: Settings) -> list[Any]:
    """The same, with those passes of the target's alternatives whose plan is predicted to take least."""
    plans = [list(_planned(quantised, target, settings))]
    schedule = planner_of(target).schedule(plans[0][-1], settings, True)
    layers = frozenset((layer.engine, layer.node.name) for layer in schedule.layers)
    alternatives = present(target.alternatives, target.name, "has no other passes to choose from")
    for other in alternatives(target, layers):
        try:
            following = _planned(quantised, other, settings)
            lowered = next(following)
            if all(lowered.types != plan[0].types for plan in plans):
                plans.append([lowered, *following])
        except CompileError:
            continue
    return min(plans, key=lambda plan: plan[-1].predicted)


def _with_lengths(graph: Graph, target: Target) -> Target:
    """The target, if it has programs whose sizes are arguments, or the graph has none."""
    symbols = symbols_of(graph)
    if symbols and not target.has_lengths:
        known = [name for name in targets.names() if targets.find(name).has_lengths]
        ranges = " ".join(f"--dim {one.name}={one.low}..{one.high}" for one in symbols)
        what = f"target {target.name} has programs for one size only"
        hint = f"fix it: {' '.join(f'--dim {one.name}={one.high}' for one in symbols)}; or use {', '.join(known)}"
        raise CompileError(ranges, what, hint)
    return target


def _narrowing(target: Target, settings: Settings) -> tuple[Pass, ...]:
    """Floats in 16 bits, where that is asked for."""
    if settings.precision == DEFAULT.precision:
        return ()
    dtype = PRECISIONS[settings.precision]
    return (narrow_floats(dtype, partial(short_operands, target, dtype, dict(settings.placed))),)


def _reordered(graph: Graph) -> Graph:
    return reorder(in_bodies(graph, _reordered))


def reference_passes(target: Target, settings: Settings) -> tuple[Pass, ...]:
    """From the graph as imported to the reference; `run` holds what they make to what they state of their numbers."""
    numerics = numerics_passes(settings.numerics, target.numerics, target.hardware)
    unrolling = (UNROLL_CONTROL_FLOW,) if target.agents.has_runtime else ()
    return (*unrolling, *target.model_passes, *QUANTISING, CONVOLVE_REQUANTISED, *numerics, *target.reference_passes)


def _with_known_flow(graph: Graph, target: Target) -> Graph:
    """The graph, if the target has programs with the control flow that is left."""
    left = [node for node in graph.nodes if node.op.bodies and target.agents.has_runtime]
    others = [name for name in targets.names() if not targets.find(name).agents.has_runtime] if left else []
    hint = f"targets with loops and branches: {', '.join(others)}"
    what = f"data decides how often it runs, or it has too many turns, and {target.name} has no loops around layers"
    raise_all([CompileError(node.where, what, hint) for node in left])
    return graph


def _with_accelerators(target: Target, settings: Settings) -> Target:
    """Most programs have none, and do not wait until all about them is imported."""
    if not settings.accelerators:
        return target
    from tilewright.accelerator.attach import check_drives, with_accelerators

    return with_accelerators(check_drives(target), settings.accelerators, dict(settings.placed))


def _with_instructions(target: Target, folders: tuple[str, ...]) -> Target:
    """As above."""
    if not folders:
        return target
    from tilewright.instruction.attach import with_instructions

    return with_instructions(target, folders)


def _target(name: str, settings: Settings) -> Target:
    """The target with the engines that are asked for, if it has what the settings speak of."""
    known = targets.find(name)
    if settings.emulator == UNICORN and known.in_unicorn:
        known = known.in_unicorn()
    check_options(known, settings)
    plain = _on_gpu(_with_threads(_for_processor(known, settings.cpu), settings), settings)
    extended = _with_instructions(plain, settings.instructions)
    found = with_own_kernels(_with_accelerators(extended, settings), settings.kernels)
    target = check_engines(only_engines(found, settings.engines))
    return planner_of(target).adapt(target, settings)


def _for_processor(target: Target, name: str) -> Target:
    return target.for_processor(check_processor(name)) if name and target.for_processor else target


def _on_gpu(target: Target, settings: Settings) -> Target:
    """By what launches its kernels, and for the oldest GPU that is to run them."""
    runner = target.runner
    if not isinstance(runner, GpuProcess):
        return target
    oldest = CAPABILITIES.get(settings.capability, runner.capability)
    return replace(target, runner=replace(runner, api=settings.gpu, capability=oldest))


def _with_threads(target: Target, settings: Settings) -> Target:
    threads = settings.threads
    if settings.pins_threads and threads < 2:
        raise CompileError("--pin", "there is one thread", "ask for more: --threads 2")
    if threads == DEFAULT.threads:
        return target
    if not 1 <= threads <= MOST_THREADS:
        raise CompileError(
            f"--threads {threads}", f"is not 1 to {MOST_THREADS}", "use at most as many as the machine has cores"
        )
    agents = replace(target.agents, threads=threads, pins_threads=settings.pins_threads)
    return replace(target, agents=agents, libraries=(*target.libraries, "pthread"))


def stage(graph: Graph, target_name: str, wanted: str, name: str = "", settings: Settings = DEFAULT) -> Any:
    """The result of one stage; those after it do not run."""
    return next(islice(stages(graph, target_name, name, settings), STAGES.index(wanted), None))


def prediction(graph: Graph, target_name: str, settings: Settings = DEFAULT) -> Schedule:
    """The schedule that a network would have, to look at what it takes."""
    *_, schedule = stages(graph, target_name, settings=settings, predicts=True)
    return instance(schedule, Schedule)


def drawing(result: Any) -> tuple[Graph, dict[str, str]]:
    """The graph of a stage, and what the stage has decided about its nodes, by their keys."""
    if isinstance(result, Mapped):
        found = result.choices.items()
        return result.graph, {key: f"{choice.engine.name}.{choice.kernel.stem}" for key, choice in found}
    if isinstance(result, Allocation | Plan):
        graph = result.mapped.graph
        return graph, {node.key: str(result.homes[node.key]) for node in graph.nodes}
    if isinstance(result, Schedule):
        kernels = {call.node.key: f"{call.engine}.{call.kernel.stem}" for call in result.layers}
        return result.graph, {key: f"{kernel} -> {result.homes[key]}" for key, kernel in kernels.items()}
    return instance(result, Graph), {}


def compile_graph(graph: Graph, target_name: str, name: str = "") -> Compiled:
    return Compiled(*stages(graph, target_name, name))


def import_model(
    model: Any, example_inputs: Given | None = None, target_name: str = "", goal: str = CYCLES, **options: Any
) -> Graph:
    """The front end that fits the model, of which the target's own compiler may have had parts before, for a goal of
    `--optimise`."""
    from tilewright.frontends import any_model

    _refuse_target_as_inputs(example_inputs)
    prepare = targets.find(target_name).prepare if target_name else None
    OPTIONS["optimise"].check(goal)
    prepared, notes = prepare(model, goal) if prepare else (model, ())
    graph = as_imported(any_model.load(prepared, example_inputs, **options))
    return replace(graph, notes=(*graph.notes, *notes))


def as_imported(graph: Graph) -> Graph:
    """What a front end gave, with what is part of a model's meaning."""
    return with_scales(apply(graph, IMPORT_PASSES))


def _refuse_target_as_inputs(example_inputs: Given | None) -> None:
    if isinstance(example_inputs, str) and example_inputs in targets.names():
        raise CompileError(
            f"example_inputs '{example_inputs}'", "is the name of a target", f"write target='{example_inputs}'"
        )


def save(compiled: Compiled, path: Path, name: str = "", weights: str = "c") -> list[str]:
    """Write the folder; the names of its files."""
    if weights not in folder.WEIGHTS:
        raise CompileError(f"--weights {weights}", "is unknown", f"use {' or '.join(folder.WEIGHTS)}")
    if weights == "c":
        folder.write(compiled.files, path)
        return sorted(compiled.files)
    schedule = compiled.schedule
    texts = folder.files(schedule, name, weights)
    writer = Writer(schedule, symbol_prefix(name or schedule.graph.name))
    folder.write(texts, path, {binary_data.BYTES: binary_data.data(writer)})
    return sorted([*texts, binary_data.BYTES])
