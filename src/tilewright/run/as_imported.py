"""The reference, held to the graph as it was imported: the passes that make integers of it are no judges of themselves.

Every tensor that both graphs have is computed once more as the imported graph defines it, from the reference's own
tensors before it. So each is judged by itself, however deep the network is, and a difference goes no further.
"""

from __future__ import annotations

import itertools
import math
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import field, replace
from functools import cached_property
from typing import Any

import numpy as np

from tilewright.ir.evaluate import evaluate, evaluate_node, initial_states, states_after
from tilewright.ir.exact import sums_in_double
from tilewright.ir.graph import Graph, Node
from tilewright.ir.types import Array, TensorType, limits
from tilewright.ops._control_flow import ControlFlow
from tilewright.ops.quantizelinear import QuantizeLinear
from tilewright.passes import FEW, Numbers, Pass, apply
from tilewright.passes.signed_bytes import as_unsigned
from tilewright.passes.unroll_control_flow import UNROLL_CONTROL_FLOW
from tilewright.records import dataclass
from tilewright.run.compare import NARROW, Agreement, compare, steps_of
from tilewright.run.rounding import Floors

Arrays = Mapping[str, Array]
TIE = 1e-4
"""Steps by which a number may be off the middle between two integers, either of which then is the nearest: averages of
two elements are ties half of the time."""


@dataclass(frozen=True)
class Held:
    """How far a tensor of the reference is from its definition."""

    tensor: str
    steps: float
    """From the real number that is quantised, or from the integer that is defined, in steps; of floats in their own
    unit."""
    allowed: float
    differing: int
    """Elements that are not the nearest integer; where those are few numbers, only so many."""
    most_differing: float
    elements: int
    is_quantised: bool

    @property
    def agrees(self) -> bool:
        return self.steps <= self.allowed and self.differing <= self.most_differing

    @property
    def excess(self) -> float:
        """To compare tensors by: how much of what is allowed is taken, and more than 1 where it disagrees."""
        far = self.steps / self.allowed if self.allowed else math.inf if self.steps else 0.0
        return max(far, self.differing / self.most_differing if self.most_differing else 0.0)

    @property
    def agreement(self) -> Agreement:
        remark = "differs from the model as imported"
        if self.steps <= self.allowed:
            remark = f"{self.differing} elements differ from the model as imported, {self.most_differing:.0f} may"
        elif self.is_quantised:
            remark = f"{self.steps:.3g} steps from the model as imported, {self.allowed:.3g} allowed"
        return Agreement(self.tensor, self.elements, self.differing, self.steps, self.allowed, remark)

    def as_dict(self) -> dict[str, Any]:
        return {
            "tensor": self.tensor, "steps": self.steps, "allowed": self.allowed, "differing": self.differing,
            "elements": self.elements,
        }  # fmt: skip


@dataclass
class Definition:
    """A reference beside the imported graph that it stands for."""

    model: Graph
    reference: Graph
    numbers: tuple[Numbers, ...]
    """What the passes between them may change."""
    tolerance: float
    _allowed: dict[str, tuple[float, float]] = field(default_factory=dict)

    def held(self, values: Arrays) -> list[Held]:
        """Every tensor that the passes have made otherwise, given all tensors of the reference."""
        return list(_Walk(self, values).judged())

    @cached_property
    def standing(self) -> dict[str, str]:
        """Tensors of the imported graph -> those of the reference that stand for them."""
        model, reference = self.model.types, self.reference.types
        same = {name: name for name, kind in model.items() if reference.get(name) in (kind, _signed(kind))}
        return dict(zip(self.model.outputs, self.reference.outputs, strict=True)) | same

    def value(self, name: str, values: Arrays) -> Array:
        """Of a tensor of the imported graph that the reference has, in its own type."""
        found = values[self.standing[name]]
        return as_unsigned(found) if found.dtype == np.int8 and self.model.types[name].dtype == "uint8" else found

    @cached_property
    def unchanged(self) -> frozenset[str]:
        """The keys of nodes that the reference has as they are."""
        return frozenset(node.key for node in self.model.nodes if self._is_unchanged(node))

    def _is_unchanged(self, node: Node) -> bool:
        found, ours, theirs = self.reference.producers.get(node.key), self.model.constants, self.reference.constants
        if found is None or found.op != node.op or (found.inputs, found.outputs) != (node.inputs, node.outputs):
            return False
        names = [name for name in (*node.inputs, *node.outputs) if name]
        return all(self.standing.get(name) == name and ours.get(name) is theirs.get(name) for name in names)

    def allowed(self, tensor: str) -> tuple[float, float]:
        """Steps and share for a tensor of the reference: the most of any operator since the imported graph's tensors.
        Operators that move elements need none of their own."""
        if tensor not in self._allowed:
            kinds = {(node.op.kind, self.reference.types[tensor].dtype) for node in self._makers(tensor)}
            steps = sum(max((one.allowed(*kind) for kind in kinds), default=0.0) for one in self.numbers)
            self._allowed[tensor] = steps, min(one.share for one in self.numbers) if self.numbers else 1.0
        return self._allowed[tensor]

    def _makers(self, tensor: str) -> Iterator[Node]:
        waiting, seen, ends = [tensor], set[str](), set(self.standing.values())
        while waiting:
            node = self.reference.producers.get(waiting.pop())
            if node is None or node.key in seen:
                continue
            seen.add(node.key)
            yield node
            waiting += [name for name in node.inputs if name and name not in ends]


def _signed(kind: TensorType) -> TensorType:
    """As a target may have unsigned bytes."""
    return replace(kind, dtype="int8") if kind.dtype == "uint8" else kind


class _Walk:
    """The imported graph, computed from the tensors that the reference has of it."""

    def __init__(self, definition: Definition, values: Arrays) -> None:
        self.definition, self.model, self.values = definition, definition.model, values
        self.local: dict[str, Array] = {**self.model.constants}
        self.local |= {name: values[name] for name in self.model.sources}
        self.double: dict[str, Array] = {}

    def judged(self) -> Iterator[Held]:
        for node in self.model.nodes:
            names = [name for name in node.outputs if name]
            if node.key in self.definition.unchanged:
                self.local |= {name: self.values[name] for name in names}
                continue
            if (flow := self._reference_flow(node)) is not None:
                yield from self._judged_bodies(node, flow)
                self.local |= {name: self.values[self.definition.standing[name]] for name in names}
                continue
            made = evaluate_node(self.model, node, self.local)
            for name, value in zip(node.outputs, made, strict=False):
                if not name:
                    continue
                self.local[name] = value
                standing = self.definition.standing.get(name)
                if standing is not None:
                    self.local[name] = self.definition.value(name, self.values)
                    yield self._judged(node, name, standing, value)

    def _reference_flow(self, node: Node) -> ControlFlow | None:
        """What the reference has for control flow, if that is the same but for what bodies compute."""
        names = [name for name in (*node.inputs, *node.outputs) if name]
        found = self.definition.reference.producers.get(self.definition.standing.get(node.key, ""))
        if not isinstance(node.op, ControlFlow) or found is None or not isinstance(found.op, ControlFlow):
            return None
        return found.op if all(self.definition.standing.get(name) is not None for name in names) else None

    def _judged_bodies(self, node: Node, flow: ControlFlow) -> Iterator[Held]:
        """The tensors of bodies, each by its worst run: a body is a graph that runs on the reference's values."""
        pairs = zip(node.op.bodies, flow.bodies, strict=True)
        definitions = [
            Definition(ours.graph, theirs.graph, self.definition.numbers, self.definition.tolerance)
            for ours, theirs in pairs
        ]
        worst: dict[str, Held] = {}

        def run(number: int, inputs: Sequence[Array]) -> list[Array]:
            graph = flow.bodies[number].graph
            values = evaluate(graph, dict(zip(graph.inputs, inputs, strict=True)))
            for one in definitions[number].held(values):
                worst[one.tensor] = max(worst.get(one.tensor, one), one, key=lambda held: held.excess)
            return [values[name] for name in graph.outputs]

        flow.run(run, [self.local[name] for name in node.inputs])
        yield from worst.values()

    def _judged(self, node: Node, name: str, standing: str, made: Array) -> Held:
        found = self._held(node, name, standing, made, [self.local[operand] for operand in node.inputs if operand])
        if found.agrees:
            return found
        # A float32 sum may be off by more than is allowed.
        operands = {name: self._doubled(name) for name in node.inputs if name}
        with sums_in_double():
            again = evaluate_node(self.model, node, operands)[node.outputs.index(name)]
        return min(
            (found, self._held(node, name, standing, again, list(operands.values()))), key=lambda one: one.excess
        )

    def _held(self, node: Node, name: str, standing: str, made: Array, operands: list[Array]) -> Held:
        value, (steps, share) = self.definition.value(name, self.values), self.definition.allowed(standing)
        differing = int(np.count_nonzero(value != made))
        most = max(FEW, share * value.size)
        if isinstance(node.op, QuantizeLinear):
            apart = _distances_from_real(node.op, operands, value)
            differs = (value != made) & (apart > 0.5 + TIE)
            differing = _counted(value[differs], apart[differs], most)
            return Held(name, float(apart.max(initial=0.0)), 0.5 + steps, differing, most, value.size, True)
        if value.dtype.kind == "f":
            floor = Floors(self.model, lambda: self.local, False)
            one = compare(name, value, made.astype(value.dtype), self.definition.tolerance, 0.0, floor)
            return Held(name, one.max_abs_error, one.allowed, 0, 0.0, value.size, False)
        is_quantised = value.dtype.name in NARROW
        far = float(np.abs(value.astype(np.float64) - made.astype(np.float64)).max(initial=0.0))
        return Held(
            name, far, float(int(0.5 + steps)) if is_quantised else 0.0, differing, most, value.size, is_quantised
        )

    def _doubled(self, tensor: str) -> Array:
        """A tensor with sums in double since the last tensors that the reference has."""
        node = self.model.producers.get(tensor)
        if tensor in self.definition.standing or node is None:
            return self.local[tensor]
        if tensor not in self.double:
            operands = {name: self._doubled(name) for name in node.inputs if name}
            with sums_in_double():
                made = evaluate_node(self.model, node, operands)
            self.double |= {name: value for name, value in zip(node.outputs, made, strict=False) if name}
        return self.double[tensor]


def _counted(differing: Array, apart: Array, most: float) -> int:
    """How many elements differ. Equal numbers are rounded alike, so a few numbers are a few, however often they come:
    an image of one colour is one."""
    if differing.size <= most:
        return int(differing.size)
    numbers = np.unique(np.stack([differing.astype(np.float64), np.round(apart / TIE)]), axis=1).shape[1]
    return numbers if numbers <= FEW else int(differing.size)


def _distances_from_real(op: QuantizeLinear, operands: Sequence[Array], found: Array) -> Array:
    """From integers to the real numbers that they stand for, in steps: at most 0.5 where each is the nearest."""
    x, scale, zero = operands
    low, high = limits(zero.dtype.name)
    with np.errstate(all="ignore"):
        real = x.astype(np.float64) / op.along(scale, x.ndim).astype(np.float64)
        real = np.clip(np.where(np.isnan(real), -np.inf, real + op.along(zero, x.ndim)), low, high)
    return np.abs(found - real)


# ---- one or several calls ------------------------------------------------------------------------------------------


@dataclass(frozen=True)
class Distance:
    """How far an output of the program is from the imported graph's, computed on its own from the inputs."""

    name: str
    error: float
    """The largest difference."""
    step: float
    """Of the output's quantisation; 0 where it has none."""
    largest: float
    """Of the imported graph's output, in size."""
    differing: int
    elements: int
    lost: int = 0
    """Elements that are infinite or not a number, where those of the imported graph are numbers."""

    @property
    def agreement(self) -> Agreement | None:
        """What is wrong with it whatever the reference says."""
        if not self.lost:
            return None
        remark = "not finite, but the model's are; fp16 ends at 65504, bf16 does not"
        return Agreement(self.name, self.elements, self.lost, np.inf, 0.0, remark)

    @property
    def steps(self) -> float | None:
        return self.error / self.step if self.step else None

    @property
    def relative(self) -> float:
        return self.error / self.largest if self.largest else self.error

    def as_dict(self) -> dict[str, Any]:
        found = {"name": self.name, "max_abs_error": self.error if np.isfinite(self.error) else None}
        return found | {"steps": self.steps, "differing": self.differing, "elements": self.elements}


@dataclass(frozen=True)
class AsImported:
    """The reference and the program, held to the model as it was imported."""

    held: tuple[Held, ...]
    outputs: tuple[Distance, ...]

    @property
    def worst(self) -> Held | None:
        return max(self.held, key=lambda one: one.excess, default=None)

    @property
    def first_difference(self) -> Agreement | None:
        found = next((one for one in self.held if not one.agrees), None)
        return next(filter(None, (one.agreement for one in self.outputs)), None) if found is None else found.agreement

    def as_dict(self) -> dict[str, Any]:
        worst = self.worst
        return {
            "tensors": len(self.held), "worst": None if worst is None else worst.as_dict(),
            "outputs": [one.as_dict() for one in self.outputs],
        }  # fmt: skip


class Judge:
    """Sees the tensors of a reference, call by call."""

    def __init__(self, model: Graph, reference: Graph, passes: tuple[Pass, ...], tolerance: float) -> None:
        if UNROLL_CONTROL_FLOW in passes:
            model = apply(model, (UNROLL_CONTROL_FLOW,))
        bounded = tuple(itertools.takewhile(lambda one: one.numbers.is_bounded, passes))
        self.is_whole = bounded == passes
        meaning = reference if self.is_whole else apply(model, bounded)
        self.definition = Definition(model, meaning, tuple(one.numbers for one in bounded), tolerance)
        self.own, self.whole = initial_states(meaning), initial_states(model)
        self.held: dict[str, Held] = {}
        self.outputs: list[Arrays] = []

    def see(self, feeds: Arrays, values: Arrays) -> None:
        """A call of the network: its inputs, and what the reference makes of them."""
        model, meaning = self.definition.model, self.definition.reference
        if not self.is_whole:
            values = evaluate(meaning, feeds, self.own)
            self.own = states_after(meaning, values)
        found = self.definition.held(values)
        for one in found:
            before = self.held.get(one.tensor, one)
            self.held[one.tensor] = max((before, one), key=lambda held: held.excess)
        if self._is_exact:
            self.outputs.append(meaning.outputs_by_name(values))
            return
        with sums_in_double():
            whole = evaluate(model, feeds, self.whole)
        self.whole = states_after(model, whole)
        self.outputs.append(model.outputs_by_name(whole))

    @property
    def _is_exact(self) -> bool:
        """Whether the imported graph on its own gives what the reference does: integers, and all of them equal."""
        model = self.definition.model
        floats = (
            model.types[node.key].dtype == "float32" for node in model.nodes if node.key in self.definition.unchanged
        )
        return not any(floats) and not any(one.differing for one in self.held.values())

    def result(self, outputs: Arrays) -> AsImported:
        """What the program gave in all calls; with an axis of calls in front where there are several."""
        model, steps = self.definition.model, self.definition.model.outputs_by_name(steps_of(self.definition.model))
        whole = {name: np.stack([one[name] for one in self.outputs]) for name in model.output_names}
        pairs = ((name, outputs[name].reshape(whole[name].shape), whole[name]) for name in model.output_names)
        return AsImported(tuple(self.held.values()), tuple(_distance(*pair, steps.get(pair[0], 0.0)) for pair in pairs))


def _distance(name: str, found: Array, wanted: Array, step: float) -> Distance:
    agreement = compare(name, found, wanted, 0.0)
    size = np.abs(wanted.astype(np.float64))
    largest = float(size[np.isfinite(size)].max(initial=0.0))
    lost = int(np.count_nonzero(np.isfinite(size) & ~np.isfinite(found.astype(np.float64))))
    return Distance(name, agreement.max_abs_error, step, largest, agreement.mismatches, found.size, lost)
