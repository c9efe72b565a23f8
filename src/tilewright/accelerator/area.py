"""How large an accelerator is, as its declaration says: what sweeps hold its cycles against."""

from __future__ import annotations

import math
from collections.abc import Mapping

from tilewright.accelerator.declaration import Accelerator
from tilewright.accelerator.expressions import Expression, Number
from tilewright.accelerator.folder import DECLARATION, read_folder
from tilewright.errors import CompileError, Refusal

SCRATCHPAD = "scratchpad_bytes"


def area_names(accelerator: Accelerator) -> Mapping[str, Number]:
    """What the expression may speak of."""
    pad = accelerator.scratchpad.bytes if accelerator.scratchpad else 0
    return {SCRATCHPAD: pad, **accelerator.parameters}


def area_of(words: str) -> float | None:
    """Of `FOLDER:parameter=value`; None where nothing is declared."""
    found = read_folder(words)
    text = found.accelerator.area
    if not text:
        return None
    where = str(found.folder / DECLARATION)
    try:
        area = float(Expression(text)(area_names(found.accelerator)))
    except Refusal as refusal:
        raise CompileError(where, f"area: {refusal.what}", "check the parameters that were set") from None
    if not 0 <= area < math.inf:
        raise CompileError(where, f"area: '{text}' is {area:g}", "a number of at least 0 is expected")
    return area
