"""Which ONNX files of a folder are the graphs of a decoder: one that reads prompts, and one that goes on."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

from tilewright.errors import CompileError
from tilewright.records import dataclass

SUFFIX, INNER = ".onnx", "onnx"
"""Of files; and a folder beside the tokenizer that may hold them."""
MERGED = ("decoder_model_merged.onnx", "model_merged.onnx")
"""Graphs that do both."""
PAIRS = (("model.onnx", "model_with_past.onnx"), ("decoder_model.onnx", "decoder_with_past_model.onnx"))
"""Without and with a past."""


@dataclass(frozen=True)
class Files:
    first: Path
    """Reads a prompt."""
    later: Path | None = None
    """Goes on, where that is a graph of its own."""


def holds_graphs(folder: Path) -> bool:
    return any(_graphs(folder)) or any(_graphs(folder / INNER))


def find_files(path: Path) -> Files:
    """A file, with the other of its pair if it has one beside it; or what a folder has."""
    if not path.is_dir():
        return _with_partner(path)
    folder = path if any(_graphs(path)) else path / INNER
    names = [file.name for file in _graphs(folder)]
    for name in MERGED:
        if name in names:
            return Files(folder / name)
    for first, later in PAIRS:
        if first in names:
            return Files(folder / first, folder / later if later in names else None)
    if len(names) == 1:
        return Files(folder / names[0])
    return _by_name(folder, names)


def _graphs(folder: Path) -> list[Path]:
    return sorted(folder.glob(f"*{SUFFIX}")) if folder.is_dir() else []


def _with_partner(path: Path) -> Files:
    for first, later in PAIRS:
        if path.name == later and (path.parent / first).is_file():
            return Files(path.parent / first, path)
        if path.name == first and (path.parent / later).is_file():
            return Files(path, path.parent / later)
    return Files(path)


def _by_name(folder: Path, names: Sequence[str]) -> Files:
    """Two files of which one says that it has a past."""
    past = [name for name in names if "past" in name]
    if len(names) == 2 and len(past) == 1:
        first = next(name for name in names if name not in past)
        return Files(folder / first, folder / past[0])
    wanted = f"{PAIRS[0][0]} and {PAIRS[0][1]}, or {MERGED[0]}"
    raise CompileError(
        str(folder), f"has {len(names)} ONNX files, of which none is known: {', '.join(names[:6])}",
        f"name one of them, or call them {wanted}",
    )  # fmt: skip
