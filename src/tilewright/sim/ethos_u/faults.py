"""Why a command stream was stopped, in words."""

from __future__ import annotations

from tilewright.records import dataclass

IS_LONG = 0x4000
BUFFER = 0x100
"""Stands for the shared buffer where a region has a number."""


@dataclass(frozen=True)
class Fault:
    name: str
    """Of the register or operation that is meant, without NPU_SET_ or NPU_OP_; empty where there is none."""
    reason: int
    command: int
    """Counted from 0."""
    word: int
    """Of the stream, counted from 0, that the command begins with."""
    code: int
    region: int
    is_write: int
    address: int
    size: int
    value: int


def _place(f: Fault) -> str:
    return "the shared buffer" if f.region == BUFFER else f"region {f.region}"


def _access(f: Fault) -> str:
    return f"{'writes' if f.is_write else 'reads'} {f.size} bytes at {f.address:#x} of {_place(f)}"


def _register(f: Fault) -> str:
    is_operation = not f.code & IS_LONG and f.code < 0x100
    return f"NPU_{'OP' if is_operation else 'SET'}_{f.name}"


AGAIN = "compile the network again, or compare the stream with the one that was compiled"
SIZES = "give the region the size that the stream was compiled for"


def _what(f: Fault) -> tuple[str, str]:
    register = _register(f)
    return (
        ("", ""),
        (f"{f.value:#010x} is no command", AGAIN),
        (f"{register} ends behind its first word", AGAIN),
        (f"the stream's {f.value} words end without NPU_OP_STOP", AGAIN),
        (f"{register} has the reserved value {f.value:#x}", AGAIN),
        (f"the operation needs {register}, which was never set", "set it before the operation"),
        (f"region {f.region} is used, and there is none", "give the region bytes"),
        (f"{_access(f)}, which ends before", SIZES),
        (f"reads byte {f.address:#x} of {_place(f)}, which was never written", "write inputs before the stream runs"),
        (f"{_access(f)}, which holds constants", "let the stream write to a region of its own"),
        (f"the weight stream is not one at bit {f.value}", AGAIN),
        (f"the biases and scales of all channels do not fit, or a shift is above 63: {f.value}", AGAIN),
        (f"{register} is {f.value:#x}, which is not aligned", AGAIN),
        (f"the input would have {f.value} rows or columns", "padding must be smaller than what windows cover"),
        (f"the operation has more than {f.value} products or elements", "divide it"),
        (
            f"touches bytes {f.address:#x} to {f.address + f.size:#x} of {_place(f)}, which an operation or transfer "
            f"under way {'writes' if f.is_write else 'reads'}",
            "wait for it: NPU_OP_DMA_WAIT or NPU_OP_KERNEL_WAIT",
        ),
        (f"there is no memory for {f.value} bytes", "close other programs"),
    )[f.reason]  # fmt: skip


REASONS = (
    "done", "unknown command", "cut", "endless", "reserved value", "register never set", "no such region",
    "outside its region", "never written", "constant written", "bad weight stream", "bad scales", "misaligned",
    "bad shape", "too large", "race", "no memory",
)  # fmt: skip
"""Names of the reasons, as the C numbers them."""


def describe(f: Fault) -> tuple[str, str, str]:
    """Where, what, and what to try."""
    what, hint = _what(f)
    return f"command {f.command} (word {f.word})", what, hint
