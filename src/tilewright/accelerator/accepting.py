"""Whether a device computes a layer, and if not, why: the name of the condition that fails, with the numbers in it."""

from __future__ import annotations

from functools import lru_cache

from tilewright.accelerator.chains import kind_of, may_requantise, parts_of, steps_of
from tilewright.accelerator.declaration import CHANNELS_LAST, Condition, texts
from tilewright.accelerator.expressions import Expression, UnknownName
from tilewright.accelerator.jobs import Declared
from tilewright.accelerator.numbers import FrozenTypes, Types, numbers
from tilewright.accelerator.packing import meaning
from tilewright.errors import Refusal, present
from tilewright.ir.op import Op


def unsupported_reason(declared: Declared, op: Op, types: Types) -> str | None:
    """Why not, or None."""
    return _unsupported_reason(declared, op, tuple(types.items()))


@lru_cache(maxsize=2**13)
def _unsupported_reason(declared: Declared, op: Op, frozen: FrozenTypes) -> str | None:
    types = dict(frozen)
    try:
        return (
            _chain(declared, op) or _element_types(declared, types) or _layout(declared, op)
            or _missing(declared, types) or _factors(declared, op, types) or _conditions(declared, op, frozen)
            or _jobs(declared, op, types)
        )  # fmt: skip
    except Refusal as refusal:
        return refusal.what


def switched_off(declared: Declared) -> str:
    """The condition that fails for every layer, because it asks for parameters alone; empty where there is none."""
    known = declared.accelerator.parameters
    for one in declared.pattern.conditions:
        held = Expression(one.holds)
        if held.names and set(held.names) <= set(known) and not held(known):
            return _failed(one, dict(known))
    return ""


def _chain(declared: Declared, op: Op) -> str | None:
    """Operators as the pattern has them, each with its requantisation or without."""
    steps, parts = steps_of(declared.pattern), parts_of(meaning(op))
    if len(parts) < len(steps):
        return f"no {steps[len(parts)].op} follows"
    for step, part in zip(steps, parts, strict=True):
        if (why := _part(part, step.requantises or declared.gives_totals)) is not None:
            return why if part is parts[0] else f"{part.kind}: {why}"
    return None


def _part(op: Op, wanted: bool) -> str | None:
    requantises = may_requantise(type(op)) and getattr(op, "requant", None) is not None
    if requantises and not wanted:
        return "it requantises, and the device gives totals"
    if not requantises and wanted:
        return "it does not requantise"
    activation = getattr(op, "activation", None)
    return f"it has an activation, {activation.kind}" if activation is not None else None


def _element_types(declared: Declared, types: Types) -> str | None:
    for name, wanted in declared.pattern.types.items():
        kind = declared.job_types(types).get(name)
        if kind is not None and kind.dtype not in texts(wanted):
            return f"{name} is {kind.dtype}, it takes {' or '.join(texts(wanted))}"
    return None


def _layout(declared: Declared, op: Op) -> str | None:
    parts = [part for part in parts_of(meaning(op)) if hasattr(part, "channels_last")]
    wanted = declared.pattern.layout == CHANNELS_LAST
    if not declared.pattern.layout or all(part.channels_last == wanted for part in parts):
        return None
    return f"it takes {declared.pattern.layout}"


def _missing(declared: Declared, types: Types) -> str | None:
    """An operand whose address is written somewhere must be there."""
    for value in declared.pattern.writes.values():
        if _is_operand(declared, value) and value not in types:
            return f"it has no {value}"
    return None


def _factors(declared: Declared, op: Op, types: Types) -> str | None:
    """Cores requantise totals channel by channel, or column by column."""
    if not declared.gives_totals:
        return None
    if getattr(meaning(op), "perm_y", ()):
        return "its result is stored in another order than it is computed in"
    for name in {"mul", "add"} & set(types):
        shape = types[name].shape
        if types[name].elements not in (1, shape[-1]):
            return f"{name} has shape {shape}; one value for all, or one for each channel is expected"
    return None


def _is_operand(declared: Declared, value: str) -> bool:
    return value in operand_names(declared)


def operand_names(declared: Declared) -> tuple[str, ...]:
    """Of the pattern's operator, results last."""
    kind = present(kind_of(declared.pattern), declared.pattern.name, "has unknown operators")
    return tuple(name.rstrip("?*") for name in (*kind.operands, *kind.results))


def _conditions(declared: Declared, op: Op, types: FrozenTypes) -> str | None:
    known = {**numbers(op, types, types), **declared.accelerator.parameters}
    for one in declared.pattern.conditions:
        try:
            holds = Expression(one.holds)(known)
        except UnknownName as unknown:
            return f"{one.name}: {unknown.what}"
        except Refusal as refusal:
            raise declared.fault(f"condition '{one.name}'", one.holds, refusal, known) from None
        if not holds:
            return _failed(one, known)
    return None


def _failed(condition: Condition, known: dict[str, int | float]) -> str:
    values = ", ".join(f"{name} is {known[name]:g}" for name in Expression(condition.holds).names)
    return f"{condition.name} ({values})" if values else condition.name


def _jobs(declared: Declared, op: Op, types: Types) -> str | None:
    """The scratchpad may hold no part of it."""
    declared.job_count(op, types)
    return None
