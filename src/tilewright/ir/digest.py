"""What tells constants with the same elements from others."""

from __future__ import annotations

import hashlib
from collections.abc import Mapping

import numpy as np

from tilewright.ir.types import Array, TensorType

LOOKED_AT, COMPARED = 64, 1 << 22
"""Elements that tell most arrays from each other; and bytes that are compared at once."""


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


class Known:
    """Arrays by what they hold: finds the one with the bytes of another, and reads only those that look alike."""

    def __init__(self, arrays: Mapping[str, Array]) -> None:
        self._alike = dict[object, list[tuple[str, Array]]]()
        for name, array in arrays.items():
            self._alike.setdefault(_kind(array), []).append((name, array))

    def find(self, array: Array) -> str | None:
        """The name of an array with the same elements and type; the shape does not matter."""
        alike = self._alike.get(_kind(array), [])
        return next((name for name, one in alike if _is_same(one, array)), None)


def _kind(array: Array) -> object:
    return array.dtype, array.size, _look(array)


def _is_same(one: Array, other: Array) -> bool:
    """One that is another needs not be read."""
    if one is other or (one.shape == other.shape and one.__array_interface__ == other.__array_interface__):
        return True
    first, second = _bytes(one), _bytes(other)
    starts = range(0, len(first), COMPARED)
    return all(np.array_equal(first[at : at + COMPARED], second[at : at + COMPARED]) for at in starts)


def _look(array: Array) -> bytes:
    """A few elements from everywhere."""
    places = np.linspace(0, max(array.size - 1, 0), min(array.size, LOOKED_AT)).astype(np.int64)
    return _bytes(array.flat[places]).tobytes()


def _bytes(array: Array) -> Array:
    return np.ascontiguousarray(array).reshape(-1).view(np.uint8)
