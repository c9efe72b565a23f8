"""The front end that fits a model, by what it begins with or how its file is called. Readers load when first used."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from tilewright.ir.graph import Graph

TFLITE_MAGIC, TFLITE_MAGIC_AT = b"TFL3", 4


def load(model: Any, tflite_rounding: str = "", **options: Any) -> Graph:
    """The typed graph of a model: an ONNX file or protobuf, or a TensorFlow Lite file."""
    if is_tflite(model):
        from tilewright.frontends.tflite import importer

        return importer.load(model, importer.Options(rounding=tflite_rounding, **options))
    from tilewright.frontends import onnx

    importer_options = onnx.Options(**options)
    if tflite_rounding:
        from tilewright.errors import CompileError

        raise CompileError(
            f"--tflite-rounding {tflite_rounding}", "the model is no TensorFlow Lite file", "drop the option"
        )
    return onnx.load(model, importer_options)


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
