"""What tells constants with the same elements from others."""

from __future__ import annotations

import hashlib
from collections.abc import Mapping

import numpy as np

from tilewright.ir.types import Array, TensorType

LOOKED_AT = 64
"""Elements that tell most arrays from each other."""


def digest(array: Array) -> str:
    """Of the bytes and their type; the shape does not matter to who reads them."""
    return f"{array.dtype.name} {hashlib.sha256(_bytes(array).data).hexdigest()}"


def first_equal(arrays: Mapping[str, Array], types: Mapping[str, TensorType]) -> dict[str, str]:
    """Each name -> the first one of the same type and elements; only arrays that look alike are read as a whole."""
    alike = dict[object, list[str]]()
    for name, array in arrays.items():
        alike.setdefault((types[name], _look(array)), []).append(name)
    found: dict[str, str] = {}
    for names in alike.values():
        known = dict[str, str]()
        found |= {name: known.setdefault(digest(arrays[name]), name) for name in names} if len(names) > 1 else {}
    return {name: found.get(name, name) for name in arrays}


def _look(array: Array) -> bytes:
    """A few elements from everywhere."""
    places = np.linspace(0, max(array.size - 1, 0), min(array.size, LOOKED_AT)).astype(np.int64)
    return _bytes(array.flat[places]).tobytes()


def _bytes(array: Array) -> Array:
    return np.ascontiguousarray(array).reshape(-1).view(np.uint8)
