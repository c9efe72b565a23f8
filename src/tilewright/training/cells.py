"""Recurrent layers step by step, in operators that have gradients: what is differentiated in the place of cells."""

from __future__ import annotations

from collections.abc import Callable

from tilewright.errors import Refusal
from tilewright.ir.graph import Builder, Node
from tilewright.ir.value import Value
from tilewright.ops._cells import Cells
from tilewright.ops._gate_functions import GateFunction
from tilewright.ops.grucells import GRUCells
from tilewright.ops.identity import Identity
from tilewright.ops.lstmcells import LSTMCells
from tilewright.ops.rnncells import RNNCells
from tilewright.records import dataclass
from tilewright.training.growing import Growing

State = tuple[Value, ...]


def unrolled(builder: Builder, node: Node) -> bool:
    """Each step of the cells as nodes of its own."""
    if not isinstance(node.op, LSTMCells | GRUCells | RNNCells):
        return False
    grow = Growing(builder, node.name)
    try:
        found = _Unrolling(node.op, {name: grow.value(tensor) for name, tensor in node.operands().items()}).results()
    except Refusal as refusal:
        raise refusal.at(node.where) from None
    for value, name in zip(found, node.outputs, strict=False):
        if name:
            builder.add(Identity(), [value.name], [name], node.name)
    return True


@dataclass(frozen=True)
class _Unrolling:
    op: Cells
    given: dict[str, Value]

    def results(self) -> tuple[Value, ...]:
        x = self.given["X"]
        if "R" not in self.given:
            raise Refusal("cells without weights of their own have no gradient")
        steps, batch, width = x.shape
        nothing = x.zeros((batch, width // self.op.gates))
        state: State = tuple(self.given.get(name, nothing) for name in ("H", "C")[: self.op.states])
        outputs: dict[int, Value] = {}
        for t in reversed(range(steps)) if self.op.reverse else range(steps):
            found = self._step(x.at(0, t), state)
            outputs[t] = found[0]
            if "N" in self.given:
                inside = self._is_inside(t, batch)
                found = tuple(inside.where(new, old) for new, old in zip(found, state, strict=True))
                outputs[t] = inside.where(outputs[t], 0.0)
            state = found
        rows = [outputs[t].reshape((1, *nothing.shape)) for t in range(steps)]
        return rows[0].joined(0, *rows[1:]), *state

    def _is_inside(self, t: int, batch: int) -> Value:
        return self.given["N"].reshape((batch, 1)) > t

    @property
    def _step(self) -> Callable[[Value, State], State]:
        if isinstance(self.op, LSTMCells):
            return self._lstm
        return self._gru if isinstance(self.op, GRUCells) else self._rnn

    def _lstm(self, x: Value, state: State) -> State:
        if not isinstance(self.op, LSTMCells) or self.op.dynamic:
            raise Refusal("cells whose state is rounded have no gradient", "train the float network")
        (h, c), (f, g, last) = state, self.op.functions
        into, out, forget, cell = self._split(x + h.times_matrix(self.given["R"], trans_b=True))
        peep = self._split(self.given["P"].reshape((1, self.given["P"].shape[0])), 3) if "P" in self.given else ()
        if peep:
            into, forget = into + peep[0] * c, forget + peep[2] * c
        into = self._of(f, into)
        kept = 1.0 - into if self.op.input_forget else self._of(f, forget)
        c = kept * c + into * self._of(g, cell)
        out = self._of(f, out + peep[1] * c if peep else out)
        return out * _applied(last, c), c

    def _gru(self, x: Value, state: State) -> State:
        (h,), (f, g) = state, self.op.functions
        weights = self._rows(self.given["R"], 3)
        update, reset, new = self._split(x, 3)
        update = self._of(f, update + h.times_matrix(weights[0], trans_b=True))
        reset = self._of(f, reset + h.times_matrix(weights[1], trans_b=True))
        if getattr(self.op, "linear_before_reset", False):
            product = h.times_matrix(weights[2], trans_b=True)
            kept = reset * (product + self.given["B"] if "B" in self.given else product)
        else:
            kept = (reset * h).times_matrix(weights[2], trans_b=True)
        return ((1.0 - update) * self._of(g, new + kept) + update * h,)

    def _rnn(self, x: Value, state: State) -> State:
        return (self._of(self.op.functions[0], x + state[0].times_matrix(self.given["R"], trans_b=True)),)

    def _split(self, sums: Value, count: int = 4) -> list[Value]:
        size = sums.shape[-1] // count
        return [sums.part(-1, at * size, (at + 1) * size) for at in range(count)]

    def _rows(self, weights: Value, count: int) -> list[Value]:
        size = weights.shape[0] // count
        return [weights.part(0, at * size, (at + 1) * size) for at in range(count)]

    def _of(self, function: GateFunction, sums: Value) -> Value:
        limit = self.op.clip
        return _applied(function, sums.apply("Clip", low=-limit, high=limit) if limit else sums)


def _applied(function: GateFunction, x: Value) -> Value:
    name, alpha, beta = function.name, function.alpha, function.beta
    if name == "Affine":
        return x * alpha + beta
    if name == "ScaledTanh":
        return (x * beta).tanh() * alpha
    if name == "HardSigmoid":
        return x.apply(name, alpha=alpha, beta=beta)
    return x.apply(name, alpha=alpha) if name in ("LeakyRelu", "ThresholdedRelu", "Elu") else x.apply(name)
