"""The front end that fits a model, by its type, by what it begins with, or by how its file is called. Readers load when
first used."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

from tilewright.errors import CompileError
from tilewright.frontends.export_check import compare_with_framework
from tilewright.frontends.frameworks import exported
from tilewright.frontends.model_options import ModelOptions
from tilewright.ir.arrays import Given, arrays_of
from tilewright.ir.graph import Graph
from tilewright.ir.length import Sizes

if TYPE_CHECKING:
    from tilewright.frontends.sized import Range

TFLITE_MAGIC, TFLITE_MAGIC_AT = b"TFL3", 4


def load(model: Any, example_inputs: Given | None = None, check_export: bool = True, **said: Any) -> Graph:
    """The typed graph of a model: an ONNX or TensorFlow Lite file, its bytes, a loaded one, or a framework's, which is
    held to what the framework computes."""
    given = {} if example_inputs is None else arrays_of(example_inputs, "input")
    ranges = {name: size for name, size in said.get("dims", {}).items() if isinstance(size, tuple)}
    if ranges:
        return _load_sized(model, example_inputs, check_export, ranges, said)
    options = checked_options(model, ModelOptions(example_inputs=given, **said))
    if is_tflite(model):
        from tilewright.frontends.tflite import importer

        return importer.load(model, options)
    from tilewright.frontends.onnx import importer as onnx

    found = exported(model, example_inputs, options.random_seed)
    graph = onnx.load(found.proto, options)
    if check_export:
        compare_with_framework(graph, found)
    return with_notes(graph, found.notes, options)


def checked_options(model: Any, options: ModelOptions) -> ModelOptions:
    """The same, if they fit the model."""
    if options.max_trips is not None and not 0 <= options.max_trips < 2**31:
        raise CompileError(f"--max-trips {options.max_trips}", "is not 0 to 2147483647", "for example --max-trips 100")
    if options.random_seed is not None and options.random_seed < 0:
        raise CompileError(f"--random-seed {options.random_seed}", "is below 0", "for example --random-seed 1")
    if options.tflite_rounding and not is_tflite(model):
        where = f"--tflite-rounding {options.tflite_rounding}"
        raise CompileError(where, "is for TensorFlow Lite files, and the model is none", "leave the option out")
    return options


def with_notes(graph: Graph, notes: Sequence[str], options: ModelOptions) -> Graph:
    graph = replace(graph, notes=(*graph.notes, *notes))
    if options.random_seed is None:
        return graph
    drawn = f"random numbers, if the model draws any, are those of seed {options.random_seed}, the same in every call"
    return replace(graph, notes=(*graph.notes, drawn))


def _load_sized(
    model: Any, example_inputs: Given | None, check_export: bool, ranges: Mapping[str, Range], said: Mapping[str, Any]
) -> Graph:
    """A graph for all sizes in the ranges of its dimensions."""
    if is_tflite(model):
        named = ", ".join(f"--dim {name}={low}..{high}" for name, (low, high) in ranges.items())
        raise CompileError(named, "TensorFlow Lite files have no symbolic dimensions", "leave the option out")
    from tilewright.frontends.onnx import file as onnx_file
    from tilewright.frontends.sized import read_sized

    found = exported(model, example_inputs, said.get("random_seed"))
    proto, stem = onnx_file.read(found.proto)
    fixed = {name: size for name, size in said["dims"].items() if name not in ranges}

    def read(sizes: Sizes) -> Graph:
        graph = load(proto, example_inputs, check_export, **{**said, "dims": fixed | dict(sizes)})
        return replace(graph, name=stem, notes=(*graph.notes, *found.notes))

    return read_sized(read, ranges)


def is_tflite(model: Any) -> bool:
    if isinstance(model, bytes):
        return model[TFLITE_MAGIC_AT : TFLITE_MAGIC_AT + 4] == TFLITE_MAGIC
    if not isinstance(model, str | Path):
        return False
    return Path(model).suffix.lower() in (".tflite", ".lite") or _begins_as_tflite(Path(model))


def _begins_as_tflite(path: Path) -> bool:
    try:
        with path.open("rb") as file:
            return file.read(TFLITE_MAGIC_AT + 4)[TFLITE_MAGIC_AT:] == TFLITE_MAGIC
    except OSError:
        return False
