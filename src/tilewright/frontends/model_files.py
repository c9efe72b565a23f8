"""Files of models by their names, and the command that takes a file which is none."""

from __future__ import annotations

from pathlib import Path

from tilewright.errors import CompileError, unreadable

FRAMEWORKS = {".pt2": "torch", ".keras": "keras", ".h5": "keras", ".pt": "torch", ".pth": "torch"}
"""Files by the framework that reads them."""

SUFFIXES = frozenset({".onnx", ".tflite", ".lite", *FRAMEWORKS})
"""Of graphs: what `tilewright run` takes."""

CHECKPOINT = "config.json"
"""What makes a folder one of a language model, as Hugging Face has it."""

WRITTEN = ("network.c", "network.h")
"""What makes a folder one of C that was compiled from a network."""

TALK = 'tilewright generate {where} "Once upon a time"'
KINDS = {
    b"GGUF": ("is a language model in GGUF, no graph", TALK),
    b"\x7fELF": ("is a program, not a model", "tilewright sim {where}"),
    b"\x93NUMPY": ("holds an array, not a model", "name the model's file"),
}
"""By what a file begins with: what it is, and what to try."""

ENDINGS = {
    ".npz": ("holds arrays, not a model", "name the model's file, and give arrays as --inputs {where}"),
    ".toml": (
        "is a TOML file, not a model",
        "for a study: tilewright explore {where}; for a board: --board {where} and the model's file",
    ),
    ".safetensors": ("holds weights, not a graph", "tilewright generate takes the folder with its config.json"),
    ".bin": ("is no graph", f"for a language model of llama2.c: {TALK}"),
    ".py": ("is a Python program, not a model", "export the model that it makes, for example as ONNX"),
    ".pkl": ("holds a pickled object, not a graph", "export the model as ONNX, or with torch.export.save"),
}  # fmt: skip
"""The same by what a file's name ends with."""


def is_model(path: Path) -> bool:
    return path.suffix.lower() in SUFFIXES


BEGINNINGS = {".pt2": b"PK", ".keras": b"PK", ".h5": b"\x89HDF"}
"""What files of frameworks begin with."""


def check_beginning(path: Path) -> None:
    """That a framework's file may be one, before anybody is told to install the framework."""
    if path.is_dir():
        return
    try:
        with path.open("rb") as file:
            begins = file.read(8)
    except OSError as error:
        raise unreadable(path, error) from None
    if not begins:
        raise empty(str(path))
    suffix = path.suffix.lower()
    if not begins.startswith(BEGINNINGS.get(suffix, b"")):
        raise CompileError(str(path), f"is no {suffix} file, or is damaged", "export the model again")


def empty(where: str) -> CompileError:
    return CompileError(where, "is empty", "export the model again, or copy the file again")


def no_graph(data: bytes, where: str) -> CompileError | None:
    """Why a file that could not be read as one holds no graph, where its beginning or its name says so."""
    begins = (kind for start, kind in KINDS.items() if data.startswith(start))
    kind = next(begins, ENDINGS.get(Path(where).suffix.lower()))
    if kind is None:
        return None if data else empty(where)
    return CompileError(where, kind[0], kind[1].format(where=where))


def no_file(path: Path) -> CompileError:
    """Why a folder is no model."""
    if (path / CHECKPOINT).is_file():
        return CompileError(str(path), "is the folder of a language model, no graph", TALK.format(where=path))
    if all((path / name).is_file() for name in WRITTEN):
        hint = "name the model that it was compiled from; network.h says how C calls it"
        return CompileError(str(path), "is a folder of compiled C, not a model", hint)
    return CompileError(str(path), "is a folder, not a model", "name the model's file, or the folder of a SavedModel")
