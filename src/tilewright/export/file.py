"""A model in a file, which is there whole or not at all."""

from __future__ import annotations

import os
import tempfile
from pathlib import Path

from tilewright.errors import CompileError
from tilewright.export.model import model_of
from tilewright.ir.graph import Graph


def save(graph: Graph, path: Path | str, short_weights: bool = False) -> None:
    """Write a graph as an ONNX model; whatever was in the place stays there until all of it is written."""
    data = model_of(graph, short_weights).SerializeToString()
    place = Path(path)
    try:
        _write(place, data)
    except OSError as error:
        what = f"cannot be written: {error.strerror or error}"
        raise CompileError(str(place), what, "choose another file") from None


def _write(place: Path, data: bytes) -> None:
    if place.is_dir():
        raise IsADirectoryError(0, "it is a folder")
    handle, draft = tempfile.mkstemp(prefix=f".{place.name}.", dir=place.parent)
    try:
        with open(handle, "wb") as file:
            file.write(data)
        # A temporary file is its owner's alone; what is written on purpose is as readable as any other file.
        os.chmod(draft, 0o666 & ~_mask())
        os.replace(draft, place)
    finally:
        Path(draft).unlink(missing_ok=True)


def _mask() -> int:
    """The permissions that new files do not get; it can only be read by setting it."""
    mask = os.umask(0)
    os.umask(mask)
    return mask
