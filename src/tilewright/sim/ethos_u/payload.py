"""A command stream as files hold it: plain words, or as a driver is given it, behind words that say for which NPU."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from tilewright.errors import CompileError
from tilewright.records import dataclass
from tilewright.sim.ethos_u.configurations import CONFIGURATIONS

MARK = int.from_bytes(b"COP1", "little")
CONFIGURED, STREAM, NOTHING = 1, 2, 5


@dataclass(frozen=True)
class Payload:
    words: NDArray[np.uint32]
    npu: str | None
    """The NPU that it was compiled for, if it says so."""
    before: NDArray[np.uint32]
    """Words for the driver, ahead of the stream."""


def read_payload(data: bytes, where: str) -> Payload:
    if not data or len(data) % 4:
        raise CompileError(where, f"has {len(data)} bytes, which are no 32-bit words", "give a command stream")
    words = np.frombuffer(data, dtype="<u4").astype(np.uint32)
    return _driver_payload(words, where) if words[0] == MARK else Payload(words, None, words[:0])


def _driver_payload(words: NDArray[np.uint32], where: str) -> Payload:
    at, npu = 1, None
    while at < len(words):
        tag = int(words[at])
        kind, size = tag & 0xFF, tag >> 16 | (tag >> 8 & 0xFF) << 16
        if kind == CONFIGURED and at + 2 < len(words):
            npu = _npu(int(words[at + 1]))
            at += 3
        elif kind == NOTHING:
            at += 1
        elif kind == STREAM and at + 1 + size <= len(words):
            return Payload(words[at + 1 : at + 1 + size], npu, words[: at + 1])
        else:
            raise CompileError(where, f"word {at} is {tag:#010x}, which is no driver action", "give a command stream")
    raise CompileError(where, f"its {len(words)} words have no command stream", "give a command stream")


def _npu(word: int) -> str | None:
    """Products in a cycle as a power of two in the lowest bits, the product in the highest."""
    macs, is_u65 = 1 << (word & 15), word >> 28 == 1
    same = [one.name for one in CONFIGURATIONS.values() if (one.macs, one.is_u65) == (macs, is_u65)]
    return same[0] if same else None
