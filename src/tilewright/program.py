"""A compiled network: run it, check it, save its C."""

from __future__ import annotations

import gc
import math
import shutil
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from functools import cached_property, partial
from pathlib import Path
from typing import TYPE_CHECKING, Any

from tilewright import pipeline, targets
from tilewright.analysis.costs import Analysis, analysis_of
from tilewright.codegen import projects
from tilewright.codegen.projects.project import Project
from tilewright.codegen.projects.writing import write as write_project
from tilewright.errors import CompileError, present
from tilewright.ir.arrays import GIVEN, Given, arrays_of, match
from tilewright.ir.at_sizes import at_sizes, check_size, said, sizes_of, symbols_of
from tilewright.ir.evaluate import evaluate
from tilewright.ir.graph import Graph
from tilewright.ir.length import Sizes
from tilewright.ir.tried_sizes import checked_dims, checked_sizes
from tilewright.ir.types import Array, TensorType
from tilewright.passes import apply
from tilewright.pipeline import STAGES, Compiled
from tilewright.planner.board.little_ram import or_with_less_ram
from tilewright.planner.cluster.plan import Plan
from tilewright.run.as_imported import Judge
from tilewright.run.board import BoardProgram
from tilewright.run.builds import Builds
from tilewright.run.compare import DEFAULT_TOLERANCE
from tilewright.run.comparison import Comparison
from tilewright.run.host import TENSORS, HostProgram
from tilewright.run.library import LoadedNetwork
from tilewright.run.model_inputs import given_inputs, input_types, made_up_inputs, refuse_too_large
from tilewright.run.result import Check, Result, joined_checks
from tilewright.run.runs import Runs, runs_of
from tilewright.run.sized_meaning import check_meaning
from tilewright.run.soc import SocProgram
from tilewright.run.steps import (
    compare_steps,
    expected_steps,
    has_step_axis,
    reference_steps,
    split_steps,
)
from tilewright.target.settings import DEFAULT, PRECISIONS, Settings, with_options
from tilewright.whole_file import written_whole

if TYPE_CHECKING:
    from typing_extensions import Unpack

    from tilewright.profiling.measuring import Profiled
    from tilewright.profiling.memory_map import MemoryMap
    from tilewright.quantiser.cost.reporting import Report
    from tilewright.quantiser.quantise import Options, Quantised
    from tilewright.target.asked import Asked

Progress = Callable[[str], None]
"""Told what is being done now."""


def silent(what: str) -> None:
    """No progress shown."""


@dataclass(repr=False)
class Program:
    compiled: Compiled
    name: str
    cc: str | None
    compile_seconds: float
    """From the model to C."""
    quantisation: Report | None = None
    """What quantising has cost, layer by layer, if it was asked for."""
    settings: Settings = DEFAULT
    """What was asked of the target."""
    read_at: Callable[[Sizes], Graph] | None = field(default=None, repr=False, compare=False)
    """Reads the model again with these sizes of its dimensions, where they have ranges."""
    _builds: Builds = field(default=None, repr=False, compare=False)  # type: ignore[assignment]

    def __post_init__(self) -> None:
        if self._builds is None:
            self._builds = Builds(self.compiled.schedule, self.compiled.files, self.name, self.cc)

    def __repr__(self) -> str:
        schedule = self.compiled.schedule
        return f"<Program '{self.name or self.graph.name}' for {schedule.target.name}: {len(schedule.layers)} layers>"

    @property
    def graph(self) -> Graph:
        """The graph as imported."""
        return self.compiled.graph

    @property
    def files(self) -> Mapping[str, str]:
        """The generated C: file name to text."""
        return self.compiled.files

    @cached_property
    def dimensions(self) -> dict[str, tuple[int, int]]:
        """Dimensions whose size each call chooses, with their ranges."""
        return {symbol.name: (symbol.low, symbol.high) for symbol in symbols_of(self.graph)}

    def at(self, **sizes: int) -> Program:
        """The same program, whose reference is the model with these sizes of its dimensions."""
        read = present(self.read_at, "at", "the model has no dimensions with a range")
        for symbol in symbols_of(self.graph):
            check_size(symbol, sizes.get(symbol.name), "at")
        compiled, graph = self.compiled, read(sizes)
        passes = pipeline.reference_passes(compiled.schedule.target, self.settings)
        schedule = replace(compiled.schedule, graph=at_sizes(compiled.schedule.graph, sizes))
        lowered, quantised = at_sizes(compiled.lowered, sizes), apply(graph, passes)
        found = replace(compiled, graph=graph, quantised=quantised, lowered=lowered, schedule=schedule)
        return replace(self, compiled=found, read_at=None)

    @property
    def analysis(self) -> Analysis:
        return analysis_of(self.compiled.schedule)

    def save(self, folder: str | Path, weights: str = "c") -> list[str]:
        """Write the C into a folder, and return the names of its files. The folder appears complete or not at all.

        `weights="c"` writes weights as portable C; `"binary"` as a file for the assembler, for large networks.
        """
        return pipeline.save(self.compiled, Path(folder), self.name, weights)

    def export(self, folder: str | Path, kind: str) -> list[str]:
        """Write a firmware project around the C, such as "cmake" or "arduino", and return the names of its files."""
        schedule = self.compiled.schedule
        if kind not in projects.KINDS:
            raise CompileError(f"--as {kind}", "is unknown", f"use {', '.join(projects.KINDS)}, or onnx")
        if schedule.target.agents.has_runtime:
            raise CompileError(
                f"target {schedule.target.name}", "has a cluster, for which there are no projects",
                "`tilewright compile` writes a folder for it; or choose a target without one",
            )  # fmt: skip
        project = Project(schedule, self.compiled.quantised, self.name)
        return write_project(projects.files(kind, project), Path(folder))

    def build(self, per_layer: bool = False) -> HostProgram:
        """Compile the C for this machine. Later calls return the same build."""
        refuse_too_large(self.compiled.schedule.graph)
        return self._builds.host(TENSORS if per_layer else "")

    def load(self) -> LoadedNetwork:
        """Load the network as a library into this process: a function from arrays to arrays."""
        library = self._runs.library()
        return LoadedNetwork(library, self.compiled.schedule.graph, list(self._input_types), self.graph.output_names)

    @property
    def _runs(self) -> Runs:
        return runs_of(self.compiled.schedule, self._builds)

    @property
    def simulated(self) -> bool:
        """Whether it runs on the virtual SoC rather than on this machine."""
        return self.compiled.schedule.target.runner.chip is not None

    def build_soc(self) -> SocProgram | BoardProgram:
        """The C, prepared for building programs for the virtual SoC. Later calls return the same object."""
        return self._builds.soc()

    def save_elf(self, path: str | Path, inputs: Given) -> None:
        """Write the linked program for the SoC, with these inputs built in."""
        if has_step_axis(self._input_types, inputs):
            raise CompileError(
                "--elf", "the program holds the inputs of one call, not of --steps", "give the inputs of one call"
            )
        made = self._runs.elf(self._feeds(inputs))
        with written_whole(Path(path), "--elf") as file, open(made, "rb") as program:
            shutil.copyfileobj(program, file)

    def run(self, *inputs: Any, repeats: int = 1, per_layer: bool = False) -> Result:
        """Run on this machine, or on the target's virtual SoC.

        `inputs` are arrays (or tensors of a framework) in order, or one list, one mapping by name, or one .npz file.
        """
        feeds = self._feeds(inputs[0] if len(inputs) == 1 and isinstance(inputs[0], GIVEN) else inputs)
        return self._held(self._runs.run(feeds, repeats, per_layer))

    def _held(self, result: Result) -> Result:
        """The result, if nothing was quicker than the machine can be."""
        for cycles in result.step_cycles or filter(None, (result.cycles,)):
            self.analysis.least.hold(cycles)
        return result

    def run_steps(self, inputs: Given, steps: int | None = None, repeats: int = 1) -> Result:
        """Make consecutive calls, beginning with the initial state. Inputs and outputs have a first axis of steps."""
        return self._run_steps(split_steps(self._input_types, inputs, steps), repeats)

    def _run_steps(self, feeds: Sequence[Mapping[str, Array]], repeats: int) -> Result:
        return self._held(self._runs.run_steps(feeds, repeats))

    def _check_steps(
        self, inputs: Given | None, expected: Given | None, steps: int | None, tolerance: float, repeats: int,
        progress: Progress,
    ) -> Check:  # fmt: skip
        refuse_too_large(self.graph)
        if inputs is None:
            feeds = [self.random_inputs(seed) for seed in range(steps or 1)]
        else:
            feeds = split_steps(self._input_types, inputs, steps)
        wanted = None if expected is None else expected_steps(self.graph.output_names, expected, len(feeds))
        build_seconds = self._built_in(feeds[0], False, progress)
        result = self._run_steps(feeds, repeats)
        progress("computing the reference")
        judge = self._judge(tolerance) if wanted is None else None
        reference = reference_steps(self.compiled.quantised, feeds, judge.see) if judge else wanted or {}
        if judge and self._stored:
            reference = reference_steps(self._meaning, feeds)
        comparison = self._comparison
        outputs = compare_steps(
            result.outputs, reference, comparison.allowed(wanted is None), comparison.against_others(tolerance)
        )
        imported = judge.result(result.outputs) if judge else None
        return Check(result, outputs, (), self.analysis.memory(), self.compile_seconds, build_seconds, imported)

    def _built_in(self, feeds: Mapping[str, Array], per_layer: bool, progress: Progress) -> float:
        """Seconds that building takes."""
        self._runs.prepare()
        start = time.perf_counter()
        progress("compiling the C")
        self._runs.build(feeds, per_layer)
        progress(self._runs.doing)
        return time.perf_counter() - start

    @property
    def plan(self) -> Plan:
        """Tiles and memory on a target with a cluster."""
        plan = self.compiled.allocation
        if not isinstance(plan, Plan):
            raise CompileError(
                f"target '{self.compiled.schedule.target.name}'",
                "has no cluster to plan for",
                "`tilewright targets` lists others",
            )
        return plan

    def profile(self, inputs: Given | None = None) -> Profiled:
        """The time of each layer: of one watched run on the virtual SoC, or of the fastest of several runs here."""
        from tilewright.profiling.profilers import profile

        feeds = self.random_inputs() if inputs is None else self._feeds(inputs)
        return profile(self._runs.profiled(), feeds, self.compiled.schedule.graph.name)

    @property
    def memory_maps(self) -> tuple[MemoryMap, ...]:
        """The contents of the virtual SoC's memories, or of a computer's arena, over time."""
        from tilewright.profiling.profilers import maps

        return maps(self.compiled.schedule, self.compiled.allocation)

    def reference(self, inputs: Given) -> dict[str, Array]:
        """The reference outputs, computed with numpy; quantised layers are computed in integers."""
        meaning = self._meaning
        return meaning.outputs_by_name(evaluate(meaning, self._feeds(inputs)))

    def check(
        self, inputs: Given | None = None, expected: Given | None = None, *, tolerance: float = DEFAULT_TOLERANCE,
        repeats: int = 1, per_layer: bool = False, progress: Progress = silent, steps: int | None = None,
    ) -> Check:  # fmt: skip
        """Run, and compare the outputs with `expected`; by default random inputs, and the reference's outputs.

        With `steps`, or with a first axis of steps on all inputs, the calls are consecutive and states live from one to
        the next.
        """
        if not 0 <= tolerance < math.inf:
            raise CompileError(f"tolerance {tolerance}", "is not a number of at least 0", "for example 1e-4")
        if per_layer and not self._runs.keeps_tensors:
            raise CompileError(
                "--per-layer", "is not available on targets with a cluster, where memory of tensors is reused",
                "use --target generic, whose integers are the same",
            )  # fmt: skip
        if self.dimensions:
            return self._check_sizes(inputs, expected, tolerance, repeats, per_layer, progress, steps)
        if steps is not None or (inputs is not None and has_step_axis(self._input_types, inputs)):
            if per_layer:
                raise CompileError("--per-layer", "compares a single call, not --steps", "leave one of them out")
            return self._check_steps(inputs, expected, steps, tolerance, repeats, progress)
        feeds = self.random_inputs() if inputs is None else self._feeds(inputs)
        wanted = None if expected is None else self._expected(expected)
        build_seconds = self._built_in(feeds, per_layer, progress)
        result = self.run(feeds, repeats=repeats, per_layer=per_layer)
        progress("computing the reference")
        comparison, imported = self._comparison, None
        outputs = comparison.outputs(result.outputs, feeds, wanted, tolerance, self._tensors(result, feeds, progress))
        layers = comparison.layers(result.layers, feeds, tolerance) if per_layer else ()
        if wanted is None:
            progress("computing the model as imported")
            judge = self._judge(tolerance)
            judge.see(feeds, evaluate(self.compiled.quantised, feeds) if self._stored else comparison.values(feeds))
            imported = judge.result(result.outputs)
        return Check(result, outputs, layers, self.analysis.memory(), self.compile_seconds, build_seconds, imported)

    def _check_sizes(
        self, inputs: Given | None, expected: Given | None, tolerance: float, repeats: int, per_layer: bool,
        progress: Progress, steps: int | None,
    ) -> Check:  # fmt: skip
        """At the sizes of the inputs; without any, at the least and the most sizes and some between."""
        if steps is not None:
            raise CompileError("--steps", "are calls of one size each", "fix the sizes: --dim NAME=SIZE")
        if inputs is None:
            tried = checked_sizes(symbols_of(self.graph))
        else:
            types = self._input_types
            tried = [sizes_of(types, match(list(types), arrays_of(inputs, "input"), "inputs"))]
        options: dict[str, Any] = {"tolerance": tolerance, "repeats": repeats, "per_layer": per_layer}
        found = [(sizes, self.at(**sizes).check(inputs, expected, progress=progress, **options)) for sizes in tried]
        return joined_checks([check.at(said(sizes)) for sizes, check in found])

    def _judge(self, tolerance: float) -> Judge:
        passes = pipeline.reference_passes(self.compiled.schedule.target, self.settings)
        return Judge(self.graph, self.compiled.quantised, passes, tolerance or DEFAULT_TOLERANCE)

    @property
    def _comparison(self) -> Comparison:
        return Comparison(self.graph, self._meaning, self.compiled.schedule.graph, self._stored)

    @property
    def _stored(self) -> str:
        """The element type of 16 bits that layers are stored in, if that was asked for."""
        return "" if self.settings.precision == DEFAULT.precision else PRECISIONS[self.settings.precision]

    @property
    def _meaning(self) -> Graph:
        """What the reference computes: in 16 bits, where that was asked for, what the target's kernels compute so."""
        return self.compiled.lowered if self._stored else self.compiled.quantised

    def _tensors(
        self, result: Result, feeds: Mapping[str, Array], progress: Progress
    ) -> Callable[[], Mapping[str, Array]] | None:
        """Gives all tensors of a run, if need be of another; with a cluster they live only while they are needed."""

        def tensors() -> Mapping[str, Array]:
            progress("comparing roundings")
            return result.layers or self.run(feeds, per_layer=True).layers

        return tensors if self._runs.keeps_tensors else None

    def _expected(self, given: Given) -> dict[str, Array]:
        return match(self.graph.output_names, arrays_of(given, "expected output"), "expected outputs")

    def random_inputs(self, seed: int = 0, **sizes: int) -> dict[str, Array]:
        """Reproducible random inputs of the model's types; `sizes` of open dimensions are the largest by default."""
        most = {name: high for name, (_, high) in self.dimensions.items()}
        return made_up_inputs(at_sizes(self.graph, {**most, **sizes}) if most else self.graph, seed)

    @property
    def _input_types(self) -> dict[str, TensorType]:
        return input_types(self.graph)

    def _feeds(self, inputs: Given) -> dict[str, Array]:
        return given_inputs(self.graph, inputs)


@contextmanager
def _without_collecting() -> Iterator[None]:
    """Nearly nothing of what compiling makes is garbage in circles, which Python would look for again and again."""
    was_on = gc.isenabled()
    gc.disable()
    try:
        yield
    finally:
        if was_on:
            gc.enable()


@_without_collecting()
def compile_model(
    model: Any, example_inputs: Given | None = None, target: str = "", *, board: str | Path = "",
    dims: Mapping[str, int | tuple[int, int]] | None = None, dtypes: Mapping[str, str] | None = None,
    name: str | None = None, cc: str | None = None, settings: Settings = DEFAULT, progress: Progress = silent,
    shapes: Mapping[str, Sequence[int]] | None = None, bind: Mapping[str, Any] | None = None,
    states: Mapping[str, str] | None = None, tflite_rounding: str = "", quantise: Any = None,
    quantise_options: Options | None = None, check_export: bool = True, max_trips: int | None = None,
    random_seed: int | None = None, **options: Unpack[Asked],
) -> Program:  # fmt: skip
    """Compile a model to C.

    `model` is an ONNX or TensorFlow Lite file, its bytes, a loaded ONNX model, or a model of PyTorch, Keras, TensorFlow
    or JAX.

    - `example_inputs`: shapes and types of the inputs of a PyTorch module, a Keras model or a JAX function. For ONNX
      models they choose the width of integer inputs that the file declares as floats.
    - `target`: the name of a target; `generic` by default.
    - `board`: the name of a board, or a .toml file that describes one. It implies the target.
    - `dims`: sizes of symbolic dimensions, or ranges (`{"batch": (1, 8)}`) within which each call chooses a size.
    - `dtypes`: element types of integer inputs that the file declares as floats.
    - `shapes`, `bind`: whole shapes of inputs; inputs that become constants, with their values.
    - `states`: inputs that each call takes from an output of the call before, as `{input: output}`.
    - `name`: the prefix of public symbols in C.
    - `cc`: the C compiler that `run` uses.
    - `settings`, `options`: what to ask of the target, as a `Settings`, or as keywords named like its fields or like
      command-line options: `cores`, `numerics`, `accelerators` (folders, docs/accelerators.md), `kernels` (folders,
      docs/own_kernels.md), `cpu`, `threads`, `pin` and all others.
    - `tflite_rounding`: the runtime to agree with bit by bit for a quantised TensorFlow Lite model: micro (the
      default), reference, optimised, single or float.
    - `quantise`, `quantise_options`: samples of the inputs (arrays with a first axis of samples, or an .npz file), by
      which a float network is quantised to integers. `program.quantisation` reports the error.
    - `check_export`: whether to compare a framework's model with what the framework computes on the example inputs.
    - `max_trips`: the most iterations of loops whose count depends on data.
    - `random_seed`: draws a model's random numbers once, at compile time. Without it, a model that needs any is
      refused.
    - `progress`: a function that is called with what is being done.
    """
    settings, target = with_options(settings, options), targets.named_or_board(target, str(board))
    start = time.perf_counter()
    progress("reading the model")
    options_of_model: dict[str, Any] = {
        "dims": checked_dims(dims or {}), "dtypes": dtypes or {}, "shapes": shapes or {}, "bind": bind or {},
        "states": states or {}, "tflite_rounding": tflite_rounding, "check_export": check_export,
        "max_trips": max_trips, "random_seed": random_seed,
    }  # fmt: skip
    sampled = partial(_quantised_by, quantise, quantise_options, progress)

    def planned(chosen: Settings, noted: Callable[[Graph], Graph]) -> Program:
        imported = pipeline.import_model(model, example_inputs, target, chosen.optimise, **options_of_model)
        graph, report = sampled(noted(imported))
        results = []
        made = pipeline.stages(graph, target, name or "", chosen)
        for result, following in zip(made, [*STAGES[1:], ""], strict=True):
            results.append(result)
            progress(_DOING.get(following, ""))
        read_at = partial(_read_at, model, example_inputs, options_of_model) if symbols_of(graph) else None
        return Program(Compiled(*results), name or "", cc, time.perf_counter() - start, report, chosen, read_at)

    made = or_with_less_ram(target, settings, planned)
    if made.dimensions:
        least = {name: low for name, (low, _) in made.dimensions.items()}
        at = made.at(**least).compiled
        check_meaning(at.quantised, at.schedule.graph, said(least))
    return made


def _read_at(model: Any, example_inputs: Given | None, options: Mapping[str, Any], sizes: Sizes) -> Graph:
    """The model with dimensions of these sizes."""
    return pipeline.import_model(model, example_inputs, **{**options, "dims": {**options["dims"], **sizes}})


def _quantised_by(
    samples: Any, options: Options | None, progress: Progress, graph: Graph
) -> tuple[Graph, Report | None]:
    """By samples, if there are any."""
    if samples is None:
        return graph, None
    if symbols_of(graph):
        what = "quantising with samples is for dimensions of one size"
        raise CompileError("quantise", what, "fix them: --dim NAME=SIZE; or quantise to a file first")
    found = _quantised(graph, samples, options, progress)
    return found.graph, found.report


def _quantised(graph: Graph, samples: Any, options: Options | None, progress: Progress) -> Quantised:
    """The quantiser is loaded by those who ask for it."""
    from tilewright.quantiser.quantise import DEFAULT, quantise

    return quantise(graph, samples, options or DEFAULT, progress=_counted(progress))


def _counted(progress: Progress) -> Callable[[str, int, int], None]:
    return lambda what, done, total: progress(f"{what} {done}/{total}")


_DOING = {
    "quantised": "quantising", "lowered": "rewriting the graph", "fitted": "fitting layers to memories",
    "mapped": "choosing kernels", "tiled": "planning memory", "schedule": "scheduling", "c": "writing C",
}  # fmt: skip
"""What goes on before a stage is reached."""
