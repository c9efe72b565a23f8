"""Tensors of a safetensors file, as float32."""

from __future__ import annotations

import importlib.util
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

import numpy as np

from tilewright.errors import CompileError
from tilewright.ir.types import Array

FLOATS = {"F32": np.float32, "F16": np.float16}
SCALE = ".scale"
"""What the name of a tensor's scales ends with."""


def read_safetensors(path: Path) -> dict[str, Array]:
    """All tensors by name; bytes that have scales beside them are what they stand for."""
    found = dict(_entries(path))
    scales = {name + SCALE for name, entry in found.items() if entry["dtype"] == "I8"}
    return {name: _tensor(path, name, found) for name in found if name not in scales}


def _entries(path: Path) -> Iterator[tuple[str, Mapping[str, Any]]]:
    """Names with the type, the shape and the bytes."""
    if importlib.util.find_spec("safetensors") is None:
        raise CompileError(
            str(path), "needs safetensors, which is not installed", "pip install 'tilewright[lm]'"
        )  # fmt: skip
    from safetensors import SafetensorError, deserialize

    try:
        parse: Any = deserialize
        return iter(parse(path.read_bytes()))
    except OSError as error:
        raise CompileError(str(path), f"cannot be read: {error.strerror or error}", "check the path") from None
    except SafetensorError as error:
        what = f"is no whole safetensors file: {error}"
        raise CompileError(
            str(path), what, "it may be truncated, or a pointer to a file elsewhere: get it again"
        ) from None


def _tensor(path: Path, name: str, found: Mapping[str, Mapping[str, Any]]) -> Array:
    entry = found[name]
    data, shape, dtype = entry["data"], tuple(entry["shape"]), entry["dtype"]
    if dtype in FLOATS:
        return np.frombuffer(data, FLOATS[dtype]).reshape(shape).astype(np.float32)
    if dtype == "BF16":
        return (np.frombuffer(data, np.uint16).astype(np.uint32) << 16).view(np.float32).reshape(shape)
    if dtype == "I8":
        return _dequantised(path, name, np.frombuffer(data, np.int8).reshape(shape), found)
    raise CompileError(
        f"{path}, tensor '{name}'", f"has elements of type {dtype}",
        f"supported: F32, F16, BF16, and I8 with a tensor '{name}{SCALE}'; save the weights as one of them",
    )  # fmt: skip


def _dequantised(path: Path, name: str, levels: Array, found: Mapping[str, Mapping[str, Any]]) -> Array:
    where, scale = f"{path}, tensor '{name}'", found.get(name + SCALE)
    if scale is None:
        raise CompileError(
            where, f"has bytes without a tensor '{name}{SCALE}'", "save it with its scales, or as floats"
        )
    values = np.frombuffer(scale["data"], np.float32) if scale["dtype"] == "F32" else np.empty(0, np.float32)
    rows = levels.shape[0] if levels.ndim else 1
    if values.size not in (1, rows):
        what = f"has {rows} rows, but '{name}{SCALE}' is {scale['dtype']} of shape {scale['shape']}"
        raise CompileError(where, what, "give one float32 scale, or one for each row")
    return levels.astype(np.float32) * values.reshape(-1, *(1,) * (levels.ndim - 1))
