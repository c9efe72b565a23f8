"""The file that signals of devices in Verilog go to, for all machines that are made meanwhile."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from pathlib import Path

from tilewright.errors import CompileError
from tilewright.sim.rtl.build import FST, VCD

_FILE: ContextVar[Path | None] = ContextVar("waves", default=None)
_CYCLES: ContextVar[range] = ContextVar("cycles", default=range(1 << 63))
_NAMED: ContextVar[dict[str, Path] | None] = ContextVar("named", default=None)


@contextmanager
def recording(path: Path | None, cycles: range = range(1 << 63)) -> Iterator[dict[str, Path]]:
    """Signals of these cycles of the machine. Gives the files by the names of devices: that of the first is the path,
    others have their name in it."""
    if path is not None and path.suffix not in (FST, VCD):
        raise CompileError(f"--waves {path}", "is no format of signals", f"name a file *{FST} or *{VCD}")
    named: dict[str, Path] = {}
    tokens = _FILE.set(path.absolute() if path else None), _NAMED.set(named), _CYCLES.set(cycles)
    try:
        yield named
    finally:
        _FILE.reset(tokens[0])
        _NAMED.reset(tokens[1])
        _CYCLES.reset(tokens[2])


def waves_file(device: str) -> Path | None:
    """Of a device that is attached now."""
    path, named = _FILE.get(), _NAMED.get()
    if path is None or named is None:
        return None
    return named.setdefault(device, path if not named else path.with_stem(f"{path.stem}_{device}"))


def waves_cycles() -> range:
    """Those that are recorded now."""
    return _CYCLES.get()


def cycles_of(words: str) -> range:
    """`FIRST:LAST`."""
    first, _, last = words.partition(":")
    if not (first.isdecimal() and last.isdecimal() and int(first) <= int(last)):
        raise CompileError(f"--waves-cycles {words}", "is not FIRST:LAST", "two cycles of the SoC, as 20000:30000")
    return range(int(first), int(last) + 1)
