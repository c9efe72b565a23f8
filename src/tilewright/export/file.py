"""A model in a file, which is there whole or not at all."""

from __future__ import annotations

from pathlib import Path

from tilewright.export.model import model_of
from tilewright.ir.graph import Graph
from tilewright.whole_file import written_whole


def save(graph: Graph, path: Path | str, short_weights: bool = False) -> None:
    """Write a graph as an ONNX model."""
    data = model_of(graph, short_weights).SerializeToString()
    with written_whole(Path(path)) as file:
        file.write(data)
