"""Element types and tensor types."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from functools import cache
from typing import Any

import numpy as np
from numpy.typing import NDArray

from tilewright.ir.length import Length
from tilewright.records import dataclass

Array = NDArray[Any]
Shape = tuple[int, ...]
Shapes = Mapping[str, Shape]

STORED = {"float16": 2, "bfloat16": 2, "float64": 8}
"""Floats that inputs, outputs and constants may be stored as, with their sizes; they are computed as float32."""

BYTES = {
    "float32": 4, "int8": 1, "uint8": 1, "int16": 2, "uint16": 2, "int32": 4, "uint32": 4, "int64": 8, "uint64": 8,
    "bool": 1, **STORED,
}  # fmt: skip
"""Every element type that a tensor may have, with its size."""

COMPUTED = frozenset(BYTES) - frozenset(STORED)
"""Those that operators compute with."""

SHORT = {
    "float32": "f32", "int8": "i8", "uint8": "u8", "int16": "i16", "uint16": "u16", "int32": "i32", "uint32": "u32",
    "int64": "i64", "uint64": "u64", "bool": "b8", "float16": "f16", "bfloat16": "bf16", "float64": "f64",
}  # fmt: skip
"""The name of an element type inside C identifiers and tables."""


@dataclass(frozen=True)
class TensorType:
    dtype: str
    shape: Shape

    @property
    def element(self) -> np.dtype[Any]:
        return element(self.dtype)

    @property
    def elements(self) -> int:
        return math.prod(self.shape)

    @property
    def bytes(self) -> int:
        return self.elements * BYTES[self.dtype]

    def __str__(self) -> str:
        return f"{SHORT.get(self.dtype, self.dtype)}[{'x'.join(map(size_text, self.shape))}]"


def size_text(size: int) -> str:
    """A size as people read it: a number, or what it depends on and its bound."""
    return size.said if isinstance(size, Length) else str(size)


def is_integer(dtype: str) -> bool:
    return dtype not in ("float32", "bool", *STORED)


def element(dtype: str) -> np.dtype[Any]:
    """numpy's own name for an element type; bfloat16 comes from a package that is loaded only where it is needed."""
    if dtype == "bfloat16":
        import ml_dtypes

        return np.dtype(ml_dtypes.bfloat16)
    return np.dtype(dtype)


def as_computed(array: Array) -> Array:
    """Floats of any width as those that are computed with; other arrays as they are."""
    return array.astype(np.float32) if dtype_name(array.dtype) in STORED else array


@cache
def dtype_name(dtype: np.dtype[Any]) -> str:
    """numpy puts the name together anew whenever it is asked for it, which takes longer than many a small operator."""
    return dtype.name


@cache
def limits(dtype: str) -> tuple[int, int]:
    """The smallest and the largest value of an integer type."""
    info = np.iinfo(dtype)
    return int(info.min), int(info.max)


def narrowest(low: float, high: float, among: Sequence[str]) -> str | None:
    """The first of some integer types that holds a range."""
    return next((dtype for dtype in among if limits(dtype)[0] <= low and high <= limits(dtype)[1]), None)


def type_of(array: Array) -> TensorType:
    return TensorType(dtype_name(array.dtype), array.shape)
