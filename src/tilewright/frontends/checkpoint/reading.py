"""A trained decoder from a path: which format it has, and its config and weights."""

from __future__ import annotations

from pathlib import Path

from tilewright.errors import CompileError
from tilewright.frontends.checkpoint.config import Checkpoint
from tilewright.frontends.checkpoint.gguf import SUFFIX, read_gguf_decoder
from tilewright.frontends.checkpoint.hugging_face import read_folder
from tilewright.frontends.checkpoint.llama2c import read_llama2c
from tilewright.frontends.model_files import is_model

KNOWN = "a folder with config.json and model.safetensors, a .gguf file, a .bin file of llama2.c, or an .onnx decoder"


def read_checkpoint(path: str | Path) -> Checkpoint:
    """A folder in Hugging Face's format, a GGUF file, or a file of llama2.c."""
    path = Path(path)
    if path.is_dir():
        return read_folder(path)
    if not path.exists():
        raise CompileError(str(path), "does not exist", f"give {KNOWN}")
    if path.suffix.lower() == SUFFIX:
        return read_gguf_decoder(path)
    if path.suffix.lower() == ".bin":
        return read_llama2c(path)
    refuse_graph(path)
    raise CompileError(
        str(path), f"a '{path.suffix or path.name}' file is not a known checkpoint",
        f"give {KNOWN}",
    )  # fmt: skip


def refuse_graph(path: Path) -> None:
    """A network of any kind has no tokens; decoders as ONNX are read elsewhere."""
    if is_model(path) and path.suffix.lower() != ".onnx":
        hint = f"tilewright run {path} runs it once; for language models give {KNOWN}"
        raise CompileError(str(path), "is a graph, not a language model", hint)
