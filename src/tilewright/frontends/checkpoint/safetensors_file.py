"""Tensors of a safetensors file, where the mapped file has them until they are asked for.

All sizes come from the file: none is believed beyond the bytes that there are.
"""

from __future__ import annotations

import json
import math
import mmap
from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np

from tilewright.errors import CompileError, Refusal, unreadable
from tilewright.frontends.checkpoint.config import Weight
from tilewright.ir.block_formats import FORMATS, BlockArray
from tilewright.ir.types import Array, Shape
from tilewright.records import dataclass

BYTES = {"F32": 4, "F16": 2, "BF16": 2, "I8": 1}
"""Of an element."""
SCALE = ".scale"
"""What the name of a tensor's scales ends with."""
LENGTH, LONGEST = 8, 100_000_000
"""Bytes of what says how long the header is, and the most that it may be."""


@dataclass(frozen=True)
class StoredTensor:
    path: Path
    name: str
    kind: str
    shape: Shape
    raw: Array
    """uint8, a view of the mapped file."""
    scale: StoredTensor | None = None
    """Of bytes."""

    @property
    def where(self) -> str:
        """For errors."""
        return f"{self.path}, tensor '{self.name}'"

    @property
    def weight(self) -> Weight:
        """A matrix of halves as it is, anything else as float32."""
        if self.kind in ("F16", "BF16") and len(self.shape) == 2 and self.raw.size:
            return BlockArray(FORMATS[self.kind], self.raw.reshape(self.shape[0], -1))
        return self.floats()

    def floats(self) -> Array:
        if self.kind == "I8":
            return self._dequantised()
        found = FORMATS[self.kind].values(self.raw).reshape(self.shape)
        return found if found.flags.aligned else found.copy()

    def are_finite(self) -> bool:
        if self.kind == "I8":
            return bool(np.isfinite(self.floats()).all())
        return FORMATS[self.kind].are_finite(self.raw)

    def _dequantised(self) -> Array:
        levels, scales = self.raw.view(np.int8).reshape(self.shape), self.scales()
        return levels.astype(np.float32) * scales.reshape(-1, *(1,) * (levels.ndim - 1))

    def scales(self) -> Array:
        """One, or one for each row of bytes."""
        scale, rows = self.scale, self.shape[0] if self.shape else 1
        if scale is None:
            what = f"has bytes without a tensor '{self.name}{SCALE}'"
            raise CompileError(self.where, what, "save it with its scales, or as floats")
        values = scale.floats().reshape(-1) if scale.kind == "F32" else np.empty(0, np.float32)
        if values.size not in (1, rows):
            what = f"has {rows} rows, but '{scale.name}' is {scale.kind} of shape {list(scale.shape)}"
            raise CompileError(self.where, what, "give one float32 scale, or one for each row")
        return values


def read_safetensors(path: Path) -> dict[str, StoredTensor]:
    """All tensors by name; bytes have their scales with them."""
    try:
        with path.open("rb") as file:
            found = _tensors(path, np.frombuffer(mmap.mmap(file.fileno(), 0, access=mmap.ACCESS_READ), np.uint8))
    except OSError as error:
        raise unreadable(path, error) from None
    except (Refusal, ValueError, TypeError, KeyError, AttributeError, RecursionError) as error:
        what = error.what if isinstance(error, Refusal) else f"{type(error).__name__}: {error}"
        raise CompileError(
            str(path), f"is no whole safetensors file: {what}",
            "it may be truncated, or a pointer to a file elsewhere: get it again",
        ) from None  # fmt: skip
    for tensor in found.values():
        _check_kind(tensor)
    whole = _with_scales(found)
    for tensor in whole.values():
        if tensor.kind == "I8":
            tensor.scales()
    return whole


def _tensors(path: Path, data: Array) -> dict[str, StoredTensor]:
    length = int.from_bytes(data[:LENGTH].tobytes(), "little")
    start = LENGTH + length
    if data.size < LENGTH or length > LONGEST or start > data.size:
        raise Refusal(f"a header of {length} bytes in a file of {data.size}")
    header = json.loads(data[LENGTH:start].tobytes())
    header.pop("__metadata__", None)
    return {str(name): _stored(path, str(name), entry, data[start:]) for name, entry in header.items()}


def _stored(path: Path, name: str, entry: Mapping[str, Any], data: Array) -> StoredTensor:
    kind, shape, (first, end) = str(entry["dtype"]), tuple(entry["shape"]), entry["data_offsets"]
    sizes = (*shape, first, end)
    if any(isinstance(size, bool) or not isinstance(size, int) or size < 0 for size in sizes) or end > data.size:
        raise Refusal(f"tensor '{name}' lies at bytes {first} to {end} of {data.size}")
    if kind in BYTES and end - first != BYTES[kind] * math.prod(shape):
        raise Refusal(f"tensor '{name}' has {end - first} bytes for {list(shape)} elements of type {kind}")
    return StoredTensor(path, name, kind, shape, data[first:end])


def _check_kind(tensor: StoredTensor) -> None:
    if tensor.kind not in BYTES:
        raise CompileError(
            tensor.where, f"has elements of type {tensor.kind}",
            f"supported: F32, F16, BF16, and I8 with a tensor '{tensor.name}{SCALE}'; save the weights as one of them",
        )  # fmt: skip


def _with_scales(found: Mapping[str, StoredTensor]) -> dict[str, StoredTensor]:
    scales = {name + SCALE for name, tensor in found.items() if tensor.kind == "I8"}
    return {
        name: replace(one, scale=found.get(name + SCALE)) if one.kind == "I8" else one
        for name, one in found.items()
        if name not in scales
    }
