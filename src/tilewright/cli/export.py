"""`tilewright export`: a network, however it came, as a standard ONNX file or as a project of somebody's ecosystem."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from tilewright.cli.binding import Binding
from tilewright.cli.options import Json, Model, Name, Planning, complete_target
from tilewright.cli.process import AGREES, print_json, progress_display, show, uninterrupted
from tilewright.errors import CompileError, printable
from tilewright.target.settings import DEFAULT

ONNX = "onnx"


def complete_kind() -> list[str]:
    from tilewright.codegen.projects import KINDS

    return [ONNX, *KINDS]


Output = Annotated[
    Path | None,
    typer.Option(
        "-o", "--output", metavar="PLACE", help="The file or folder to write; MODEL.onnx or MODEL_KIND by default."
    ),
]
ShortWeights = Annotated[
    bool, typer.Option("--int4", help="ONNX: store quantised weights that fit 4 bits as int4 or uint4.")
]
As = Annotated[
    str,
    typer.Option(
        "--as", metavar="KIND", autocompletion=complete_kind,
        help="onnx, or a firmware project: cmake, zephyr, arduino, platformio, cmsis-pack, mlperf-tiny, esp-idf, "
        "pico-sdk.",
    ),
]  # fmt: skip
ProjectTarget = Annotated[
    str,
    typer.Option(
        "--target", help="Firmware projects: what to compile for; generic by default.", autocompletion=complete_target
    ),
]  # fmt: skip


def export(
    model: Model, binding: Binding, planning: Planning, kind: As = ONNX, target: ProjectTarget = "",
    output: Output = None, name: Name = "", short_weights: ShortWeights = False, as_json: Json = False,
) -> int:  # fmt: skip
    """Write a network as a standard ONNX file, or as a firmware project with its C."""
    if kind == ONNX:
        if target or name or planning.settings() != DEFAULT or planning.board_name:
            raise CompileError(
                "--as onnx",
                "has no target, board or other compile options",
                "leave them out, or choose a project: --as cmake",
            )
        return _to_onnx(model, binding, output, short_weights, as_json)
    if short_weights:
        raise CompileError("--int4", "is for --as onnx", "leave it out; in C, --pack-weights stores weights in 4 bits")
    return _to_project(model, binding, planning, kind, planning.target(target), output, name, as_json)


def _to_onnx(model: Path, binding: Binding, output: Path | None, short_weights: bool, as_json: bool) -> int:
    from tilewright import export as room
    from tilewright import pipeline
    from tilewright.run.beside_onnxruntime import Beside, beside_onnxruntime, rounds_otherwise

    place = output or Path(f"{model.stem}.onnx")
    if place.exists() and model.exists() and place.samefile(model):
        raise CompileError(str(place), "is the model itself", "choose another -o")
    with progress_display() as progress:
        progress("reading the model")
        graph = pipeline.import_model(model, **binding.options())
        with uninterrupted():
            room.save(graph, place, short_weights)
        progress("running it in ONNX Runtime")
        beside = beside_onnxruntime(graph, place) if rounds_otherwise(graph) else Beside()
    if as_json:
        found = {"onnx": str(place), "nodes": len(graph.nodes), "notes": [*graph.notes, *filter(None, [beside.remark])]}
        far = {"distances": [one.as_dict() for one in beside.outputs]} if beside.outputs else {}
        print_json("export-onnx", {"status": "ok", **found, **far})
    else:
        show(printable("\n".join([f"{len(graph.nodes)} operators written to {place}", *beside.lines])))
    return AGREES


def _to_project(
    model: Path, binding: Binding, planning: Planning, kind: str, target: str, output: Path | None, name: str,
    as_json: bool,
) -> int:  # fmt: skip
    from tilewright.program import compile_model

    place = output or Path(f"{model.stem}_{kind.replace('-', '_')}")
    with progress_display() as progress:
        options = {"settings": planning.settings(), "progress": progress, **binding.options()}
        program = compile_model(model, target=target, name=name, **options)
        with uninterrupted():
            files = program.export(place, kind)
    if as_json:
        print_json(
            "export-project",
            {"status": "ok", **program.analysis.as_dict(), "as": kind, "output": str(place), "files": files},
        )
    else:
        show(printable(f"{len(files)} files written to {place}: see README.md there"))
    return AGREES
