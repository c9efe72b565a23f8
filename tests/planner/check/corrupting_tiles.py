"""Faults in a schedule itself: any field of any of its dataclasses gets another value."""

from __future__ import annotations

import random
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, fields, is_dataclass, replace
from typing import Any

from tilewright.ir.affine import Affine
from tilewright.planner.cluster.tiling_option import Tiling
from tilewright.planner.schedule.schedule import Schedule

Path = tuple[str | int, ...]
"""Fields, positions and keys that lead to a value."""

AS_A_WHOLE = (Tiling, Affine)
"""What a layer was chosen to be: replaced by that of another layer, not changed within. Indices of programs likewise,
or by one beside."""

GIVEN = ("graph", "target", "placed", "arena_bytes", "lower_bound", "state_bytes")
"""What a schedule is of and for, and what is reported of it."""

SHIFTS = (-64, -16, -8, -4, -1, 1, 4, 8, 16, 64)
HUGE = 1 << 30


@dataclass(frozen=True)
class Places:
    """A schedule and all of its values, by the dataclass and field that they stand in."""

    schedule: Schedule
    by_field: Mapping[str, list[Path]]

    @staticmethod
    def of(schedule: Schedule) -> Places:
        found: dict[str, list[Path]] = {}
        for name, path in _places(schedule, (), ""):
            found.setdefault(name, []).append(path)
        return Places(schedule, found)

    @property
    def names(self) -> set[str]:
        """Every field that may be changed, as `Class.field`."""
        return set(self.by_field)


def corrupted(
    places: Places, rng: random.Random, only: tuple[str, ...] = ("",)
) -> tuple[Schedule, str] | None:  # fmt: skip
    """The schedule with one value changed, and which; None where there is no other value for it. `only` are beginnings
    of the fields' names: rare ones are changed as often as others."""
    schedule = places.schedule
    name = rng.choice(sorted(name for name in places.by_field if name.startswith(only)))
    path = rng.choice(places.by_field[name])
    old, same = _at(schedule, path), [_at(schedule, one) for one in places.by_field[name]]
    values = [value for value in _others(path, old, same, rng) if value != old or type(value) is not type(old)]
    if not values:
        return None
    new = rng.choice(values)
    return _with(schedule, path, new), f"{'.'.join(map(str, path))}: {_brief(old)} -> {_brief(new)}"


def _places(value: Any, path: Path, name: str) -> Iterator[tuple[str, Path]]:
    if name:
        yield name, path
    if isinstance(value, AS_A_WHOLE):
        return
    if _has_fields(value):
        for field in _fields(value):
            if isinstance(value, Schedule) and field in GIVEN:
                continue
            yield from _places(getattr(value, field), (*path, field), f"{type(value).__name__}.{field}")
    elif isinstance(value, Mapping):
        for key, one in value.items():
            yield from _places(one, (*path, key), f"{name}[]")
    elif isinstance(value, tuple):
        for position, one in enumerate(value):
            yield from _places(one, (*path, position), f"{name}[]")


def _has_fields(value: Any) -> bool:
    """Dataclasses, and tuples whose elements have names."""
    return is_dataclass(value) or hasattr(value, "_fields")


def _fields(value: Any) -> tuple[str, ...]:
    return tuple(field.name for field in fields(value)) if is_dataclass(value) else value._fields


def _others(path: Path, old: Any, same: list[Any], rng: random.Random) -> list[Any]:
    """Other values that a place might have by mistake, those of the same field elsewhere among them."""
    if isinstance(old, bool):
        return [not old]
    if isinstance(old, int):
        return [*(old + shift for shift in SHIFTS), 0, 2 * old, old // 2, old + HUGE, rng.choice(same)]
    if isinstance(old, frozenset):
        return [old - {one} for one in old] + [rng.choice(same)]
    if isinstance(old, Affine):
        return [old + 1, old - 1, old * 2, Affine(old.terms[1:], old.offset), rng.choice(same)]
    if isinstance(old, tuple) and not _has_fields(old):
        return [*_other_tuples(old, rng), rng.choice(same)]
    if isinstance(old, Mapping):
        return [{key: one for key, one in old.items() if key != rng.choice(sorted(old))}] if old else []
    nothing = [None] if None in same else []
    return nothing + [rng.choice(same) for _ in range(4)]


def _other_tuples(old: tuple[Any, ...], rng: random.Random) -> list[Any]:
    if not old:
        return []
    at, other = rng.randrange(len(old)), rng.randrange(len(old))
    swapped = list(old)
    swapped[at], swapped[other] = swapped[other], swapped[at]
    return [old[:at] + old[at + 1 :], old[: at + 1] + old[at:], tuple(swapped)]


def _at(value: Any, path: Path) -> Any:
    for step in path:
        value = getattr(value, str(step)) if _has_fields(value) else value[step]
    return value


def _with(value: Any, path: Path, new: Any) -> Any:
    """A copy in which one value is another."""
    if not path:
        return new
    step, rest = path[0], path[1:]
    if isinstance(value, tuple) and _has_fields(value):
        return value._replace(**{str(step): _with(getattr(value, str(step)), rest, new)})  # type: ignore[attr-defined]
    if is_dataclass(value):
        return replace(value, **{str(step): _with(getattr(value, str(step)), rest, new)})  # type: ignore[type-var]
    if isinstance(value, Mapping):
        return {**value, step: _with(value[step], rest, new)}
    changed = list(value)
    changed[int(step)] = _with(value[int(step)], rest, new)
    return tuple(changed)


def _brief(value: object) -> str:
    text = repr(value)
    return text if len(text) < 160 else f"{text[:160]}..."
