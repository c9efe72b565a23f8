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

    def inline(self, number: int, given: Sequence[str], by_data: bool = False) -> list[str]:
        """A copy of a subgraph that reads these tensors: its outputs. `by_data`: whether it is meant is not known."""

    def select(self, condition: str, then: str, other: str) -> str:
        """One of two tensors of one type."""

    def value(self, tensor: str) -> Array | None:
        """What a tensor is, if that is known."""


def convert(operator: Operator, inputs: Sequence[str], caller: Caller) -> list[str]:
    """The outputs of an operator with subgraphs."""
    if operator.kind == "CALL":
        return caller.inline(_subgraph(operator, "Subgraph"), inputs)
    if operator.kind == "IF":
        return _branch(operator, inputs, caller)
    return _loop(operator, list(inputs), caller)


def _branch(operator: Operator, inputs: Sequence[str], caller: Caller) -> list[str]:
    """The branch that is taken; where data decides, both are computed and the results of one are taken."""
    branches = [_subgraph(operator, which) for which in ("ThenSubgraphIndex", "ElseSubgraphIndex")]
    if inputs and caller.value(inputs[0]) is None:
        both = [caller.inline(branch, inputs[1:], by_data=True) for branch in branches]
        return [caller.select(inputs[0], *pair) for pair in zip(*both, strict=True)]
    return caller.inline(branches[0 if _decides(inputs[:1], caller, "") else 1], inputs[1:])


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
