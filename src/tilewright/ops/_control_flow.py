"""Operators whose meaning is graphs of their own: branches that one bool decides between, and loops.

The inputs of a body are what the operator gives it, in a stated order; what it reads from outside is among them. Bodies
have no states, and constants of their own.
"""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import replace
from typing import Any, ClassVar

import numpy as np

from tilewright.errors import CompileError, Refusal
from tilewright.ir.affine import whole
from tilewright.ir.evaluate import evaluate
from tilewright.ir.graph import Graph
from tilewright.ir.op import Index, Op
from tilewright.ir.types import Array, Shapes, TensorType
from tilewright.records import dataclass

MOST_UNROLLED = 12_000
"""Nodes that all loops of a model may become: four recurrent layers of 64 steps. Damaged files must end soon."""

LONGEST_UNBOUNDED = 100_000
"""Turns of a loop that nothing bounds, in numpy: one that data never ends must be told from one that takes long."""

Run = Callable[[int, Sequence[Array]], Sequence[Array]]
"""The outputs of the body of a number, on these inputs."""


@dataclass(frozen=True, eq=False)
class Body:
    """A graph as a field of an operator: two are equal where they are the same one."""

    graph: Graph

    @property
    def inputs(self) -> tuple[TensorType, ...]:
        return tuple(self.graph.types[name] for name in self.graph.inputs)

    @property
    def outputs(self) -> tuple[TensorType, ...]:
        return tuple(self.graph.types[name] for name in self.graph.outputs)

    def macs(self, node_macs: Callable[[Graph, Any], int]) -> int:
        return sum(node_macs(self.graph, node) for node in self.graph.nodes)


@dataclass(frozen=True)
class ControlFlow(Op):
    operands: ClassVar[tuple[str, ...]] = ("X*",)
    results: ClassVar[tuple[str, ...]] = ("Y*",)
    is_planned: ClassVar[bool] = False
    """Whether bodies are to stay as they are."""

    @property
    @abstractmethod
    def body_names(self) -> tuple[str, ...]:
        """What each of its bodies is called."""

    @abstractmethod
    def with_bodies(self, bodies: Sequence[Body]) -> ControlFlow:
        """This operator with other bodies."""

    @property
    @abstractmethod
    def own_operands(self) -> int:
        """Operands that bodies do not see as they are; those behind are inputs of every body, its last ones."""

    @abstractmethod
    def result_types(self) -> tuple[TensorType, ...]: ...

    @abstractmethod
    def run(self, run: Run, operands: Sequence[Array]) -> tuple[Array, ...]:
        """What it does with its operands, by running bodies."""

    @abstractmethod
    def most(self, of_bodies: Sequence[int]) -> int:
        """What all runs of bodies take at most, of what each takes; as for one turn where nothing bounds a loop."""

    def infer(self, types: Mapping[str, TensorType]) -> tuple[TensorType, ...]:
        self.check(types)
        return self.result_types()

    def index(self, shapes: Shapes) -> Index:
        found = {**shapes, **{f"Y{i}": kind.shape for i, kind in enumerate(self.result_types())}}
        return {name: tuple(map(whole, shape)) for name, shape in found.items()}

    def macs(self, shapes: Shapes) -> int:
        return self.most([body.macs(Graph.macs) for body in self.bodies])

    def least_macs(self, shapes: Shapes) -> int:
        return 0

    def numpy(self, *arrays: Any) -> tuple[Array, ...]:
        return self.run(self._evaluated, arrays)

    def _evaluated(self, number: int, inputs: Sequence[Array]) -> list[Array]:
        graph = self.bodies[number].graph
        values = evaluate(graph, dict(zip(graph.inputs, inputs, strict=True)))
        return [values[name] for name in graph.outputs]

    def check_shared(self, types: Mapping[str, TensorType], body: Body, first: int) -> None:
        """The operands from the first one that all bodies see are the last inputs of a body."""
        given = tuple(types.values())[first:]
        if body.inputs[len(body.inputs) - len(given) :] != given:
            raise Refusal(f"a body of {body.graph.name} takes {_listed(body.inputs)}, but is given {_listed(given)}")


@dataclass(frozen=True)
class Branch(ControlFlow):
    """What one of two bodies gives: the first where X0, one bool, is true. Both are given all other operands."""

    then_branch: Body
    else_branch: Body

    @property
    def kind(self) -> str:
        return "If"

    @property
    def bodies(self) -> tuple[Body, ...]:
        return self.then_branch, self.else_branch

    @property
    def body_names(self) -> tuple[str, ...]:
        return "then", "else"

    def with_bodies(self, bodies: Sequence[Body]) -> Branch:
        return Branch(*bodies)

    @property
    def own_operands(self) -> int:
        return 1

    def check(self, types: Mapping[str, TensorType]) -> None:
        condition = types["X0"]
        if condition.dtype != "bool" or condition.elements != 1:
            raise Refusal(f"the condition is {condition}, but one bool is expected", "insert a Cast")
        if self.then_branch.outputs != self.else_branch.outputs:
            said = f"{_listed(self.then_branch.outputs)} and {_listed(self.else_branch.outputs)}"
            raise Refusal(f"the branches give {said}")
        for body in self.bodies:
            self.check_shared(types, body, 1)

    def result_types(self) -> tuple[TensorType, ...]:
        return self.then_branch.outputs

    def run(self, run: Run, operands: Sequence[Array]) -> tuple[Array, ...]:
        condition, *others = operands
        return tuple(run(0 if condition.reshape(-1)[0] else 1, others))

    def most(self, of_bodies: Sequence[int]) -> int:
        return max(of_bodies)

    def __str__(self) -> str:
        return self.kind


@dataclass(frozen=True)
class Loop(ControlFlow):
    """Runs a body again and again.

    Operands: how often at most, if `counts` (one int64); whether at all, if `asks` (one bool); the first values of what
    is carried on; sequences, of which each turn has one element along axis 0; what every turn is given.
    Inputs of the body: the number of the turn (int64), the carried values, the elements, what every turn is given. Its
    outputs: whether to go on (one bool), if `tests`; the next values of what is carried on; elements of the results.
    Results: the last values of what is carried on, and elements along a new axis 0. Of turns that do not happen those
    elements are 0.
    """

    body: Body
    trips: int
    """The most turns, whatever operands say; -1 if nothing else bounds them."""
    carried: int
    counts: bool = False
    asks: bool = False
    tests: bool = False
    checked: bool = False
    """Whether the bound is the user's word rather than the model's: more turns are an error."""
    taken: tuple[bool, ...] = ()
    """For each sequence, whether it is taken from its end on."""
    stacked: tuple[bool, ...] = ()
    """For each result that is made of elements, whether the first turn makes its last one."""

    @property
    def kind(self) -> str:
        return "Loop"

    @property
    def bodies(self) -> tuple[Body, ...]:
        return (self.body,)

    @property
    def body_names(self) -> tuple[str, ...]:
        return ("body",)

    def with_bodies(self, bodies: Sequence[Body]) -> Loop:
        (body,) = bodies
        return replace(self, body=body)

    @property
    def first(self) -> int:
        """The position of the first operand that is carried on."""
        return self.counts + self.asks

    @property
    def own_operands(self) -> int:
        return self.first + self.carried + len(self.taken)

    @property
    def is_bounded(self) -> bool:
        return self.trips >= 0

    @property
    def is_static(self) -> bool:
        """Whether the number of turns is known."""
        return self.is_bounded and not (self.counts or self.asks or self.tests)

    def check(self, types: Mapping[str, TensorType]) -> None:
        given = tuple(types.values())
        if self.stacked and not self.is_bounded:
            raise Refusal("nothing bounds the number of elements of its results")
        self._check_own(given)
        if self.body.inputs[1 : 1 + self.carried] != self.body.outputs[self.tests :][: self.carried]:
            raise Refusal("a value that is carried on changes its type")
        if self.body.inputs[1 : 1 + self.carried] != given[self.first :][: self.carried]:
            raise Refusal(f"carries on {_listed(given[self.first :][: self.carried])}, the body has others")
        for kind, element in zip(given[self.first + self.carried :], self.elements_in, strict=False):
            if kind.shape[:1] != (self.trips,) or TensorType(kind.dtype, kind.shape[1:]) != element:
                raise Refusal(f"{self.trips} turns have elements {element} of a sequence {kind}")
        if len(self.body.outputs) != self.tests + self.carried + len(self.stacked):
            raise Refusal(f"the body has {len(self.body.outputs)} outputs")
        self.check_shared(types, self.body, self.own_operands)

    def _check_own(self, given: Sequence[TensorType]) -> None:
        wanted = ["int64"] * self.counts + ["bool"] * self.asks
        for kind, dtype in zip(given, wanted, strict=False):
            if kind.dtype != dtype or kind.elements != 1:
                raise Refusal(f"one {dtype} is expected, not {kind}", "insert a Cast")
        if self.tests and (self.body.outputs[0].dtype != "bool" or self.body.outputs[0].elements != 1):
            raise Refusal(f"the condition is {self.body.outputs[0]}, but one bool is expected", "insert a Cast")

    @property
    def elements_in(self) -> tuple[TensorType, ...]:
        """Of the sequences."""
        return self.body.inputs[1 + self.carried :][: len(self.taken)]

    @property
    def elements_out(self) -> tuple[TensorType, ...]:
        return self.body.outputs[self.tests + self.carried :]

    def result_types(self) -> tuple[TensorType, ...]:
        carried = self.body.outputs[self.tests :][: self.carried]
        return (*carried, *(TensorType(kind.dtype, (self.trips, *kind.shape)) for kind in self.elements_out))

    def run(self, run: Run, operands: Sequence[Array]) -> tuple[Array, ...]:
        wanted, first = self._wanted(operands), self.first
        limit = min(wanted, self.trips if self.is_bounded else LONGEST_UNBOUNDED)
        carried, behind = list(operands[first : first + self.carried]), first + self.carried
        sequences, others = operands[behind : self.own_operands], operands[self.own_operands :]
        stacks = [np.zeros(kind.shape, kind.element) for kind in self.result_types()[self.carried :]]
        turn, goes_on = 0, True
        while turn < limit and goes_on:
            elements = [one[_at(turn, self.trips, end)] for one, end in zip(sequences, self.taken, strict=True)]
            number = np.full(self.body.inputs[0].shape, turn, np.int64)
            made = list(run(0, [number, *carried, *elements, *others]))
            goes_on = bool(made.pop(0).reshape(-1)[0]) if self.tests else True
            carried = made[: self.carried]
            for stack, element, end in zip(stacks, made[self.carried :], self.stacked, strict=True):
                stack[_at(turn, self.trips, end)] = element
            turn += 1
        if goes_on and turn < wanted and not self.is_bounded:
            raise endless()
        if goes_on and turn < wanted and self.checked:
            raise too_many_turns()
        return (*carried, *stacks)

    def _wanted(self, operands: Sequence[Array]) -> int:
        """Turns that operands ask for."""
        if self.asks and not operands[int(self.counts)].reshape(-1)[0]:
            return 0
        return int(operands[0].reshape(-1)[0]) if self.counts else 2**63 - 1

    def most(self, of_bodies: Sequence[int]) -> int:
        return of_bodies[0] * (self.trips if self.is_bounded else 1)

    def __str__(self) -> str:
        turns = f"at most {self.trips}" if self.is_bounded else "unbounded"
        return f"{self.kind}({self.trips if self.is_static else turns} turns)"


def too_many_turns() -> CompileError:
    return CompileError(
        "a loop", "needs more iterations for these inputs than the --max-trips that it was compiled with",
        "compile it with a larger --max-trips N (max_trips=N)",
    )  # fmt: skip


def endless() -> CompileError:
    return CompileError(
        "a loop", f"has not ended after {LONGEST_UNBOUNDED} iterations in numpy",
        "say how many there are at most, and more are an error on every target: --max-trips N (max_trips=N)",
    )  # fmt: skip


def flows(graph: Graph) -> Iterator[ControlFlow]:
    """All control flow of a graph, also inside bodies."""
    for node in graph.nodes:
        if isinstance(node.op, ControlFlow):
            yield node.op
            for body in node.op.bodies:
                yield from flows(body.graph)


def _at(turn: int, trips: int, from_end: bool) -> int:
    return trips - 1 - turn if from_end else turn


def _listed(kinds: Sequence[TensorType]) -> str:
    return ", ".join(map(str, kinds)) or "nothing"
