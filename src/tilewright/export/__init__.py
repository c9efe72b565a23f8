"""A graph as a standard ONNX model, which other tools run: `model_of(graph)`, `save(graph, path)`."""

from tilewright.export.file import save
from tilewright.export.model import model_of

__all__ = ["model_of", "save"]
