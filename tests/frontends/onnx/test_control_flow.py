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
from tilewright.frontends.model_options import ModelOptions
from tilewright.frontends.onnx import importer as frontend
from tilewright.frontends.onnx import unrolling
from tilewright.ir.graph import Graph
from tilewright.ir.types import Array
from tilewright.ops._control_flow import Loop


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


@pytest.mark.in_turns(3)
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


@pytest.mark.in_turns(3)
@pytest.mark.parametrize("condition", [True, False])
def test_if_by_data_stays_an_if(condition: bool) -> None:
    graph = check(DATA, c=np.array(condition), x=np.arange(6, dtype=np.float32).reshape(2, 3))
    assert kinds(graph) == {"If"}


@pytest.mark.in_turns(3)
@pytest.mark.parametrize("condition", [True, False])
def test_of_branches_of_a_few_sums_both_are_computed(condition: bool) -> None:
    text = DATA.replace("Sin(x)", "Add(x, x)").replace("Cos(d)", "Mul(d, x)")
    graph = check(text, c=np.array(condition), x=np.arange(6, dtype=np.float32).reshape(2, 3))
    assert "Where" in kinds(graph)
    assert "If" not in kinds(graph)


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
    assert {len(made.types[node.outputs[0]].shape) for node in made.nodes if node.op.kind == "If"} == {axes}


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


@pytest.mark.in_turns(6)
@pytest.mark.parametrize("trips", [1, 4])
def test_loops_carry_and_stack(trips: int) -> None:
    graph = check(looped(trips))
    assert sum(node.op.kind == "Sin" for node in graph.nodes) == trips


def test_a_loop_of_no_iterations() -> None:
    check(looped(0))


@pytest.mark.in_turns(6)
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


@pytest.mark.in_turns(3)
def test_scans_along_axes_and_from_the_end() -> None:
    random = np.random.default_rng(1)
    shapes = {"h": (3,), "x": (4, 3), "z": (3, 4)}
    check(SCAN, **{name: random.normal(size=shape).astype(np.float32) for name, shape in shapes.items()})


@pytest.mark.in_turns(5)
@pytest.mark.parametrize("opset", [11, 13])
def test_scans_of_opsets_with_axes_as_attributes(opset: int) -> None:
    random = np.random.default_rng(2)
    shapes = {"h": (3,), "x": (4, 3), "z": (3, 4)}
    check(SCAN, opset, **{name: random.normal(size=shape).astype(np.float32) for name, shape in shapes.items()})


# ---- loops that stay loops --------------------------------------------------------------------------------------


@pytest.mark.in_turns(5)
def test_a_loop_of_many_iterations_stays_one() -> None:
    graph = check(looped(100))
    assert kinds(graph) == {"Loop"}


COUNTING = """
g (float[2, 3] x, float[3] s) => (float[2, 3] y, float[n, 2, 3] stack, int32 k, float[3] same) {
  zero = Constant <value = int32 {0}> ()
  last = Constant <value = int32 {90}> ()
  go = Constant <value = bool {1}> ()
  y, stack, k, limit, same = Loop ("", go, x, zero, last, s) <
    body = b (int64 i, bool c, float[2, 3] v, int32 n, int32 m, float[3] t)
      => (bool d, float[2, 3] w, int32 o, int32 m2, float[3] t2, float[2, 3] z) {
      one = Constant <value = int32 {1}> ()
      o = Add(n, one)
      f = Cast <to = 1> (n)
      a = Add(v, f)
      e = Sin(a)
      w = Mul(e, t)
      z = Neg(w)
      m2 = Identity(m)
      t2 = Identity(t)
      d = Less(o, m)
    }
  >
}""".replace('""', "").replace("y, stack, k, limit, same =", "y, k, limit, same, stack =")


@pytest.mark.in_turns(5)
def test_a_condition_on_counters_alone_is_counted_and_what_never_changes_is_not_carried() -> None:
    random = np.random.default_rng(5)
    graph = check(COUNTING, x=random.normal(size=(2, 3)).astype("f"), s=random.normal(size=3).astype("f"))
    (loop,) = (node.op for node in graph.nodes if node.op.kind == "Loop")
    assert isinstance(loop, Loop)
    assert (loop.trips, loop.carried, loop.is_static) == (90, 2, True)


@pytest.mark.in_turns(5)
def test_a_scan_of_many_steps_stays_a_loop() -> None:
    random = np.random.default_rng(4)
    shapes = {"h": (3,), "x": (300, 3), "z": (3, 300)}
    text = SCAN.replace("float[4, 3]", "float[300, 3]").replace("float[3, 4]", "float[3, 300]")
    graph = check(text, **{name: random.normal(size=shape).astype(np.float32) for name, shape in shapes.items()})
    assert kinds(graph) == {"Loop", "Transpose", "Identity"}


@pytest.mark.in_turns(6)
def test_a_loop_of_many_iterations_whose_shapes_differ_is_unrolled() -> None:
    text = """
    g (float[2, 3] x) => (float[a, b] y) {
      trips = Constant <value = int64 {150}> ()
      y = Loop (trips, , x) <
        body = b (int64 i, bool c, float[n, 3] v) => (bool d, float[m, 3] w) {
          d = Identity(c)
          s = Sin(x)
          w = Concat <axis = 0> (v, s)
        }
      >
    }"""
    assert "Concat" in kinds(check(text))


DECIDED = "t0 = ReduceSum <keepdims = 0> (w) z0 = Constant <value = float {%s}> () d = Less(z0, t0)"


@pytest.mark.in_turns(5)
@pytest.mark.parametrize("limit", ["-100", "1.5", "100"])
def test_a_condition_that_data_decides(limit: str) -> None:
    """Elements of iterations that do not happen are 0."""
    made, x = model(looped(4, DECIDED % limit)), np.linspace(-2, 3, 6, dtype=np.float32).reshape(2, 3)
    session = onnxruntime.InferenceSession(made.SerializeToString(), providers=["CPUExecutionProvider"])
    (y, stack, counts), wanted = imported(made, {"x": x}), session.run(None, {"x": x})
    rows = len(wanted[1])
    same(y, wanted[0])
    same(stack, np.concatenate([wanted[1], np.zeros((4 - rows, 2, 3), np.float32)]))
    same(counts, np.concatenate([wanted[2], np.zeros(4 - rows, np.int64)]))


def test_outputs_of_open_length_say_so() -> None:
    graph = frontend.load(model(looped(4, DECIDED % "0")))
    assert "output 'stack': has 4 rows, of which those behind the last iteration of 'y' are 0" in graph.notes


def test_nobody_but_the_caller_reads_tensors_of_open_length() -> None:
    text = looped(4, DECIDED % "0").replace("float[n, 2, 3] stack,", "float[n, 2, 3] more,")
    text = text[: text.rindex("}")] + "more = Sin(stack) }"
    says = r"node 'more' \(Sin\): reads 'stack', of which only the data knows how many rows there are"
    with pytest.raises(CompileError, match=says):
        frontend.load(model(text))


GIVEN = looped(3).replace("(float[2, 3] x)", "(float[2, 3] x, int64 n)").replace("Loop (trips,", "Loop (n,")


def test_a_number_of_iterations_that_data_decides_needs_a_bound_for_what_it_stacks() -> None:
    says = "the number of iterations 'n' depends on data, and output 1 has an element of each"
    with pytest.raises(CompileError, match=says) as found:
        frontend.load(model(GIVEN))
    assert "--max-trips N" in str(found.value)
    graph = frontend.load(model(GIVEN), ModelOptions(max_trips=5))
    assert graph.types[graph.outputs[1]].shape == (5, 2, 3)


@pytest.mark.in_turns(6)
def test_without_stacked_outputs_it_needs_none() -> None:
    text = GIVEN.replace(", float[n, 2, 3] stack, int64[n] counts", "")
    x = np.linspace(-2, 3, 6, dtype=np.float32).reshape(2, 3)
    for trips in (0, 1, 7):
        check(text, x=x, n=np.array(trips))


def test_what_is_carried_on_keeps_its_type() -> None:
    text = """
    g (float[2, 3] x, int64 n) => (float[a, b] y) {
      y = Loop (n, , x) <
        body = b (int64 i, bool c, float[k, 3] v) => (bool d, float[m, 3] w) {
          d = Identity(c)
          w = Concat <axis = 0> (v, x)
        }
      >
    }"""
    says = r"carried value 0 \('x'\) is f32\[2x3\] before an iteration and f32\[4x3\] behind it"
    with pytest.raises(CompileError, match=says):
        frontend.load(model(text))


@pytest.mark.in_turns(5)
@pytest.mark.parametrize(
    ("text", "says"),
    [
        (looped(10**9), r"tensor 'stack' has 6000000000 elements"),
        (looped(3, "d = Identity(c) q = NoSuchOperator(w)").replace("j = Identity(i)", "j = NoSuchOperator(i)"),
         r"node 'y/0/j' \(NoSuchOperator\): operator NoSuchOperator is not supported"),
        (GIVEN.replace("s = Mul(w, x)", "s = NoSuchOperator(w)"),
         r"node 'y/turn/s' \(NoSuchOperator\): operator NoSuchOperator is not supported"),
        (looped(3).replace("bool {1}", "bool[2] {1, 1}"), "has 2 elements, one expected"),
        (DATA.replace("bool c,", "bool[2] c,"), r"the condition 'c' is b8\[2\], but one bool is expected"),
    ],
)  # fmt: skip
def test_refused_control_flow(text: str, says: str) -> None:
    with pytest.raises(CompileError, match=says):
        frontend.load(model(text))


@pytest.mark.in_turns(5)
def test_a_loop_that_its_condition_never_ends_and_that_cannot_stay_one(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(unrolling, "MOST_UNROLLED", 100)
    monkeypatch.setattr(unrolling, "FEW", 50)
    text = looped(10**9, "below = Constant <value = int64 {-1}> () d = Greater(i, below)")
    with pytest.raises(CompileError, match="more than 16 iterations of 6 nodes each: more than the 100 nodes"):
        frontend.load(model(text))


# ---- definitions ------------------------------------------------------------------------------------------------


@pytest.mark.in_turns(6)
@pytest.mark.parametrize("size", ["2, 3, 5, 6", "1, 2, 3, 4, 5"])
def test_branches_of_definitions_read_what_the_definition_makes(size: str) -> None:
    """ONNX defines AffineGrid with Ifs and with several Ranges, which have definitions of their own."""
    rank, batch = size.count(",") - 1, int(size[0])
    theta = np.linspace(-1, 1, batch * rank * (rank + 1), dtype=np.float32).reshape(batch, rank, rank + 1)
    text = "g (float[%d, %d, %d] x) => (float[a, b] y) <int64[%d] size = {%s}> { y = AffineGrid(x, size) }"
    check(text % (*theta.shape, rank + 2, size), 20, x=theta)


ENDED_AT_ONCE = """
g (int64 n, bool c, float[3] x) => (float[3] y) {
  y = Loop(%s, x) <body = b (int64 i, bool before, float[3] a) => (bool after, float[3] next) {
    after = Constant <value = bool {0}> ()
    next = Add(a, a)
  }>
}"""


@pytest.mark.in_turns(8)
@pytest.mark.parametrize(("operands", "turns"), [("n, ", 0), ("n, ", 3), ("n, c", 3), ("n, c", 0)])
@pytest.mark.parametrize("begins", [True, False])
def test_a_body_that_ends_its_loop_at_once(operands: str, turns: int, begins: bool) -> None:
    feeds = {"n": np.array(turns), "c": np.array(begins), "x": np.array([1, 2, 3], np.float32)}
    check(ENDED_AT_ONCE % operands, **feeds)


@pytest.mark.in_turns(5)
@pytest.mark.parametrize("stays", ["Constant <value = bool {1}> ()", "Identity(before)"])
def test_a_loop_that_nothing_ends(stays: str) -> None:
    """Nobody tries how many of its iterations fit."""
    text = ENDED_AT_ONCE.replace("Constant <value = bool {0}> ()", stays) % ", "
    with pytest.raises(CompileError, match="nothing ends it") as error:
        frontend.load(model(text))
    assert "iterations of" not in str(error.value)
