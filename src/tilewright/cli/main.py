"""The command line: analyze, compile, run, ops, targets."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from itertools import islice
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from tilewright.cli.accelerator import app as accelerator_app
from tilewright.cli.binding import Shapes, States, Values, model_options
from tilewright.cli.calibrate import calibrate
from tilewright.cli.export import export
from tilewright.cli.generate import GenerateCommand, generate
from tilewright.cli.options import (
    L1,
    L2,
    Accelerators,
    Buffering,
    Cc,
    Clock,
    CodeInL1,
    Cores,
    Dims,
    Dtypes,
    ElfFile,
    Emit,
    Engines,
    ExpectFile,
    Explain,
    Folder,
    HomeMemory,
    InputFile,
    Isa,
    Json,
    MemorySizes,
    Model,
    Name,
    Numerics,
    OnnxFile,
    OnnxStage,
    PackWeights,
    PerLayer,
    Place,
    Repeat,
    Steps,
    TargetName,
    TfliteRounding,
    TimeLimit,
    Tolerance,
    WeightMemory,
    Weights,
    complete_onnx_stage,
    settings_of,
)
from tilewright.cli.process import AGREES, DISAGREES, print_json, progress_display, run_command, show, uninterrupted
from tilewright.cli.profile import profile
from tilewright.cli.quantise import quantise
from tilewright.cli.sim import sim
from tilewright.errors import CompileError, printable
from tilewright.version import VERSION

if TYPE_CHECKING:
    from tilewright.analysis.costs import Analysis
    from tilewright.analysis.explain import Explanation
    from tilewright.ir.graph import Graph
    from tilewright.program import Check
    from tilewright.target.settings import Settings

app = typer.Typer(
    name="tilewright", help="Any trained network in, bare-metal C out.", no_args_is_help=True,
    pretty_exceptions_enable=False, context_settings={"help_option_names": ["-h", "--help"]},
)  # fmt: skip


app.add_typer(accelerator_app, name="accelerator")
app.command()(calibrate)
app.command()(export)
app.command(cls=GenerateCommand)(generate)
app.command()(profile)
app.command()(quantise)
app.command()(sim)


def main(arguments: Sequence[str] | None = None) -> None:
    run_command(app, arguments)


def _show_version(wanted: bool) -> None:
    if wanted:
        print(f"tilewright {VERSION}")
        raise typer.Exit


@app.callback()
def options(
    version: Annotated[
        bool, typer.Option("--version", callback=_show_version, is_eager=True, help="Show the version and exit.")
    ] = False,
) -> None:
    """Any trained network in, bare-metal C out."""


@app.command()
def analyze(
    model: Model, target: TargetName = "generic", dim: Dims = None, dtype: Dtypes = None, emit: Emit = "",
    shape: Shapes = None, bind: Values = None, state: States = None,
    onnx: OnnxFile = None, stage: OnnxStage = "graph",
    cores: Cores = None, l1: L1 = None, l2: L2 = None, home: HomeMemory = "", buffering: Buffering = "auto",
    engines: Engines = "", weight_memory: WeightMemory = "on", place: Place = None, memory: MemorySizes = None,
    code_in_l1: CodeInL1 = False, time_limit: TimeLimit = 10.0, explain: Explain = False, as_json: Json = False,
    tflite_rounding: TfliteRounding = "", numerics: Numerics = "", pack_weights: PackWeights = False,
    isa: Isa = "", clock: Clock = None, accelerator: Accelerators = None,
) -> int:  # fmt: skip
    """Say what a network costs and what is not supported; build nothing."""
    from tilewright import pipeline
    from tilewright.analysis.costs import analysis_of
    from tilewright.analysis.explain import explain as explained

    settings = settings_of(
        cores, l1, l2, home, buffering, engines, weight_memory, place, time_limit, memory, code_in_l1, numerics,
        pack_weights, isa, clock, accelerator,
    )  # fmt: skip
    with progress_display() as progress:
        progress("reading the model")
        graph = pipeline.import_model(model, **model_options(dim, dtype, shape, bind, tflite_rounding, state))
        if emit or onnx:
            return _emit(graph, target, "", emit, onnx, stage, as_json, settings)
        progress("planning memory")
        until_schedule = pipeline.STAGES.index("schedule") + 1
        *_, mapped, _, schedule = islice(pipeline.stages(graph, target, settings=settings), until_schedule)
    found, reasons = analysis_of(schedule), explained(mapped, schedule) if explain else []
    if as_json:
        shown = {"explanations": [one.as_dict() for one in reasons]} if explain else {}
        print_json({"status": "ok", **found.as_dict(), **shown})
    elif explain:
        _print_explanations(found, reasons)
    else:
        _print_analysis(found)
    return AGREES


@app.command("compile")
def compile_command(
    model: Model, target: TargetName = "generic", output: Folder = None, name: Name = "", dim: Dims = None,
    dtype: Dtypes = None, emit: Emit = "", onnx: OnnxFile = None, stage: OnnxStage = "graph",
    shape: Shapes = None, bind: Values = None, state: States = None,
    cores: Cores = None, l1: L1 = None, l2: L2 = None, home: HomeMemory = "", buffering: Buffering = "auto",
    engines: Engines = "", weight_memory: WeightMemory = "on", place: Place = None, memory: MemorySizes = None,
    code_in_l1: CodeInL1 = False, time_limit: TimeLimit = 10.0, weights: Weights = "c", as_json: Json = False,
    tflite_rounding: TfliteRounding = "", numerics: Numerics = "", pack_weights: PackWeights = False,
    isa: Isa = "", clock: Clock = None, accelerator: Accelerators = None,
) -> int:  # fmt: skip
    """Compile a network to a folder of C."""
    from tilewright import pipeline
    from tilewright.program import compile_model

    settings = settings_of(
        cores, l1, l2, home, buffering, engines, weight_memory, place, time_limit, memory, code_in_l1, numerics,
        pack_weights, isa, clock, accelerator,
    )  # fmt: skip
    options = model_options(dim, dtype, shape, bind, tflite_rounding, state)
    if emit or onnx:
        return _emit(pipeline.import_model(model, **options), target, name, emit, onnx, stage, as_json, settings)
    folder = output or Path(f"{model.stem}_c")
    with progress_display() as progress:
        program = compile_model(model, target=target, name=name, settings=settings, progress=progress, **options)
        with uninterrupted():
            files = program.save(folder, weights)
    if as_json:
        written = {"output": str(folder), "files": files, "compile_seconds": program.compile_seconds}
        print_json({"status": "ok", **program.analysis.as_dict(), **written})
    else:
        _print_analysis(program.analysis)
        _print_written(folder, len(files), program.compile_seconds)
    return AGREES


@app.command()
def run(
    model: Model, target: TargetName = "generic", inputs: InputFile = None, expect: ExpectFile = None,
    per_layer: PerLayer = False, repeat: Repeat = 1, tolerance: Tolerance = 1e-4, cc: Cc = None, name: Name = "",
    dim: Dims = None, dtype: Dtypes = None, shape: Shapes = None, bind: Values = None, state: States = None,
    emit: Emit = "", cores: Cores = None, l1: L1 = None, l2: L2 = None, home: HomeMemory = "",
    buffering: Buffering = "auto", engines: Engines = "",
    weight_memory: WeightMemory = "on", place: Place = None, memory: MemorySizes = None,
    code_in_l1: CodeInL1 = False, time_limit: TimeLimit = 10.0, elf: ElfFile = None, as_json: Json = False,
    steps: Steps = None,
    tflite_rounding: TfliteRounding = "", numerics: Numerics = "", pack_weights: PackWeights = False,
    isa: Isa = "", clock: Clock = None, accelerator: Accelerators = None,
) -> int:  # fmt: skip
    """Compile a network, run it on this machine or its virtual SoC, and check its outputs."""
    from tilewright import pipeline
    from tilewright.program import compile_model

    settings = settings_of(
        cores, l1, l2, home, buffering, engines, weight_memory, place, time_limit, memory, code_in_l1, numerics,
        pack_weights, isa, clock, accelerator,
    )  # fmt: skip
    options = model_options(dim, dtype, shape, bind, tflite_rounding, state)
    if emit:
        return _emit(pipeline.import_model(model, **options), target, name, emit, None, "graph", as_json, settings)
    with progress_display() as progress:
        options |= {"example_inputs": inputs, "settings": settings, "progress": progress}
        program = compile_model(model, target=target, name=name, cc=cc, **options)
        if elf is not None:
            program.save_elf(elf, program.random_inputs() if inputs is None else inputs)
        check = program.check(
            inputs, expect, tolerance=tolerance, repeats=repeat, per_layer=per_layer, progress=progress, steps=steps
        )
    if as_json:
        found = program.analysis
        said = {**found.numerics(), **found.accelerators(), "notes": list(found.notes)}
        print_json({**check.as_dict(), **said})
    else:
        _print_check(program.analysis, check, "the reference" if expect is None else str(expect))
    return AGREES if check.agrees else DISAGREES


@app.command()
def ops(target: TargetName = "generic", as_json: Json = False) -> int:
    """List the operators, and what is accepted by decomposition or folded."""
    from tilewright import ops as operators
    from tilewright import targets
    from tilewright.frontends import accepted
    from tilewright.report import catalogue
    from tilewright.report.console import console

    found, on = operators.all_operators(), targets.find(target)
    if as_json:
        others = {"defined": accepted.by_definition(), "folded": accepted.only_folded()}
        listed = [catalogue.operator(kind, on) for kind in found]
        print_json({"status": "ok", "target": on.name, "operators": listed, **others})
    else:
        catalogue.print_operators(console(), found, on)
        catalogue.print_others(console(), accepted.by_definition(), accepted.only_folded())
    return AGREES


@app.command("targets")
def targets_command(as_json: Json = False) -> int:
    """List the targets."""
    from tilewright import targets
    from tilewright.report import catalogue
    from tilewright.report.console import console

    found = [targets.find(name) for name in targets.names()]
    if as_json:
        print_json({"status": "ok", "targets": [catalogue.target(entry) for entry in found]})
    else:
        catalogue.print_targets(console(), found)
    return AGREES


def _emit(
    graph: Graph, target: str, name: str, emit: str, onnx: Path | None, stage: str, as_json: bool, settings: Settings
) -> int:
    """Print a stage, or write it as ONNX."""
    from tilewright import pipeline

    if onnx is not None:
        return _write_onnx(graph, target, onnx, stage, as_json, settings)
    if emit not in pipeline.STAGES:
        raise CompileError(f"--emit {emit}", "there is no such stage", f"stages: {', '.join(pipeline.STAGES)}")
    text = _stage_text(pipeline.stage(graph, target, emit, name, settings))
    if as_json:
        print_json({"status": "ok", "stage": emit, "text": text})
    else:
        show(text)
    return AGREES


def _stage_text(result: Any) -> str:
    """A stage as text; of the C, the files that are about this network."""
    if not isinstance(result, Mapping):
        return str(result)
    return "\n".join(f"/* ---- {name} ---- */\n{result[name]}" for name in ("network.h", "network.c"))


def _write_onnx(graph: Graph, target: str, path: Path, stage: str, as_json: bool, settings: Settings) -> int:
    from tilewright import pipeline
    from tilewright.frontends import onnx_writer

    if stage not in complete_onnx_stage():
        raise CompileError(f"--stage {stage}", "there is no such stage", f"stages: {', '.join(complete_onnx_stage())}")
    drawn, remarks = pipeline.drawing(pipeline.stage(graph, target, stage, settings=settings))
    onnx_writer.save(drawn, path, remarks)
    if as_json:
        print_json({"status": "ok", "stage": stage, "onnx": str(path)})
    else:
        show(printable(f"stage {stage} written to {path}"))
    return AGREES


def _print_analysis(found: Analysis) -> None:
    from tilewright.report import tables
    from tilewright.report.console import console

    tables.print_layers(console(), found)
    tables.print_totals(console(), found)


def _print_explanations(found: Analysis, reasons: list[Explanation]) -> None:
    from tilewright.report import explanation_table, tables
    from tilewright.report.console import console

    explanation_table.print_explanations(console(), f"{found.name} on {found.target}", reasons)
    tables.print_totals(console(), found)


def _print_written(folder: Path, files: int, seconds: float) -> None:
    from tilewright.report import tables
    from tilewright.report.console import console

    tables.print_written(console(), folder, files, seconds)


def _print_check(analysis: Analysis, check: Check, against: str) -> None:
    from tilewright.report import tables
    from tilewright.report.console import console

    _print_analysis(analysis)
    tables.print_check(console(), check, against)
