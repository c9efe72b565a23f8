"""`tilewright compile`: a network as a folder of C."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from tilewright.cli.analyze import print_analysis
from tilewright.cli.binding import Binding
from tilewright.cli.emit import DEVICE_CODE, device_code_of, emit_stage
from tilewright.cli.options import Emit, Json, Model, Name, OnnxFile, OnnxStage, Planning, TargetName
from tilewright.cli.process import AGREES, print_json, progress_display, uninterrupted

Folder = Annotated[Path | None, typer.Option("-o", "--output", help="Folder for the C; MODEL_c by default.")]
Weights = Annotated[
    str,
    typer.Option(
        "--weights",
        metavar="c|binary",
        help="Constants as C arrays, or as a binary file that the assembler includes (faster to build).",
    ),
]


def compile_command(
    model: Model, binding: Binding, planning: Planning, target: TargetName = "", output: Folder = None,
    name: Name = "", emit: Emit = "", onnx: OnnxFile = None, stage: OnnxStage = "graph", weights: Weights = "c",
    as_json: Json = False,
) -> int:  # fmt: skip
    """Compile a network to a folder of C."""
    from tilewright import pipeline
    from tilewright.program import compile_model

    settings, options = planning.settings(), binding.options()
    target = planning.target(target)
    if (emit and emit not in DEVICE_CODE) or onnx:
        graph = pipeline.import_model(model, target_name=target, goal=settings.optimise, **options)
        return emit_stage(graph, target, name, emit, onnx, stage, as_json, settings)
    folder = output or Path(f"{model.stem}_c")
    with progress_display() as progress:
        program = compile_model(model, target=target, name=name, settings=settings, progress=progress, **options)
        beside = device_code_of(program, emit) if emit else {}
        with uninterrupted():
            files = [*program.save(folder, weights), *beside]
            for file, code in beside.items():
                (folder / file).write_bytes(code)
    if as_json:
        written = {"output": str(folder), "files": files, "compile_seconds": program.compile_seconds}
        print_json("compile", {"status": "ok", **program.analysis.as_dict(), **written})
    else:
        print_analysis(program.analysis)
        _print_written(folder, len(files), program.compile_seconds)
    return AGREES


def _print_written(folder: Path, files: int, seconds: float) -> None:
    from tilewright.report import tables
    from tilewright.report.console import console

    tables.print_written(console(), folder, files, seconds)
