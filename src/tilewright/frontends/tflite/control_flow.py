"""Control flow of TensorFlow Lite: the branch that an IF takes stands in its place, WHILEs of known length unrolled."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Protocol

from tilewright.errors import Refusal
from tilewright.frontends.tflite.file import Operator
from tilewright.ir.types import Array

KINDS = frozenset({"IF", "WHILE", "CALL"})
MOST_UNROLLED = 5_000
"""Operators that all subgraphs of a file may become."""
KNOWN = "choose the branch, or unroll the loop, before conversion"
"""What to try where data decides."""


class Poisoned(Exception):
    """Something inside a subgraph was refused, and said."""


class Caller(Protocol):
    """The import that an operator is part of."""

    def inline(self, number: int, given: Sequence[str]) -> list[str]:
        """A copy of a subgraph that reads these tensors: its outputs."""

    def value(self, tensor: str) -> Array | None:
        """What a tensor is, if that is known."""


def convert(operator: Operator, inputs: Sequence[str], caller: Caller) -> list[str]:
    """The outputs of an operator with subgraphs."""
    if operator.kind == "CALL":
        return caller.inline(_subgraph(operator, "Subgraph"), inputs)
    if operator.kind == "IF":
        which = "ThenSubgraphIndex" if _decides(inputs[:1], caller, "") else "ElseSubgraphIndex"
        return caller.inline(_subgraph(operator, which), inputs[1:])
    return _loop(operator, list(inputs), caller)


def _loop(operator: Operator, carried: list[str], caller: Caller) -> list[str]:
    condition, body = _subgraph(operator, "CondSubgraphIndex"), _subgraph(operator, "BodySubgraphIndex")
    turn = 0
    while _decides(caller.inline(condition, carried), caller, f" after {turn} iterations"):
        carried, turn = caller.inline(body, carried), turn + 1
    return carried


def _subgraph(operator: Operator, name: str) -> int:
    if name not in operator.options:
        raise Refusal(f"option {name} is missing", "the file contradicts itself: convert it again")
    return int(operator.options[name])


def _decides(conditions: Sequence[str], caller: Caller, when: str) -> bool:
    if len(conditions) != 1:
        raise Refusal(f"{len(conditions)} conditions, one expected")
    value = caller.value(conditions[0])
    if value is None:
        raise Refusal(f"the condition '{conditions[0]}'{when} depends on data", KNOWN)
    if value.size != 1:
        raise Refusal(f"the condition '{conditions[0]}' has {value.size} elements, one expected")
    return bool(value.reshape(-1)[0])
