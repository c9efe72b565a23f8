"""Numbers as C source: types, scalars and arrays."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence

import numpy as np

from tilewright.ir.length import Length
from tilewright.ir.types import Array

C_TYPES = {
    "float32": "float", "int8": "int8_t", "uint8": "uint8_t", "int16": "int16_t", "uint16": "uint16_t",
    "int32": "int32_t", "uint32": "uint32_t", "int64": "int64_t", "uint64": "uint64_t", "bool": "uint8_t",
    "float16": "uint16_t", "bfloat16": "uint16_t", "float64": "double",
}  # fmt: skip
"""How elements lie in memory; C99 has no short floats, so that these are their bits."""


def number(value: int | float, names: Mapping[str, str] | None = None) -> str:
    """One parameter value; of one that depends on sizes, the expression, with these names of dimensions."""
    if isinstance(value, float):
        return float_literal(value)
    if isinstance(value, Length):
        return value.form.c(names or {})
    if value == -(2**31):
        return "INT32_MIN"
    if -(2**31) < value < 2**31:
        return str(value)
    return f"INT64_C({value})" if value > -(2**63) else "INT64_MIN"


def byte_count(value: int, names: Mapping[str, str] | None = None) -> str:
    """Of an array."""
    return f"(unsigned long)({number(value, names)})" if isinstance(value, Length) else f"{value}ul"


def float_literal(value: float) -> str:
    """The shortest decimal that reads back as the same float32."""
    if math.isnan(value):
        return "NAN"
    if math.isinf(value):
        return "INFINITY" if value > 0 else "-INFINITY"
    text = np.format_float_positional(np.float32(value), unique=True, trim="0")
    if len(text) > 16:
        text = np.format_float_scientific(np.float32(value), unique=True, trim="0")
    return f"{text}f"


def array_items(array: Array) -> str:
    """The elements of an array as initialiser lines."""
    flat = _bits_of_halves(array.reshape(-1))
    return _lines(_items(flat), 24 if flat.dtype.itemsize == 1 else 12)


def _bits_of_halves(flat: Array) -> Array:
    return flat.view(np.uint16) if C_TYPES[flat.dtype.name] == "uint16_t" else flat


def _items(flat: Array) -> Sequence[str]:
    values = flat.tolist()
    if flat.dtype == np.float32:
        return [_quick_float(value) for value in values]
    if flat.dtype == np.float64:
        return [repr(value) if math.isfinite(value) else float_literal(value) for value in values]
    if flat.dtype == np.bool_:
        return [str(int(value)) for value in values]
    if flat.dtype == np.uint32:
        return [f"{value}u" for value in values]
    if flat.dtype == np.uint64:
        return [f"UINT64_C({value})" for value in values]
    return list(map(str, values)) if flat.dtype.itemsize < 4 else [number(value) for value in values]


def _quick_float(value: float) -> str:
    """Nine digits always read back as the same float32; far faster than searching for the shortest."""
    if not math.isfinite(value):
        return float_literal(value)
    text = f"{value:.9g}"
    return f"{text}f" if "." in text or "e" in text else f"{text}.0f"


def _lines(items: Sequence[str], per_line: int) -> str:
    rows = [", ".join(items[at : at + per_line]) for at in range(0, len(items), per_line)]
    return ",\n    ".join(rows)
