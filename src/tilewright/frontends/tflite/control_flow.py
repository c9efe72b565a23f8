"""Control flow of TensorFlow Lite: the branch that an IF takes stands in its place, WHILEs of known length unrolled.
What data decides on becomes operators with bodies."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Protocol

from tilewright.errors import Refusal
from tilewright.frontends.tflite.file import Operator
from tilewright.ir.op import Op
from tilewright.ir.types import Array, TensorType
from tilewright.ops._control_flow import Body, Branch, Loop

KINDS = frozenset({"IF", "WHILE", "CALL"})
MOST_UNROLLED = 5_000
"""Operators that all subgraphs of a file may become."""
SUBGRAPHS = ("Subgraph", "ThenSubgraphIndex", "ElseSubgraphIndex", "CondSubgraphIndex", "BodySubgraphIndex")
"""Options that number subgraphs."""
VARIABLES = frozenset({"VAR_HANDLE", "READ_VARIABLE", "ASSIGN_VARIABLE"})
KNOWN = "choose the branch, or unroll the loop, before conversion"
"""What to try where data decides."""


Run = Callable[[Sequence[str]], Sequence[str]]
"""Adds operators on these tensors, and gives the results."""


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

    def kind(self, tensor: str) -> TensorType:
        """The type of a tensor."""

    def keeps(self, number: int) -> bool:
        """Whether a subgraph, or one that it calls, reads or writes variables."""

    def body(self, number: int, kinds: Sequence[TensorType], run: Run) -> Body:
        """A graph of its own: what `run` gives for inputs of these types, of a subgraph that gives it its name."""

    def add(self, op: Op, inputs: Sequence[str]) -> list[str]:
        """All results of an operator."""


def convert(operator: Operator, inputs: Sequence[str], caller: Caller) -> list[str]:
    """The outputs of an operator with subgraphs."""
    if operator.kind == "CALL":
        return caller.inline(_subgraph(operator, "Subgraph"), inputs)
    if operator.kind == "IF":
        return _branch(operator, inputs, caller)
    return _loop(operator, list(inputs), caller)


def _branch(operator: Operator, inputs: Sequence[str], caller: Caller) -> list[str]:
    """The branch that is taken, or a branch of the graph where data decides. Of branches with variables both are
    computed, if they only read them, and the results of one are taken."""
    branches = [_subgraph(operator, which) for which in ("ThenSubgraphIndex", "ElseSubgraphIndex")]
    if inputs and caller.value(inputs[0]) is None:
        if not any(map(caller.keeps, branches)):
            then, other = (_body_of(caller, branch, inputs[1:]) for branch in branches)
            if then.outputs == other.outputs:
                return caller.add(Branch(then, other), inputs)
        both = [caller.inline(branch, inputs[1:], by_data=True) for branch in branches]
        return [caller.select(inputs[0], *pair) for pair in zip(*both, strict=True)]
    return caller.inline(branches[0 if _decides(inputs[:1], caller, "") else 1], inputs[1:])


def _body_of(caller: Caller, number: int, inputs: Sequence[str]) -> Body:
    kinds = [caller.kind(tensor) for tensor in inputs]
    return caller.body(number, kinds, lambda given: caller.inline(number, given, by_data=True))


def _loop(operator: Operator, carried: list[str], caller: Caller) -> list[str]:
    """Turn by turn as long as the condition is known, then a loop of the graph."""
    condition, body = _subgraph(operator, "CondSubgraphIndex"), _subgraph(operator, "BodySubgraphIndex")
    turn = 0
    while True:
        decided = caller.inline(condition, carried)
        if len(decided) == 1 and caller.value(decided[0]) is None and not any(map(caller.keeps, (condition, body))):
            return _open_loop(condition, body, decided[0], carried, caller)
        if not _decides(decided, caller, f" after {turn} iterations"):
            return carried
        carried, turn = caller.inline(body, carried), turn + 1


def _open_loop(condition: int, body: int, first: str, carried: Sequence[str], caller: Caller) -> list[str]:
    """As often as data says."""

    def turn(given: Sequence[str]) -> list[str]:
        made = caller.inline(body, given[1:], by_data=True)
        return [*caller.inline(condition, made, by_data=True), *made]

    kinds = [TensorType("int64", ()), *(caller.kind(tensor) for tensor in carried)]
    op = Loop(caller.body(body, kinds, turn), -1, len(carried), asks=True, tests=True)
    return caller.add(op, [first, *carried])


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
