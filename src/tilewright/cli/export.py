"""`tilewright export`: a network, however it came, as a standard ONNX file."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from tilewright.cli.binding import Binding
from tilewright.cli.options import Json, Model
from tilewright.cli.process import AGREES, print_json, progress_display, show, uninterrupted
from tilewright.errors import CompileError, printable

OnnxOutput = Annotated[
    Path | None, typer.Option("-o", "--output", metavar="FILE", help="Where to write; MODEL.onnx here by default.")
]
ShortWeights = Annotated[
    bool, typer.Option("--int4", help="Store quantised weights that fit into 4 bits as int4 or uint4.")
]


def export(
    model: Model, binding: Binding, output: OnnxOutput = None, short_weights: ShortWeights = False,
    as_json: Json = False,
) -> int:  # fmt: skip
    """Write a network as a standard ONNX file, with the names that it has."""
    from tilewright import export as room
    from tilewright import pipeline

    place = output or Path(f"{model.stem}.onnx")
    if place.exists() and model.exists() and place.samefile(model):
        raise CompileError(str(place), "is the model itself", "choose another -o")
    with progress_display() as progress:
        progress("reading the model")
        graph = pipeline.import_model(model, **binding.options())
        with uninterrupted():
            room.save(graph, place, short_weights)
    if as_json:
        print_json({"status": "ok", "onnx": str(place), "nodes": len(graph.nodes), "notes": list(graph.notes)})
    else:
        show(printable(f"{len(graph.nodes)} operators written to {place}"))
    return AGREES
