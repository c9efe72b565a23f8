"""What is wrong with a declaration, all of it at once, before anything is made from it."""

from __future__ import annotations

import re
from collections.abc import Iterator
from difflib import get_close_matches
from itertools import pairwise

from tilewright.accelerator.chains import kind_of, may_requantise, steps_of
from tilewright.accelerator.declaration import (
    CHANNELS_FIRST,
    CHANNELS_LAST,
    REQUANTISE,
    WORD,
    Accelerator,
    Event,
    Pattern,
    Register,
)
from tilewright.accelerator.expressions import Expression
from tilewright.accelerator.fields import wrong_fields
from tilewright.accelerator.finding import find_operator
from tilewright.accelerator.layers import Layer, becomes_others, layers
from tilewright.accelerator.numbers import numbers, operand_shapes
from tilewright.accelerator.packing import operand_loops
from tilewright.errors import CompileError, Refusal, present, raise_all
from tilewright.ir.op import Op
from tilewright.ir.types import BYTES
from tilewright.ops._packing import check_order

IDENTIFIER = re.compile(r"[a-z][a-z0-9_]{0,30}")
LETTERS = "use a lower-case letter, then at most 30 of these, digits and underscores"
LARGEST = 0x1000
"""Bytes of a register file."""
LINES = range(8)
"""Of the event unit, for devices."""


def check_declaration(accelerator: Accelerator, where: str) -> None:
    raise_all([CompileError(where, what, hint) for what, hint in wrong_fields(accelerator)])
    looks = (_names, _registers, _ends, _patterns, _numbers, _figures)
    raise_all([CompileError(where, what, hint) for look in looks for what, hint in look(accelerator)])


Fault = tuple[str, str]
"""What is wrong, and what to try."""


def _numbers(accelerator: Accelerator) -> Iterator[Fault]:
    if accelerator.latency < 0:
        yield f"latency is {accelerator.latency}", "cycles from 0 on"
    for pattern in accelerator.patterns:
        for what, values in (("limits", pattern.limits), ("multiples", pattern.multiples)):
            for loop, value in values.items():
                if value < 1:
                    yield f"pattern '{pattern.name}': {what} of loop '{loop}' is {value}", "a whole number from 1 on"


def _figures(accelerator: Accelerator) -> Iterator[Fault]:
    yield from _figure(accelerator, "area", accelerator.area)
    yield from _figure(accelerator, "least_cycles_per_mac", accelerator.least_cycles_per_mac)


def _figure(accelerator: Accelerator, field: str, text: str) -> Iterator[Fault]:
    known = ["scratchpad_bytes", *accelerator.parameters]
    try:
        names = Expression(text).names if text else ()
    except Refusal as refusal:
        yield f"{field}: {refusal.what}", refusal.hint
        return
    for name in names:
        if name not in known:
            yield f"{field}: there is no parameter '{name}'", _close(name, known)


def _names(accelerator: Accelerator) -> Iterator[Fault]:
    named = [accelerator.name, *(p.name for p in accelerator.patterns), *(r.name for r in accelerator.registers)]
    for name in [*named, *accelerator.parameters]:
        if not IDENTIFIER.fullmatch(name):
            yield f"'{name}' is not a C name", LETTERS
    if not accelerator.patterns:
        yield "has no pattern: it would compute nothing", 'patterns=(Pattern("conv", "Conv", writes={...}),)'
    yield from _twice([pattern.name for pattern in accelerator.patterns], "pattern")


def _twice(names: list[str], kind: str) -> Iterator[Fault]:
    for name in dict.fromkeys(name for name in names if names.count(name) > 1):
        yield f"{kind} '{name}' is declared twice", "give each a name of its own"


def _registers(accelerator: Accelerator) -> Iterator[Fault]:
    yield from _twice([register.name for register in accelerator.registers], "register")
    ordered = sorted(accelerator.registers, key=lambda register: register.offset)
    for register in ordered:
        if register.offset % WORD or not 0 <= register.offset < LARGEST:
            yield f"register '{register.name}' is at {register.offset:#x}", f"a multiple of {WORD} below {LARGEST:#x}"
        if register.access not in ("rw", "r", "w"):
            yield f"register '{register.name}' has access '{register.access}'", "rw, r or w"
    for before, after in pairwise(ordered):
        if after.offset < before.offset + WORD:
            yield f"registers '{before.name}' and '{after.name}' overlap at {after.offset:#x}", f"each has {WORD} bytes"


def _ends(accelerator: Accelerator) -> Iterator[Fault]:
    """How a job starts and ends."""
    yield from _register(accelerator, accelerator.start, "start", "w")
    yield from _register(accelerator, accelerator.done.register, "done", "r")
    if not accelerator.done.bits:
        yield "done waits for no bits", "bits=1"
    if isinstance(accelerator.done, Event) and accelerator.done.line not in LINES:
        yield f"event line {accelerator.done.line} is not a device's", f"0 to {LINES.stop - 1}"
    if accelerator.rtl is not None and accelerator.rtl.clock_divider < 1:
        yield f"the clock's divider is {accelerator.rtl.clock_divider}", "a whole number from 1 on"
    if accelerator.bus is not None and not accelerator.bus.bytes_per_cycle > 0:
        yield f"the bus moves {accelerator.bus.bytes_per_cycle} bytes per cycle", "a number above 0"
    if accelerator.scratchpad is not None and accelerator.scratchpad.bytes < 1:
        yield f"the scratchpad has {accelerator.scratchpad.bytes} bytes", "leave it out, or give it a size"


def _register(accelerator: Accelerator, name: str, use: str, access: str) -> Iterator[Fault]:
    found: Register | None = next((r for r in accelerator.registers if r.name == name), None)
    if found is None:
        yield f"{use}: there is no register '{name}'", _close(name, [r.name for r in accelerator.registers])
    elif access not in found.access:
        yield f"{use}: register '{name}' has access '{found.access}'", f"it must have {access}"


def _close(name: str, known: list[str]) -> str:
    found = get_close_matches(name, known, 1)
    return f"is '{found[0]}' meant?" if found else f"there are {', '.join(known)}"


# ---- patterns -------------------------------------------------------------------------------------------------------


def _patterns(accelerator: Accelerator) -> Iterator[Fault]:
    for pattern in accelerator.patterns:
        faults = list(_steps(pattern)) or list(_of_pattern(accelerator, pattern))
        yield from ((f"pattern '{pattern.name}': {what}", hint) for what, hint in faults)


def _steps(pattern: Pattern) -> Iterator[Fault]:
    """Operators that are none, or that nothing follows in one job."""
    first, *others = steps_of(pattern)
    for step in (first, *others):
        kind = find_operator(step.op)
        if kind is None and step is first:
            yield f"there is no operator '{step.op}'", "`tilewright ops` lists them"
        elif kind is None:
            hint = f"an operator that follows, or '{REQUANTISE}'; a bias is an operand"
            yield f"'{step.op}' cannot be part of a chain", hint
        elif becomes_others(kind):
            what = f"{step.op} is replaced by other operators before accelerators are considered"
            yield what, "`tilewright analyze` shows which: Gemm is a MatMul, for example"
        elif step.requantises and not may_requantise(kind):
            yield f"'{REQUANTISE}' is no choice of {step.op}", "leave it out"


def _of_pattern(accelerator: Accelerator, pattern: Pattern) -> Iterator[Fault]:
    try:
        kind = present(kind_of(pattern), pattern.name, "has unknown operators")
    except Refusal as refusal:
        yield refusal.what, refusal.hint
        return
    yield from _operands(pattern, kind)
    yield from _written(accelerator, pattern)
    yield from _expressions(accelerator, pattern, kind)


def _operands(pattern: Pattern, kind: type[Op]) -> Iterator[Fault]:
    known = [name.rstrip("?*") for name in (*kind.operands, *kind.results)]
    for name in (*pattern.types, *pattern.required, *pattern.packings):
        if name not in known:
            yield f"{kind.__name__} has no operand '{name}'", _close(name, known)
    for name in pattern.required:
        if f"{name}?" not in kind.operands:
            yield f"'{name}' is always there, it need not be required", "leave it out of `required`"
    for name, dtypes in pattern.types.items():
        for dtype in (dtypes,) if isinstance(dtypes, str) else dtypes:
            if dtype not in BYTES:
                yield f"{name} has unknown type '{dtype}'", _close(dtype, list(BYTES))
    if len(pattern.packings) > 1:
        yield f"{' and '.join(pattern.packings)} are packed", "pack only one operand of a pattern"
    if pattern.layout not in ("", CHANNELS_FIRST, CHANNELS_LAST):
        yield f"layout '{pattern.layout}' is unknown", f"'{CHANNELS_FIRST}' or '{CHANNELS_LAST}'"
    if not set(kind.results) & set(pattern.writes.values()):
        yield (
            f"no register gets the address of a result ({', '.join(kind.results)})",
            f"writes={{..., 'result': '{kind.results[0]}'}}",
        )


def _written(accelerator: Accelerator, pattern: Pattern) -> Iterator[Fault]:
    for name in pattern.writes:
        if name == accelerator.start:
            yield (
                f"register '{name}' starts the job, it is written automatically at the end",
                "leave it out of `writes`",
            )
        yield from _register(accelerator, name, "writes", "w")


def _expressions(accelerator: Accelerator, pattern: Pattern, kind: type[Op]) -> Iterator[Fault]:
    operands = [name.rstrip("?*") for name in (*kind.operands, *kind.results)]
    values = {f"register '{name}'": text for name, text in pattern.writes.items() if text not in operands}
    conditions = {f"condition '{one.name}'": one.holds for one in pattern.conditions}
    found = layers(pattern, kind)
    known = _known_names(accelerator, found)
    costs = {"cycles": accelerator.cycles_of(pattern), "picojoules": accelerator.picojoules_of(pattern) or "0"}
    for what, text in {**values, **conditions, **costs}.items():
        try:
            names = Expression(text).names
        except Refusal as refusal:
            yield f"{what}: {refusal.what}", refusal.hint
            continue
        for name in names:
            if known and name not in known:
                # Where it stands alone in `writes`, it may have been meant to be an operand.
                meant = [*(operands if what in values and text == name else ()), *sorted(known)]
                yield f"{what}: {kind.__name__} has no loop, operand or number '{name}'", _close(name, meant)
    yield from _orders(pattern, found)
    loops = _loops(found)
    for name in (*pattern.limits, *pattern.multiples, *pattern.cuts):
        if loops and name not in loops:
            yield f"{kind.__name__} has no loop '{name}'", f"its loops are {', '.join(loops)}"
    for name in dict.fromkeys(pattern.cuts):
        if any(name in op.reductions(operand_shapes(op, types)) for op, types in found):
            yield f"layers would be cut along loop '{name}', which is summed over", "leave it out of `cuts`"


def _orders(pattern: Pattern, found: list[Layer]) -> Iterator[Fault]:
    for operand, packing in pattern.packings.items():
        for op, types in found[:1]:
            shapes = operand_shapes(op, types)
            if operand not in shapes:
                continue
            try:
                check_order(packing.order, operand_loops(op, shapes, operand))
            except Refusal as refusal:
                yield f"packing of {operand}, '{packing.order}': {refusal.what}", refusal.hint


def _known_names(accelerator: Accelerator, found: list[Layer]) -> set[str]:
    """What expressions may speak of; empty where there is no layer to look at."""
    names: set[str] = set()
    for op, types in found:
        frozen = tuple(types.items())
        names |= set(numbers(op, frozen, frozen))
    return names | set(accelerator.parameters) if names else names


def _loops(found: list[Layer]) -> list[str]:
    return list(dict.fromkeys(loop for op, types in found for loop in op.extents(operand_shapes(op, types))))
