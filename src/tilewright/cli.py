"""The command line: analyze, compile, run, ops, targets."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from tilewright import __version__
from tilewright.cli_calibrate import calibrate
from tilewright.cli_sim import sim
from tilewright.command import AGREES, DISAGREES, print_json, progress_display, run_command, show, uninterrupted
from tilewright.errors import CompileError, printable

if TYPE_CHECKING:
    from tilewright.analysis import Analysis
    from tilewright.ir import Graph
    from tilewright.program import Check
    from tilewright.target import Settings

app = typer.Typer(
    name="tilewright", help="Any trained network in, bare-metal C out.", no_args_is_help=True,
    pretty_exceptions_enable=False, context_settings={"help_option_names": ["-h", "--help"]},
)  # fmt: skip


app.command()(calibrate)
app.command()(sim)


def main(arguments: Sequence[str] | None = None) -> None:
    run_command(app, arguments)


def complete_stage() -> list[str]:
    from tilewright.pipeline import STAGES

    return list(STAGES)


def complete_target() -> list[str]:
    from tilewright import targets

    return targets.names()


def complete_onnx_stage() -> list[str]:
    from tilewright.pipeline import STAGES

    return list(STAGES[:-1])


Model = Annotated[Path, typer.Argument(help="An ONNX file.")]
TargetName = Annotated[
    str,
    typer.Option(
        "--target", help="What to compile for; `tilewright targets` lists them.", autocompletion=complete_target
    ),
]
Name = Annotated[str, typer.Option("--name", help="Prefix of the public C symbols; the file's name by default.")]
Dims = Annotated[
    list[str] | None, typer.Option("--dim", metavar="NAME=SIZE", help="Size of a symbolic dimension. Repeatable.")
]
Dtypes = Annotated[
    list[str] | None,
    typer.Option("--dtype", metavar="INPUT=TYPE", help="Type of an integer input that is declared FLOAT. Repeatable."),
]
Json = Annotated[bool, typer.Option("--json", help="Print one JSON object on stdout and nothing else there.")]
Emit = Annotated[
    str,
    typer.Option(
        "--emit", metavar="STAGE", help="Print graph, quantised, lowered, mapped, tiled, schedule or c, and stop.",
        autocompletion=complete_stage,
    ),
]  # fmt: skip
OnnxFile = Annotated[
    Path | None, typer.Option("--onnx", metavar="FILE", help="Write a stage as ONNX, to look at in Netron, and stop.")
]
OnnxStage = Annotated[
    str,
    typer.Option("--stage", help="For --onnx: any stage but c.", autocompletion=complete_onnx_stage),
]
Folder = Annotated[Path | None, typer.Option("-o", "--output", help="Folder for the C; MODEL_c by default.")]
InputFile = Annotated[Path | None, typer.Option("--inputs", help="Inputs as .npz; random ones without it.")]
ExpectFile = Annotated[Path | None, typer.Option("--expect", help="Expected outputs as .npz; numpy's without it.")]
PerLayer = Annotated[bool, typer.Option("--per-layer", help="Compare every intermediate tensor with the reference.")]
Repeat = Annotated[int, typer.Option("--repeat", min=1, help="Runs; the fastest is reported.")]
Tolerance = Annotated[float, typer.Option("--tolerance", min=0.0, help="For floats, relative to the output's scale.")]
Cc = Annotated[str | None, typer.Option("--cc", help="C compiler; $CC or the pip-installed zig by default.")]


Cores = Annotated[int | None, typer.Option("--cores", min=1, help="Cores of the cluster to use.")]
L1 = Annotated[int | None, typer.Option("--l1", metavar="BYTES", min=1, help="Bytes of L1 to use.")]
L2 = Annotated[int | None, typer.Option("--l2", metavar="BYTES", min=1, help="Bytes of L2 to use.")]
HomeMemory = Annotated[str, typer.Option("--home", metavar="L2|L3", help="Where constants live; L2 if they fit.")]
Buffering = Annotated[str, typer.Option("--buffering", help="single, double or auto.")]
Engines = Annotated[str, typer.Option("--engines", help="Engines to use, by name, with commas; all by default.")]
TimeLimit = Annotated[float, typer.Option("--time-limit", min=0.0, help="Work of the solver, in about seconds.")]


def _show_version(wanted: bool) -> None:
    if wanted:
        print(f"tilewright {__version__}")
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
    onnx: OnnxFile = None, stage: OnnxStage = "graph",
    cores: Cores = None, l1: L1 = None, l2: L2 = None, home: HomeMemory = "", buffering: Buffering = "auto",
    engines: Engines = "", time_limit: TimeLimit = 10.0, as_json: Json = False,
) -> int:  # fmt: skip
    """Say what a network costs and what is not supported; build nothing."""
    settings = _settings(cores, l1, l2, home, buffering, engines, time_limit)
    from tilewright import pipeline
    from tilewright.analysis import analysis_of

    with progress_display() as progress:
        progress("reading the model")
        graph = pipeline.import_model(model, dims=_sizes(dim), dtypes=_pairs("--dtype", dtype))
        if emit or onnx:
            return _emit(graph, target, "", emit, onnx, stage, as_json, settings)
        progress("planning memory")
        found = analysis_of(pipeline.stage(graph, target, "schedule", settings=settings))
    if as_json:
        print_json({"status": "ok", **found.as_dict()})
    else:
        _print_analysis(found)
    return AGREES


@app.command("compile")
def compile_command(
    model: Model, target: TargetName = "generic", output: Folder = None, name: Name = "", dim: Dims = None,
    dtype: Dtypes = None, emit: Emit = "", onnx: OnnxFile = None, stage: OnnxStage = "graph",
    cores: Cores = None, l1: L1 = None, l2: L2 = None, home: HomeMemory = "", buffering: Buffering = "auto",
    engines: Engines = "", time_limit: TimeLimit = 10.0, as_json: Json = False,
) -> int:  # fmt: skip
    """Compile a network to a folder of C."""
    settings = _settings(cores, l1, l2, home, buffering, engines, time_limit)
    from tilewright import pipeline
    from tilewright.program import compile_model

    options: dict[str, Any] = {"dims": _sizes(dim), "dtypes": _pairs("--dtype", dtype)}
    if emit or onnx:
        return _emit(pipeline.import_model(model, **options), target, name, emit, onnx, stage, as_json, settings)
    folder = output or Path(f"{model.stem}_c")
    with progress_display() as progress:
        program = compile_model(model, target, name=name, settings=settings, progress=progress, **options)
        with uninterrupted():
            program.save(folder)
    if as_json:
        written = {"output": str(folder), "files": sorted(program.files), "compile_seconds": program.compile_seconds}
        print_json({"status": "ok", **program.analysis.as_dict(), **written})
    else:
        _print_analysis(program.analysis)
        _print_written(folder, len(program.files), program.compile_seconds)
    return AGREES


@app.command()
def run(
    model: Model, target: TargetName = "generic", inputs: InputFile = None, expect: ExpectFile = None,
    per_layer: PerLayer = False, repeat: Repeat = 1, tolerance: Tolerance = 1e-4, cc: Cc = None, name: Name = "",
    dim: Dims = None, dtype: Dtypes = None, emit: Emit = "", cores: Cores = None, l1: L1 = None,
    l2: L2 = None, home: HomeMemory = "", buffering: Buffering = "auto", engines: Engines = "",
    time_limit: TimeLimit = 10.0, as_json: Json = False,
) -> int:  # fmt: skip
    """Compile a network, run it on this machine, and check its outputs."""
    settings = _settings(cores, l1, l2, home, buffering, engines, time_limit)
    from tilewright import pipeline
    from tilewright.program import compile_model

    options: dict[str, Any] = {"dims": _sizes(dim), "dtypes": _pairs("--dtype", dtype)}
    if emit:
        return _emit(pipeline.import_model(model, **options), target, name, emit, None, "graph", as_json, settings)
    with progress_display() as progress:
        program = compile_model(
            model,
            target,
            name=name,
            cc=cc,
            samples=inputs,
            settings=settings,
            progress=progress,
            **options,
        )
        check = program.check(
            inputs, expect, tolerance=tolerance, repeats=repeat, per_layer=per_layer, progress=progress
        )
    if as_json:
        print_json(check.as_dict())
    else:
        _print_check(program.analysis, check, "the reference" if expect is None else str(expect))
    return AGREES if check.agrees else DISAGREES


@app.command()
def ops(target: TargetName = "generic", as_json: Json = False) -> int:
    """List the operators."""
    from tilewright import ops as operators
    from tilewright import targets
    from tilewright.report import catalogue
    from tilewright.report.console import console

    found, on = operators.all_operators(), targets.find(target)
    if as_json:
        print_json({"status": "ok", "target": on.name, "operators": [catalogue.operator(kind, on) for kind in found]})
    else:
        catalogue.print_operators(console(), found, on)
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


def _settings(
    cores: int | None, l1: int | None, l2: int | None, home: str, buffering: str, engines: str, time_limit: float
) -> Settings:
    from tilewright.target import Settings

    if buffering not in ("single", "double", "auto"):
        raise CompileError(f"--buffering {buffering}", "is unknown", "use single, double or auto")
    names = tuple(filter(None, engines.split(",")))
    return Settings(cores, l1, l2, home, buffering, names, time_limit)


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


def _pairs(option: str, words: Sequence[str] | None) -> dict[str, str]:
    """`name=value` words; a name may hold an equals sign, a value not."""
    found = {}
    for word in words or ():
        name, sign, value = word.rpartition("=")
        if not sign or not name or not value:
            example = f"{word}=1" if option == "--dim" else "input=int8"
            raise CompileError(f"{option} {word}", "is not NAME=VALUE", f"for example {option} {example}")
        found[name] = value
    return found


def _sizes(words: Sequence[str] | None) -> dict[str, int]:
    sizes = {}
    for name, value in _pairs("--dim", words).items():
        if not value.isascii() or not value.isdigit() or len(value) > 10:
            raise CompileError(f"--dim {name}={value}", "the size is not a whole number", f"for example --dim {name}=1")
        sizes[name] = int(value)
    return sizes


def _print_analysis(found: Analysis) -> None:
    from tilewright.report import tables
    from tilewright.report.console import console

    tables.print_layers(console(), found)
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
