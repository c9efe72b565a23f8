"""The rule of each operator, found by the operator's name."""

from __future__ import annotations

from collections.abc import Callable, Sequence

from tilewright.frontends.tflite.node import Node
from tilewright.frontends.tflite.rules import (
    binary,
    blocks,
    complex,
    ethos_u,
    functions,
    linear,
    movement,
    pools,
    recurrent,
    reductions,
    rows,
    slices,
    variables,
)

Rule = Callable[[Node], Sequence[str]]

RULES: dict[str, Rule] = {
    **linear.RULES,
    **pools.RULES,
    **binary.RULES,
    **functions.RULES,
    **movement.RULES,
    **slices.RULES,
    **reductions.RULES,
    **rows.RULES,
    **variables.RULES,
    **complex.RULES,
    **recurrent.RULES,
    **blocks.RULES,
    **ethos_u.RULES,
}
