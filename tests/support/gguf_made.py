"""GGUF files, made here: keys and tensors as bytes."""

from __future__ import annotations

import struct
from collections.abc import Mapping, Sequence

import numpy as np

from tilewright.ir.types import Array

F32, F16, BF16 = 0, 1, 30
UINT32, FLOAT32, BOOL, STRING, LIST = 4, 6, 7, 8, 9
ALIGNMENT = 32

Key = str | int | float | bool | Sequence[str] | Sequence[int] | Sequence[float]


def gguf(keys: Mapping[str, Key], tensors: Mapping[str, Array | tuple[int, tuple[int, ...], bytes]]) -> bytes:
    """Arrays are float32; anything else is (number of its format, shape, bytes)."""
    said, data = b"", b""
    for name, one in tensors.items():
        kind, shape, raw = (F32, one.shape, one.astype("<f4").tobytes()) if isinstance(one, np.ndarray) else one
        said += _text(name) + struct.pack("<I", len(shape)) + struct.pack(f"<{len(shape)}Q", *reversed(shape))
        said += struct.pack("<IQ", kind, len(data))
        data += raw + bytes(-len(raw) % ALIGNMENT)
    head = b"GGUF" + struct.pack("<IQQ", 3, len(tensors), len(keys))
    head += b"".join(_text(name) + _typed(value) for name, value in keys.items()) + said
    return head + bytes(-len(head) % ALIGNMENT) + data


def _text(text: str) -> bytes:
    raw = text.encode()
    return struct.pack("<Q", len(raw)) + raw


def _typed(value: Key) -> bytes:
    if isinstance(value, bool | int | float | str):
        return struct.pack("<I", _kind(value)) + _plain(value)
    kind = _kind(value[0]) if value else UINT32
    return struct.pack("<IIQ", LIST, kind, len(value)) + b"".join(_plain(one) for one in value)


def _kind(value: str | int | float) -> int:
    return {bool: BOOL, int: UINT32, float: FLOAT32, str: STRING}[type(value)]


def _plain(value: str | int | float) -> bytes:
    if isinstance(value, str):
        return _text(value)
    return struct.pack({bool: "<?", int: "<I", float: "<f"}[type(value)], value)
