"""A board as a TOML file says it: core, clock, memories. Everything that is wrong with a file is said at once."""

from __future__ import annotations

import re
from collections.abc import Collection, Mapping
from dataclasses import fields, replace
from itertools import pairwise
from pathlib import Path
from typing import Any

from tilewright.errors import CompileError, raise_all
from tilewright.records import dataclass
from tilewright.target.memory import ARENA, CODE, CONSTANTS, STACK, USES
from tilewright.target.toml_file import read_toml

SUFFIX = ".toml"
KIB = 1024
PAGE_KIB = 4
"""Emulated memories have whole pages."""
ADDRESSES = 1 << 32
SYSTEM = 0xE000_0000
"""Where the core's own registers begin."""
MOST_WAIT_STATES = 1000
MOST_WAYS = 64
WORD = 4
CORSTONE = 0x4810_2000
"""Where Corstone-300 has the registers of its NPU."""
NAME = re.compile(r"[A-Za-z][A-Za-z0-9_]{0,15}")
SHOWS = "docs/cortex_m_boards.md shows a file"


@dataclass(frozen=True)
class BoardMemory:
    name: str
    base: int
    kib: int
    holds: tuple[str, ...]
    """Of USES: what may lie there."""
    wait_states: int = 0
    """Cycles of an access beyond the first, where no cache helps."""
    line_bytes: int = 0
    """Bytes that one such access gets; 0 for a word."""
    prefetch: bool = False
    """Whether the line behind the one that is executed is read ahead."""
    instruction_cache_bytes: int = 0
    data_cache_bytes: int = 0
    cache_ways: int = 1
    one_cache: bool = False
    """Whether code and data share the cache of `data_cache_bytes`."""
    npu: bool = True
    """Whether an NPU beside the core reaches it."""
    npu_address: int = -1
    """Where it does, if that is another address than the core's, as of a TCM; -1: at the core's."""

    @property
    def bytes(self) -> int:
        return self.kib * KIB

    @property
    def end(self) -> int:
        return self.base + self.bytes


@dataclass(frozen=True)
class BoardFile:
    """Memories stand in the order in which they are preferred."""

    name: str
    summary: str
    cpu: str
    clock_mhz: float
    memory: tuple[BoardMemory, ...]
    sources: tuple[str, ...] = ()
    """Documents that the numbers are from."""
    uncertain: tuple[str, ...] = ()
    """What is an estimate, and other reservations."""
    npus: tuple[str, ...] = ()
    """Ethos-U beside the core, without `ethos-`, that `+` may name."""
    npu: str = ""
    """The one that programs for the plain name use; empty for the core alone."""
    npu_base: int = CORSTONE
    """Address of its registers."""


def beside_npu(file: BoardFile) -> BoardFile:
    """The board when its NPU is at work: memories that it does not reach have code alone."""
    kept = [one if one.npu else replace(one, holds=(CODE,)) for one in file.memory if one.npu or CODE in one.holds]
    needed = [({ARENA, STACK}, "the arena and the stack"), ({CONSTANTS}, CONSTANTS), ({CODE}, CODE)]
    missing = [said for uses, said in needed if not any(uses <= set(one.holds) for one in kept)]
    if missing:
        what = f"its NPU reaches no memory that holds {' or '.join(missing)}"
        raise CompileError(f"board '{file.name}'", what, "say npu = false only of memories that it does not reach")
    return replace(file, memory=tuple(kept))


def read_board(path: Path, cpus: Collection[str] | None = None) -> BoardFile:
    """The board that a file describes, called like the file; its core is one of `cpus`, where they are given."""
    return _Reader(str(path), cpus).board(read_toml(path, "board", SHOWS), path.stem)


class _Reader:
    def __init__(self, where: str, cpus: Collection[str] | None) -> None:
        self.where, self.cpus = where, cpus
        self.errors: list[CompileError] = []

    def board(self, given: Mapping[str, Any], name: str) -> BoardFile:
        self._check_fields(given, "", BoardFile, derived=("name",))
        listed = given.get("memory", [])
        if not isinstance(listed, list) or not all(isinstance(one, Mapping) for one in listed) or not listed:
            self._wrong("memory", "is not a list of memories", f"write [[memory]] and its fields; {SHOWS}")
            listed = []
        memories = tuple(self._memory(one, f"memory {one.get('name', number)}") for number, one in enumerate(listed, 1))
        found = BoardFile(
            name, self._text(given, "summary", name), self._cpu(given.get("cpu")),
            self._number(given, "", "clock_mhz", 0.001, 10_000, whole=False), memories,
            self._texts(given, "sources"), self._texts(given, "uncertain"), *self._npu(given),
        )  # fmt: skip
        raise_all(self.errors)
        self._check_together(memories)
        raise_all(self.errors)
        return found

    def _memory(self, given: Mapping[str, Any], place: str) -> BoardMemory:
        self._check_fields(given, f"{place}, ", BoardMemory)
        name = given.get("name", "")
        if not isinstance(name, str) or not NAME.fullmatch(name):
            self._wrong(f"{place}, name", f"{name!r} is not a name", "a letter, then up to 15 letters, digits and _")
        return BoardMemory(
            str(name), int(self._number(given, place, "base", 0, ADDRESSES - 1)),
            int(self._number(given, place, "kib", PAGE_KIB, ADDRESSES // KIB)), self._holds(given, place),
            int(self._number(given, place, "wait_states", 0, MOST_WAIT_STATES, 0)),
            int(self._number(given, place, "line_bytes", 0, 1024, 0)), self._flag(given, place, "prefetch"),
            int(self._number(given, place, "instruction_cache_bytes", 0, 1 << 24, 0)),
            int(self._number(given, place, "data_cache_bytes", 0, 1 << 24, 0)),
            int(self._number(given, place, "cache_ways", 1, MOST_WAYS, 1)), self._flag(given, place, "one_cache"),
            self._flag(given, place, "npu", True), self._address(given, place),
        )  # fmt: skip

    # ---- fields ----

    def _check_fields(self, given: Mapping[str, Any], place: str, kind: type, derived: Collection[str] = ()) -> None:
        known = [field.name for field in fields(kind) if field.name not in derived]
        for key in given:
            if key not in known:
                self._wrong(f"{place}{key}", "is unknown", f"fields: {', '.join(known)}")

    def _cpu(self, given: object) -> str:
        if not isinstance(given, str) or (self.cpus is not None and given not in self.cpus):
            what = "is missing" if given is None else f"{given!r} is unknown"
            self._wrong("cpu", what, f"one of {', '.join(self.cpus or ['cortex-m4'])}")
        return str(given)

    def _number(
        self, given: Mapping[str, Any], place: str, key: str, least: float, most: float, default: float | None = None,
        whole: bool = True,
    ) -> float:  # fmt: skip
        value = given.get(key, default)
        kinds = (int,) if whole else (int, float)
        if isinstance(value, bool) or not isinstance(value, kinds) or not least <= value <= most:
            what = "is missing" if value is None else f"{value!r} is not allowed"
            where = f"{place}, {key}" if place else key
            self._wrong(where, what, f"a {'whole ' if whole else ''}number, {_shown(least)} to {_shown(most)}")
            return least
        return value

    def _flag(self, given: Mapping[str, Any], place: str, key: str, default: bool = False) -> bool:
        value = given.get(key, default)
        if not isinstance(value, bool):
            self._wrong(f"{place}, {key}", f"{value!r} is not allowed", "true or false")
        return bool(value)

    def _address(self, given: Mapping[str, Any], place: str) -> int:
        return int(self._number(given, place, "npu_address", 0, SYSTEM - 1)) if "npu_address" in given else -1

    def _npu(self, given: Mapping[str, Any]) -> tuple[tuple[str, ...], str, int]:
        known, usual = self._texts(given, "npus"), self._text(given, "npu", "")
        if usual and usual not in known:
            self._wrong("npu", f"{usual!r} is not among its npus", f'npus = ["{usual}"]')
        return known, usual, int(self._number(given, "", "npu_base", 0, SYSTEM, CORSTONE))

    def _text(self, given: Mapping[str, Any], key: str, default: str) -> str:
        value = given.get(key, default)
        if not isinstance(value, str):
            self._wrong(key, f"{value!r} is not a text", 'for example summary = "my board"')
        return str(value)

    def _texts(self, given: Mapping[str, Any], key: str) -> tuple[str, ...]:
        value = given.get(key, [])
        if not isinstance(value, list) or not all(isinstance(one, str) for one in value):
            self._wrong(key, f"{value!r} is not a list of texts", f'for example {key} = ["RM0432"]')
            return ()
        return tuple(value)

    def _holds(self, given: Mapping[str, Any], place: str) -> tuple[str, ...]:
        found = given.get("holds")
        if not isinstance(found, list) or not found or not all(one in USES for one in found):
            what = "is missing" if "holds" not in given else f"{found!r} is not allowed"
            self._wrong(f"{place}, holds", what, f"a list of {', '.join(USES)}")
            return ()
        return tuple(found)

    # ---- what memories are together ----

    def _check_together(self, memories: tuple[BoardMemory, ...]) -> None:
        names = [memory.name.lower() for memory in memories]
        for name in sorted({name for name in names if names.count(name) > 1}):
            self._wrong(f"memory {name}", "is declared twice", "give each memory a name of its own")
        for memory in memories:
            self._check_place(memory)
        ordered = sorted(memories, key=lambda memory: memory.base)
        for below, above in pairwise(ordered):
            if above.base < below.end:
                what = f"lies at {above.base:#x}, inside {below.name} ({below.base:#x} to {below.end:#x})"
                self._wrong(f"memory {above.name}, base", what, "memories do not overlap")
        apart = [memory.name for memory in memories if memory.npu_address >= 0]
        if len(apart) > 1:
            self._wrong(f"memory {apart[1]}, npu_address", f"{apart[0]} has one, too", "one memory at the most has one")
        self._check_uses(memories)

    def _check_place(self, memory: BoardMemory) -> None:
        if memory.base % (PAGE_KIB * KIB) or memory.kib % PAGE_KIB:
            what = f"{memory.base:#x} with {memory.kib} KiB is not made of whole pages"
            self._wrong(f"memory {memory.name}, base and kib", what, f"multiples of {PAGE_KIB} KiB")
        if memory.line_bytes & (memory.line_bytes - 1) or 0 < memory.line_bytes < WORD:
            what = f"{memory.line_bytes} is not a power of two of at least {WORD}"
            self._wrong(f"memory {memory.name}, line_bytes", what, "for example 16, or leave it out for words")
        if memory.end > SYSTEM:
            what = f"ends at {memory.end:#x}, among the core's own registers"
            self._wrong(f"memory {memory.name}, kib", what, f"at most up to {SYSTEM:#x}")

    def _check_uses(self, memories: tuple[BoardMemory, ...]) -> None:
        for needed in (CODE, CONSTANTS):
            if not any(needed in memory.holds for memory in memories):
                hint = f'a flash with holds = ["{CODE}", "{CONSTANTS}"]'
                self._wrong("memory", f"there is none that holds {needed}", hint)
        if not any({ARENA, STACK} <= set(memory.holds) for memory in memories):
            hint = f'a RAM with holds = ["{ARENA}", "{STACK}"]'
            self._wrong("memory", f"there is none that holds both {ARENA} and {STACK}", hint)

    def _wrong(self, field: str, what: str, hint: str) -> None:
        self.errors.append(CompileError(f"{self.where}, {field}", what, hint))


def _shown(number: float) -> str:
    """In full: no powers of ten."""
    if number != int(number):
        return f"{number:g}"
    return f"{int(number):,}" if number < ADDRESSES - 1 else f"{int(number):#x}"
