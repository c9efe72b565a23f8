"""Reverse-mode differentiation of a graph: from the loss back to the weights, operator by operator.

Every operator has its rule in its own file (`Op.gradients`); sums of products have theirs from index maps
(`ir/exchange.py`). Here is the order, and what is refused.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping, Sequence
from itertools import groupby

from tilewright.errors import CompileError, Refusal, raise_all
from tilewright.ir.adjoint import Adjoint
from tilewright.ir.graph import Builder, Node
from tilewright.ir.value import Value
from tilewright.ops.pad import Pad
from tilewright.training.growing import Growing

FLOAT = "float32"
CHOOSE = "leave it out: --trainable takes names, last:2 or all"
LATER = "train only weights after it, for example last:1"


def gradients(builder: Builder, loss: str, weights: Sequence[str]) -> dict[str, str]:
    """Grows the graph by the gradients of `loss`, a tensor of one element, by each weight; their tensors by weight."""
    return _Backward(builder, loss, weights).run()


def depending(nodes: Iterable[Node], tensors: Iterable[str], builder: Builder) -> set[str]:
    """The floats that depend on any of these tensors."""
    found = set(tensors)
    for node in nodes:
        if found.intersection(node.inputs):
            found.update(name for name in node.outputs if name and builder.types[name].dtype == FLOAT)
    return found


def floats_behind(nodes: Sequence[Node], tensor: str, builder: Builder) -> set[str]:
    """The floats that reach a tensor by floats alone, and the tensor."""
    found = {tensor}
    for node in reversed(nodes):
        if found.intersection(node.outputs):
            found.update(name for name in node.inputs if name and builder.types[name].dtype == FLOAT)
    return found


def needed_for(nodes: Sequence[Node], tensors: Iterable[str]) -> set[str]:
    """All tensors that these are made of, and they themselves."""
    found = set(tensors)
    for node in reversed(nodes):
        if found.intersection(node.outputs):
            found.update(filter(None, node.inputs))
    return found


class _Backward:
    """One walk back. Gradients are collected by tensor and added up when its maker is reached."""

    def __init__(self, builder: Builder, loss: str, weights: Sequence[str]) -> None:
        self.builder, self.loss, self.weights = builder, loss, weights
        self.grow = Growing(builder)
        self.forward = tuple(builder.nodes)
        self.active = depending(self.forward, weights, builder) & floats_behind(self.forward, loss, builder)
        self.parts: dict[str, list[Value]] = {}
        self.errors: list[CompileError] = []
        self.seen = 0
        """How many of the builder's nodes `made_by` knows."""
        self.made_by: dict[str, Node] = {}

    def run(self) -> dict[str, str]:
        self._refuse_unreached()
        seed = self.grow.value(self.loss)
        self.parts[self.loss] = [seed.constant([1.0]).reshape(seed.shape)]
        for node in reversed(self.forward):
            if self.active.intersection(node.outputs):
                self._go_back(node)
        raise_all(self.errors)
        self.grow.node_name = "gradients"
        found = {weight: self._total(weight) for weight in self.weights}
        unreached = [weight for weight, total in found.items() if total is None]
        raise_all([self._flat(weight) for weight in unreached])
        return {weight: total.name for weight, total in found.items() if total is not None}

    def _refuse_unreached(self) -> None:
        raise_all([self._unreached(weight) for weight in self.weights if weight not in self.active])

    def _unreached(self, weight: str) -> CompileError:
        """A weight that reaches the loss by other than floats, or not at all."""
        floats, needed = depending(self.forward, [weight], self.builder), needed_for(self.forward, [self.loss])
        for node in self.forward:
            if floats.intersection(node.inputs) and needed.intersection(node.outputs):
                made = next(name for name in node.outputs if name in needed)
                if made not in floats:
                    path = path_to_loss(self.forward, [weight], node, floats)
                    what = f"it gives {self.builder.types[made]}, which has no gradient"
                    where = f"{what}; it is on the path to the loss: {' -> '.join(path)}"
                    return CompileError(node.where, where, LATER)
        return CompileError("trainable", f"the loss does not depend on weight '{weight}'", CHOOSE)

    def _go_back(self, node: Node) -> None:
        by = {name: self._total(tensor) for name, tensor in node.results().items() if tensor in self.parts}
        known = {name: total for name, total in by.items() if total is not None}
        if not known:
            return
        operands = {name: self.grow.value(tensor) for name, tensor in node.operands().items()}
        wanted = frozenset(name for name, value in operands.items() if value.name in self.active)
        results = {name: self.grow.value(tensor) for name, tensor in node.results().items()}
        self.grow.node_name = f"{node.name}_gradient"
        try:
            found = node.op.gradients(Adjoint(operands, results, known, wanted))
        except Refusal as refusal:
            self.errors.append(self._refused(node, refusal))
            return
        for name in sorted(wanted & found.keys()):
            gradient = found[name].summed_to(operands[name].shape)
            self.parts.setdefault(operands[name].name, []).append(gradient)

    def _total(self, tensor: str) -> Value | None:
        """The sum of what has come back to a tensor."""
        parts = self.parts.get(tensor, [])
        joined = self._joined(parts) if len(parts) > 1 else None
        parts = parts if joined is None else [joined]
        total = parts[0] if parts else None
        for part in parts[1:]:
            total = part if total is None else total + part
        if total is not None:
            self.parts[tensor] = [total]
        return total

    def _joined(self, parts: Sequence[Value]) -> Value | None:
        """Pieces with zeros around them that lie one behind the other along an axis, without the zeros; None where they
        are something else."""
        pieces = [self._piece(part) for part in parts]
        found = sorted((piece for piece in pieces if piece is not None), key=lambda piece: piece[:2])
        if len(found) < len(parts) or len({axis for axis, _, _ in found}) > 1:
            return None
        axis, end = found[0][0], 0
        for _, start, value in found:
            if start != end:
                return None
            end += value.shape[axis]
        values = [value for _, _, value in found]
        return values[0].joined(axis, *values[1:]) if end == parts[0].shape[axis] else None

    def _piece(self, part: Value) -> tuple[int, int, Value] | None:
        """The axis along which zeros are around a tensor, where it starts, and the tensor."""
        for made in self.builder.nodes[self.seen :]:
            self.made_by |= dict.fromkeys(filter(None, made.outputs), made)
        self.seen = len(self.builder.nodes)
        node = self.made_by.get(part.name)
        if node is None or not isinstance(node.op, Pad) or node.op.value:
            return None
        rank = part.rank
        axes = [axis for axis in range(rank) if node.op.pads[axis] or node.op.pads[rank + axis]]
        return (axes[0], node.op.pads[axes[0]], self.grow.value(node.inputs[0])) if len(axes) == 1 else None

    def _refused(self, node: Node, refusal: Refusal) -> CompileError:
        path = path_to_loss(self.forward, self.weights, node, self.active)
        what = f"{refusal.what}; it is on the path to the loss: {' -> '.join(path)}"
        return CompileError(node.where, what, refusal.hint or LATER)

    def _flat(self, weight: str) -> CompileError:
        what = f"the loss does not change with weight '{weight}': every path has a function that is flat between steps"
        return CompileError("trainable", what, CHOOSE)


def path_to_loss(nodes: Sequence[Node], weights: Collection[str], through: Node, active: Collection[str]) -> list[str]:
    """The names of a weight, of nodes between it and `through`, and of those behind; long lists in short. A name that
    several nodes in a row have is there once."""
    makers = {tensor: node for node in nodes for tensor in node.outputs if tensor}
    before: list[str] = []
    node: Node | None = through
    while node is not None:
        before.append(node.name)
        source = next((tensor for tensor in node.inputs if tensor in active), "")
        node = makers.get(source)
        if node is None:
            before.append(f"weight '{source}'")
    after = [*_names_behind(nodes, through, active), "loss"]
    return _once(_in_short(_once(before[::-1])) + _in_short(_once(after)))


def _once(names: Sequence[str]) -> list[str]:
    return [name for name, _ in groupby(names)]


def _names_behind(nodes: Sequence[Node], through: Node, active: Collection[str]) -> list[str]:
    names, tensors = [], set(through.outputs)
    for node in nodes:
        if tensors.intersection(node.inputs) and active and set(node.outputs) & set(active):
            names.append(node.name)
            tensors = set(node.outputs)
    return names


def _in_short(names: list[str]) -> list[str]:
    return names if len(names) <= 4 else [*names[:2], "...", *names[-2:]]


def without_unread(builder: Builder, kept: Mapping[str, str]) -> None:
    """Drops nodes whose results nothing reads."""
    sinks = {*builder.outputs, *(state.after for state in builder.states.values()), *kept.values()}
    needed = needed_for(builder.nodes, sinks)
    builder.nodes[:] = [node for node in builder.nodes if needed.intersection(node.outputs)]
    read = {*sinks, *(name for node in builder.nodes for name in node.inputs)}
    made = {name for node in builder.nodes for name in node.outputs}
    sources = {*builder.inputs, *(state.before for state in builder.states.values())}
    for name in [name for name in builder.types if name not in read | made | sources]:
        del builder.types[name]
        builder.constants.pop(name, None)
