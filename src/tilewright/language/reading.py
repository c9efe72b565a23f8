"""A trained decoder from a path, whatever holds it."""

from __future__ import annotations

from pathlib import Path

from tilewright.frontends.checkpoint.gguf import SUFFIX as GGUF
from tilewright.frontends.checkpoint.hugging_face import holds_weights
from tilewright.frontends.checkpoint.reading import read_checkpoint
from tilewright.frontends.past_key_values.files import SUFFIX, holds_graphs
from tilewright.language.decoder import CheckpointDecoder, Decoder
from tilewright.language.exported import beside, read_exported


def read_decoder(path: Path) -> Decoder:
    """A checkpoint, or graphs; a folder that has both is read as the former."""
    if _is_exported(path):
        return read_exported(path)
    return CheckpointDecoder(read_checkpoint(path))


def _is_exported(path: Path) -> bool:
    if path.is_dir():
        return not holds_weights(path) and holds_graphs(path)
    return path.is_file() and path.suffix.lower() == SUFFIX


def tokenizer_of(path: Path) -> Path:
    """What has a model's tokenizer: a GGUF file its own, else a file beside it."""
    return path if path.suffix.lower() == GGUF and path.is_file() else files_beside(path)


def files_beside(path: Path) -> Path:
    """The folder with a model's texts."""
    if _is_exported(path):
        return beside(path)
    return path if path.is_dir() else path.parent
