"""If, Loop and Scan mean what they mean in ONNX Runtime, or are refused with what stands in the way."""

from __future__ import annotations

import re

import numpy as np
import onnx
import onnxruntime
import pytest
from onnx import parser

from tests.support.checks import imported, same
from tilewright.errors import CompileError
from tilewright.frontends.onnx import importer as frontend
from tilewright.frontends.onnx import unrolling
from tilewright.frontends.onnx.unrolling import MOST_UNROLLED
from tilewright.ir.graph import Graph
from tilewright.ir.types import Array


def model(text: str, opset: int = 17) -> onnx.ModelProto:
    return parser.parse_model(f'<ir_version: 8, opset_import: ["": {opset}]>\n{text}')


def check(text: str, opset: int = 17, **feeds: Array) -> Graph:
    """Equal to ONNX Runtime on inputs of these values, by default a ramp x."""
    feeds = feeds or {"x": np.linspace(-2, 3, 6, dtype=np.float32).reshape(2, 3)}
    made = model(text, opset)
    session = onnxruntime.InferenceSession(made.SerializeToString(), providers=["CPUExecutionProvider"])
    for found, wanted in zip(imported(made, feeds), session.run(None, feeds), strict=True):
        same(found, np.asarray(wanted))
    return frontend.load(made)


def kinds(graph: Graph) -> set[str]:
    return {node.op.kind for node in graph.nodes}


BY_SHAPE = """
g (float[2, 3] x) => (float[a, b] y) <float w = {2}> {
  shape = Shape(x)
  one = Constant <value = int64 {1}> ()
  size = Gather(shape, one)
  three = Constant <value = int64 {%d}> ()
  condition = Equal(size, three)
  y = If (condition) <
    then_branch = t () => (float[a, b] a) { half = Constant <value = float {0.5}> () s = Mul(x, half) a = Add(s, w) },
    else_branch = e () => (float[a, b] b) { s = Sin(x) b = NoSuchOperator(s) }
  >
}"""


def test_if_takes_the_branch_that_shapes_decide() -> None:
    text = re.sub("b = NoSuchOperator", "b = Cos", BY_SHAPE)
    assert {"Mul", "Add"} <= kinds(check(text % 3))
    assert {"Sin", "Cos"} <= kinds(check(text % 4))


def test_what_is_not_taken_is_not_looked_at() -> None:
    assert "Add" in kinds(frontend.load(model(BY_SHAPE % 3)))
    with pytest.raises(CompileError, match=r"node 'y/b' \(NoSuchOperator\)"):
        frontend.load(model(BY_SHAPE % 4))


def test_names_inside_are_the_node_and_theirs() -> None:
    graph = frontend.load(model(BY_SHAPE % 3))
    assert "y/s" in {node.name for node in graph.nodes}


DATA = """
g (bool c, float[2, 3] x) => (float[2, 3] y, float[2, 3] z) {
  y, z = If (c) <
    then_branch = t () => (float[2, 3] a, float[2, 3] b) { a = Sin(x) b = Identity(x) },
    else_branch = e () => (float[2, 3] d, float[2, 3] f) { d = Neg(x) f = Cos(d) }
  >
}"""


@pytest.mark.parametrize("condition", [True, False])
def test_if_by_data_computes_both(condition: bool) -> None:
    check(DATA, c=np.array(condition), x=np.arange(6, dtype=np.float32).reshape(2, 3))


def test_branches_of_different_shapes_need_a_known_condition() -> None:
    text = DATA.replace("a = Sin(x)", "zero = Constant <value = int64 {0}> () a = Gather(x, zero)")
    with pytest.raises(CompileError, match=r"output 0 is f32\[3\] in one branch, f32\[2x3\] in the other") as found:
        frontend.load(model(text))
    assert "--bind" in str(found.value)


ONE_ELEMENT = """
g (bool c, float[2, 3] x) => (float[2, 3] z) {
  y = If (c) <
    then_branch = t () => (%(declared)s a) { a = ReduceSum <keepdims = 0> (x) },
    else_branch = e () => (%(declared)s b) {
      first = Constant <value = int64[1] {0}> () largest = ReduceMax <keepdims = 0> (x) b = Unsqueeze(largest, first)
    }
  >
  z = Mul(x, y)
}"""


@pytest.mark.parametrize("condition", [True, False])
@pytest.mark.parametrize(("declared", "axes"), [("float", 0), ("float[1]", 1)])
def test_a_single_element_may_have_any_number_of_axes(condition: bool, declared: str, axes: int) -> None:
    text, x = ONE_ELEMENT % {"declared": declared}, np.arange(6, dtype=np.float32).reshape(2, 3)
    wanted = x * (x.sum() if condition else x.max())
    same(imported(model(text), {"c": np.array(condition), "x": x})[0], wanted)
    made = frontend.load(model(text))
    assert {len(made.types[node.outputs[0]].shape) for node in made.nodes if node.op.kind == "Where"} == {axes}


def test_branches_within_branches() -> None:
    check("""
    g (float[2, 3] x) => (float[2, 3] y) {
      yes = Constant <value = bool {1}> ()
      no = Constant <value = bool {0}> ()
      s = Sin(x)
      y = If (yes) <
        then_branch = t () => (float[2, 3] a) {
          k = Add(s, x)
          a = If (no) <
            then_branch = tt () => (float[2, 3] b) { b = Identity(k) },
            else_branch = te () => (float[2, 3] b) { s2 = Mul(k, s) b = Sub(s2, x) }
          >
        },
        else_branch = e () => (float[2, 3] a) { a = Neg(x) }
      >
    }""")


LOOP = """
g (float[2, 3] x) => (float[2, 3] y, float[n, 2, 3] stack, int64[n] counts) {
  trips = Constant <value = int64 {TRIPS}> ()
  go = Constant <value = bool {1}> ()
  y, stack, counts = Loop (trips, go, x) <
    body = b (int64 i, bool c, float[2, 3] v) => (bool d, float[2, 3] w, float[2, 3] s, int64 j) {
      f = Cast <to = 1> (i)
      t = Add(v, f)
      w = Sin(t)
      s = Mul(w, x)
      j = Identity(i)
      CONDITION
    }
  >
}"""


def looped(trips: int, condition: str = "d = Identity(c)") -> str:
    return LOOP.replace("TRIPS", str(trips)).replace("CONDITION", condition)


@pytest.mark.parametrize("trips", [1, 4])
def test_loops_carry_and_stack(trips: int) -> None:
    graph = check(looped(trips))
    assert sum(node.op.kind == "Sin" for node in graph.nodes) == trips


def test_a_loop_of_no_iterations() -> None:
    check(looped(0))


@pytest.mark.parametrize("last", [0, 2, 9])
def test_a_condition_that_the_counter_decides(last: int) -> None:
    graph = check(looped(5, f"last = Constant <value = int64 {{{last}}}> () d = Less(i, last)"))
    assert sum(node.op.kind == "Sin" for node in graph.nodes) == min(5, last + 1)


def test_a_loop_that_only_its_condition_ends() -> None:
    check(
        """
    g (float[2, 3] x) => (float[2, 3] y, int64 k) {
      zero = Constant <value = int64 {0}> ()
      go = Constant <value = bool {1}> ()
      y, k = Loop ("", go, x, zero) <
        body = b (int64 i, bool c, float[2, 3] v, int64 n) => (bool d, float[2, 3] w, int64 m) {
          two = Constant <value = int64 {2}> ()
          m = Add(n, two)
          w = Sin(v)
          seven = Constant <value = int64 {7}> ()
          d = Less(m, seven)
        }
      >
    }""".replace('""', "")
    )


def test_loops_within_loops() -> None:
    check("""
    g (float[2, 3] x) => (float[2, 3] y) {
      three = Constant <value = int64 {3}> ()
      y = Loop (three, , x) <
        body = b (int64 i, bool c, float[2, 3] v) => (bool d, float[2, 3] w) {
          d = Identity(c)
          w = Loop (i, , v) <
            body = bb (int64 j, bool cc, float[2, 3] u) => (bool dd, float[2, 3] r) {
              dd = Identity(cc)
              k = Add(i, j)
              f = Cast <to = 1> (k)
              q = Mul(u, f)
              r = Add(q, x)
            }
          >
        }
      >
    }""")


SCAN = """
g (float[3] h, float[4, 3] x, float[3, 4] z) => (float[3] last, float[a, b] y, float[c, d] s) {
  last, y, s = Scan (h, x, z) <
    num_scan_inputs = 2, scan_input_axes = [0, 1], scan_input_directions = [0, 1], scan_output_axes = [0, -1],
    scan_output_directions = [1, 0],
    body = b (float[3] state, float[3] p, float[3] q) => (float[3] next, float[3] o, float[3] o2) {
      m = Mul(p, q)
      next = Add(state, m)
      o = Sin(next)
      o2 = Sub(p, state)
    }
  >
}"""


def test_scans_along_axes_and_from_the_end() -> None:
    random = np.random.default_rng(1)
    shapes = {"h": (3,), "x": (4, 3), "z": (3, 4)}
    check(SCAN, **{name: random.normal(size=shape).astype(np.float32) for name, shape in shapes.items()})


@pytest.mark.parametrize("opset", [11, 13])
def test_scans_of_opsets_with_axes_as_attributes(opset: int) -> None:
    random = np.random.default_rng(2)
    shapes = {"h": (3,), "x": (4, 3), "z": (3, 4)}
    check(SCAN, opset, **{name: random.normal(size=shape).astype(np.float32) for name, shape in shapes.items()})


@pytest.mark.parametrize(
    ("text", "says"),
    [
        (looped(10**9), f"1000000000 iterations of 6 nodes each: more than the {MOST_UNROLLED} nodes"),
        (looped(4, "t0 = ReduceSum <keepdims = 0> (w) z0 = Constant <value = float {0}> () d = Less(z0, t0)"),
         "condition 'y/0/d' after 1 iterations depends on data"),
        (looped(3, "d = Identity(c) q = NoSuchOperator(w)").replace("j = Identity(i)", "j = NoSuchOperator(i)"),
         r"node 'y/0/j' \(NoSuchOperator\): operator NoSuchOperator is not supported"),
    ],
)  # fmt: skip
def test_refused_loops(text: str, says: str) -> None:
    with pytest.raises(CompileError, match=says):
        frontend.load(model(text))


def test_a_loop_that_its_condition_never_ends(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(unrolling, "MOST_UNROLLED", 100)
    text = looped(10**9, "below = Constant <value = int64 {-1}> () d = Greater(i, below)")
    with pytest.raises(CompileError, match="more than 16 iterations of 6 nodes each: more than the 100 nodes"):
        frontend.load(model(text))


def test_a_length_that_data_decides_is_refused_with_what_is_inside() -> None:
    text = looped(3).replace("(float[2, 3] x)", "(float[2, 3] x, int64 n)").replace("Loop (trips,", "Loop (n,")
    with pytest.raises(CompileError) as found:
        frontend.load(model(text.replace("s = Mul(w, x)", "s = NoSuchOperator(w)")))
    assert "the number of iterations 'n' depends on data" in str(found.value)
    assert "--bind" in str(found.value)
    assert "operator NoSuchOperator is not supported" in str(found.value)


def test_loops_that_are_too_many_together_are_counted_together(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(unrolling, "MOST_UNROLLED", 40)
    proto = model(looped(4))
    loop = next(node for node in proto.graph.node if node.op_type == "Loop")
    before = onnx.NodeProto()
    before.CopyFrom(loop)
    before.output[:] = ["first", *(f"{name}_before" for name in loop.output[1:])]
    proto.graph.node.insert(list(proto.graph.node).index(loop), before)
    loop.input[2] = "first"
    says = "4 iterations of 6 nodes each, beside 24 nodes of other loops: more than the 40 nodes"
    with pytest.raises(CompileError, match=says):
        frontend.load(proto)


# ---- definitions ------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("size", ["2, 3, 5, 6", "1, 2, 3, 4, 5"])
def test_branches_of_definitions_read_what_the_definition_makes(size: str) -> None:
    """ONNX defines AffineGrid with Ifs and with several Ranges, which have definitions of their own."""
    rank, batch = size.count(",") - 1, int(size[0])
    theta = np.linspace(-1, 1, batch * rank * (rank + 1), dtype=np.float32).reshape(batch, rank, rank + 1)
    text = "g (float[%d, %d, %d] x) => (float[a, b] y) <int64[%d] size = {%s}> { y = AffineGrid(x, size) }"
    check(text % (*theta.shape, rank + 2, size), 20, x=theta)
