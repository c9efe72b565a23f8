"""Figures that a declaration states as expressions over the accelerator's parameters: its area, which sweeps hold its
cycles against, and the least that a product takes, for bounds."""

from __future__ import annotations

import math
from collections.abc import Mapping

from tilewright.accelerator.area import gate_equivalents
from tilewright.accelerator.declaration import Accelerator
from tilewright.accelerator.expressions import Expression, Number
from tilewright.accelerator.folder import DECLARATION, read_folder
from tilewright.errors import CompileError, Refusal
from tilewright.target.peak import Peak, SameMacs

SCRATCHPAD = "scratchpad_bytes"


def area_of(words: str) -> float | None:
    """Of `FOLDER:parameter=value`: as declared, or the gate equivalents of its Verilog; None where there is neither."""
    found = read_folder(words)
    if not found.accelerator.area:
        return gate_equivalents(found)
    return _figure(found.accelerator, "area", found.accelerator.area, str(found.folder / DECLARATION))


def peak_of(accelerator: Accelerator) -> Peak | None:
    """None where nothing is declared."""
    where, field = f"accelerator {accelerator.name}", "least_cycles_per_mac"
    least = _figure(accelerator, field, accelerator.least_cycles_per_mac, where)
    if least is None:
        return None
    return Peak(SameMacs(1 / least if least else math.inf), f"{where}: {field}", declared=True)


def _figure(accelerator: Accelerator, field: str, text: str, where: str) -> float | None:
    """The value of a field; None where it is empty."""
    if not text:
        return None
    try:
        value = float(Expression(text)(_names(accelerator)))
    except Refusal as refusal:
        raise CompileError(where, f"{field}: {refusal.what}", "check the parameters that were set") from None
    if not 0 <= value < math.inf:
        raise CompileError(where, f"{field}: '{text}' is {value:g}", "a number of at least 0 is expected")
    return value


def _names(accelerator: Accelerator) -> Mapping[str, Number]:
    """What an expression may speak of."""
    pad = accelerator.scratchpad.bytes if accelerator.scratchpad else 0
    return {SCRATCHPAD: pad, **accelerator.parameters}
