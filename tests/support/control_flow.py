"""Random networks with control flow: loops that data ends, branches that data takes, within each other."""

from __future__ import annotations

from dataclasses import dataclass, field

import numpy as np
import onnx
from onnx import TensorProto, helper, numpy_helper, parser

from tilewright.ir.types import Array

UNARY = ("Sin", "Cos", "Tanh", "Sigmoid", "Abs", "Neg", "Relu")
BINARY = ("Add", "Sub", "Mul", "Max")
FLOAT, BOOL, INT64 = TensorProto.FLOAT, TensorProto.BOOL, TensorProto.INT64


KNOWN_LENGTH = """
<ir_version: 8, opset_import: ["": 17]>
g (float[4] h, float[90, 4] x) => (float[4] z, float[90, 4] y) <float limit = {0.5}> {
  last, y = Scan (h, x) <
    num_scan_inputs = 1, scan_output_directions = [1],
    body = b (float[4] state, float[4] p) => (float[4] next, float[4] o) {
      s = Mul(p, state)
      next = Add(s, p)
      o = Tanh(next)
    }
  >
  total = ReduceSum <keepdims = 0> (last)
  condition = Less(total, limit)
  z = If (condition) <
    then_branch = t () => (float[4] a) { a = Sin(last) },
    else_branch = e () => (float[4] d) { c = Cos(last) d = Mul(c, h) }
  >
}"""


def known_length() -> onnx.ModelProto:
    """A Scan of too many steps to be unrolled at once, and an If that data decides."""
    return parser.parse_model(KNOWN_LENGTH)


def network(seed: int) -> tuple[onnx.ModelProto, dict[str, Array]]:
    """A model, and inputs for it."""
    return _Network(np.random.default_rng(seed)).model()


@dataclass
class _Network:
    random: np.random.Generator
    count: int = 0
    weights: list[onnx.TensorProto] = field(default_factory=list)
    size: int = 0

    def model(self) -> tuple[onnx.ModelProto, dict[str, Array]]:
        self.size = int(self.random.choice([1, 3, 4, 8, 17]))
        nodes, known = self._some(["x", "z"], 2)
        result, rows, more = self._loop(known, 2)
        other = self._if([*known, result], 1)
        last, behind = self._some([result, other[0]], 2)
        nodes += [*more, *other[1], *last]
        outputs = [self._value(name) for name in (behind[-1], result)]
        outputs += [helper.make_tensor_value_info(rows, FLOAT, ["rows", self.size])]
        inputs = [self._value("x"), self._value("z"), helper.make_tensor_value_info("n", INT64, [])]
        graph = helper.make_graph(nodes, "random", inputs, outputs, self.weights)
        made = helper.make_model(graph, opset_imports=[helper.make_opsetid("", 17)], ir_version=8)
        onnx.checker.check_model(made)
        feeds = {name: self.random.normal(size=self.size).astype(np.float32) for name in ("x", "z")}
        return made, {**feeds, "n": np.array(self.random.integers(0, 6))}

    def _value(self, name: str) -> onnx.ValueInfoProto:
        return helper.make_tensor_value_info(name, FLOAT, [self.size])

    def _name(self, hint: str) -> str:
        self.count += 1
        return f"{hint}{self.count}"

    def _constant(self, value: Array) -> str:
        name = self._name("w")
        self.weights.append(numpy_helper.from_array(value, name))
        return name

    def _some(self, known: list[str], count: int) -> tuple[list[onnx.NodeProto], list[str]]:
        """Some nodes on what is known, and what is known then."""
        nodes, known = [], list(known)
        for _ in range(count):
            kind, name = self.random.integers(3), self._name("t")
            if kind == 0:
                nodes.append(helper.make_node(self._of(UNARY), [self._of(known)], [name]))
            elif kind == 1:
                nodes.append(helper.make_node(self._of(BINARY), [self._of(known), self._of(known)], [name]))
            else:
                weights = self.random.normal(size=(self.size, self.size)).astype(np.float32) / self.size
                nodes.append(helper.make_node("MatMul", [self._of(known), self._constant(weights)], [name]))
            known.append(name)
        return nodes, known

    def _of(self, names: tuple[str, ...] | list[str]) -> str:
        return str(self.random.choice(names))

    def _decision(self, tensor: str) -> tuple[str, list[onnx.NodeProto]]:
        """A bool of what a tensor has."""
        total, result = self._name("s"), self._name("c")
        limit = self._constant(np.float32(self.random.normal()))
        nodes = [helper.make_node("ReduceSum", [tensor], [total], keepdims=0)]
        return result, [*nodes, helper.make_node("Less", [total, limit], [result])]

    def _if(self, known: list[str], depth: int) -> tuple[str, list[onnx.NodeProto]]:
        condition, nodes = self._decision(self._of(known))
        branches = {}
        for which in ("then_branch", "else_branch"):
            inside, found = self._some(known, 3)
            if depth and self.random.integers(2):
                nested, more = self._if(found, depth - 1)
                inside, found = [*inside, *more], [*found, nested]
            branches[which] = helper.make_graph(inside, which, [], [self._value(found[-1])])
        result = self._name("if")
        return result, [*nodes, helper.make_node("If", [condition], [result], result, **branches)]

    def _loop(self, known: list[str], depth: int) -> tuple[str, str, list[onnx.NodeProto]]:
        """The value that is carried on, and what each turn gives."""
        number, going, state, before = (self._name(hint) for hint in ("i", "g", "v", "b"))
        turn = self._name("f")
        cast = helper.make_node("Cast", [number], [before], to=FLOAT)
        inside, found = self._some([*known, state], 3)
        added = helper.make_node("Add", [found[-1], before], [turn])
        inside, found = [cast, *inside, added], [*found, turn]
        if depth:
            nested, more = self._if(found, 1) if self.random.integers(2) else self._loop(found, depth - 1)[::2]
            inside, found = [*inside, *more], [*found, nested]
        condition, decided = self._decision(found[-1])
        if self.random.integers(3) == 0:
            condition, decided = self._name("d"), []
            decided.append(helper.make_node("Identity", [going], [condition]))
        element = self._name("e")
        behind = helper.make_node("Tanh", [found[-1]], [element])
        body = helper.make_graph(
            [*inside, *decided, behind], "body",
            [helper.make_tensor_value_info(number, INT64, []), helper.make_tensor_value_info(going, BOOL, []),
             self._value(state)],
            [helper.make_tensor_value_info(condition, BOOL, []), self._value(found[-1]), self._value(element)],
        )  # fmt: skip
        result, rows = self._name("loop"), self._name("rows")
        node = helper.make_node("Loop", ["n", "", self._of(known)], [result, rows], result, body=body)
        return result, rows, [node]
