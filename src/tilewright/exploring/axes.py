"""What a study may vary: settings of targets, called as the command line calls them, and the bits of weights."""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping
from difflib import get_close_matches
from typing import Any, get_type_hints

from tilewright.quantiser.widths import WEIGHT_BITS
from tilewright.records import dataclass
from tilewright.target.options import FOLDERS, WORDS
from tilewright.target.settings import OPTIONS, Settings

Value = bool | int | float | str
"""Of an axis at one point. What is a list in a study is a string here."""

MEMORY, PARAMETER = "memory.", "parameter."
"""How axes begin that are the bytes of a memory, or a parameter of the accelerators."""
BITS = "weight_bits"
ACCELERATOR, INSTRUCTION = "accelerator", "instruction"
FOLDER_AXES = (ACCELERATOR, INSTRUCTION)
"""Whose values are folders."""
TOGETHER = " + "
"""Between folders of one point: words of accelerators have commas."""


@dataclass(frozen=True)
class Axis:
    name: str
    field: str
    """Of `Settings`."""
    kind: type
    """bool, int, float or str."""
    choices: tuple[Value, ...] = ()
    """All values that there are; none where there are too many."""
    separator: str = ""
    """Where a value is several names: what stands between them."""

    def problem(self, value: Value) -> str:
        """What is wrong with a value; nothing where it is one."""
        if self.choices and value not in self.choices:
            return f"is none of {', '.join(repr(choice) for choice in self.choices)}"
        return _problem(self.kind, value)

    def setting(self, value: Value) -> Any:
        if not self.separator:
            return self.kind(value)
        return tuple(name.strip() for name in str(value).split(self.separator.strip()) if name.strip())


SWEPT = (
    "cores", "l1", "l2", "home", "buffering", "engines", "weight_memory", "code_in_l1", "numerics", "precision",
    "packed_weights", "time_limit", "isa", "clock_mhz", "stack", "accelerators", "instructions",
)  # fmt: skip
"""Fields of `Settings` that studies may vary."""
SEPARATORS = {WORDS: ",", FOLDERS: TOGETHER}
KINDS = {kind: one for one in (bool, int, float, str) for kind in (one, one | None)}


def _axis(field: str) -> Axis:
    option, kind = OPTIONS[field], get_type_hints(Settings)[field]
    return Axis(option.name, field, KINDS.get(kind, str), option.choices, SEPARATORS.get(option.form, ""))


AXES = {axis.name: axis for axis in map(_axis, SWEPT)}
"""By name, as commands have it."""


def axis_names() -> list[str]:
    """What may stand in a study, families of axes with an example's name."""
    return [*AXES, BITS, f"{MEMORY}NAME", f"{PARAMETER}NAME"]


def is_axis(name: str) -> bool:
    if name.startswith(PARAMETER):
        return len(name) > len(PARAMETER)
    return name in AXES or name == BITS or (name.startswith(MEMORY) and len(name) > len(MEMORY))


def value_of(name: str, given: object) -> Value | None:
    """A value as points have it; None for what cannot be one."""
    separator = AXES[name].separator if name in AXES else ""
    if separator and isinstance(given, list | tuple) and all(isinstance(part, str) for part in given):
        return separator.join(given)
    return given if isinstance(given, Value) else None


def value_problem(name: str, value: Value) -> str:
    """What is wrong with a value of an axis; nothing where it is one."""
    if name in AXES:
        return AXES[name].problem(value)
    if name == BITS:
        bits = f"is not a number of bits from {WEIGHT_BITS.start} to {WEIGHT_BITS.stop - 1}"
        return "" if _problem(int, value) == "" and int(value) in WEIGHT_BITS else bits
    return _problem(int, value) if name.startswith(MEMORY) else ""


def settings_of(values: Mapping[str, Value], folders: Mapping[str, str] | None = None) -> Settings:
    """The settings of a point, whose accelerators and instructions lie in these folders."""
    found = {AXES[name].field: AXES[name].setting(value) for name, value in values.items() if name in AXES}
    memories = _family(values, MEMORY)
    if memories:
        found["memories"] = tuple((name.lower(), int(size)) for name, size in memories.items())
    for axis in FOLDER_AXES:
        if axis in values:
            added, field = _family(values, PARAMETER) if axis == ACCELERATOR else {}, AXES[axis].field
            found[field] = tuple(_placed(spec, folders or {}, added) for spec in found[field])
    return Settings(**found)


def named_folders(axis: str, value: Value) -> list[str]:
    """Where the accelerators or instructions of a point lie: what stands before their parameters."""
    return [spec.partition(":")[0] for spec in AXES[axis].setting(value)]


def nearest(name: str, known: Iterable[str]) -> str:
    """A hint: the known name that is meant, or all of them."""
    names = list(known)
    close = get_close_matches(name, names, 1)
    return f"do you mean {close[0]}?" if close else f"known: {', '.join(names)}"


def _family(values: Mapping[str, Value], family: str) -> dict[str, Value]:
    return {name.removeprefix(family): value for name, value in values.items() if name.startswith(family)}


def _placed(spec: str, folders: Mapping[str, str], parameters: Mapping[str, Value]) -> str:
    """An accelerator, `FOLDER` or `FOLDER:NAME=VALUE,...`, where it lies and with more of its parameters given."""
    folder, _, words = spec.partition(":")
    given = ",".join([*filter(None, [words]), *(f"{name}={value}" for name, value in parameters.items())])
    return f"{folders.get(folder, folder)}{':' if given else ''}{given}"


def _problem(kind: type, value: Value) -> str:
    if kind is bool:
        return "" if isinstance(value, bool) else "is neither true nor false"
    if kind is str:
        return "" if isinstance(value, str) else "is not a text"
    if isinstance(value, bool) or not isinstance(value, int if kind is int else int | float):
        return "is not a whole number" if kind is int else "is not a number"
    return "" if value > 0 and math.isfinite(value) else "is not above 0"
