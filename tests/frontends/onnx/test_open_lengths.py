"""Results of which only the data knows how long they are have room for the most, and an output that says how many."""

from __future__ import annotations

import numpy as np
import onnxruntime
import pytest

from tests.frontends.onnx.test_control_flow import model
from tests.support.checks import imported
from tilewright.errors import CompileError
from tilewright.frontends.model_options import ModelOptions
from tilewright.frontends.onnx import importer as frontend
from tilewright.ir.types import Array

X = np.array([[0, 1, -2], [3, 0, 5]], np.float32)
CHOSEN = np.array([True, False, True])

TEXTS = {
    "nonzero": "g (float[2, 3] x) => (int64[2, n] y) { y = NonZero(x) }",
    "columns": "g (float[2, 3] x, bool[3] c) => (float[2, n] y) { y = Compress <axis = -1> (x, c) }",
    "elements": "g (float[2, 3] x, bool[3] c) => (float[n] y) { y = Compress(x, c) }",
    "masked": """g (float[2, 3] x) => (float[n] y) {
      half = Constant <value = float {0.5}> () m = Greater(x, half) p = NonZero(m) q = Transpose <perm = [1, 0]> (p)
      z = GatherND(x, q) y = Neg(z) }""",
    "parts": """g (float[2, 3] x) => (int64[n, 3] y) {
      p = NonZero(x) q = Transpose(p) i = Constant <value = int64[2] {1, 0}> () r = Gather <axis = 1> (q, i)
      a = Constant <value = int64[1] {1}> () b = Constant <value = int64[1] {9}> () s = Slice(q, a, b, a)
      y = Concat <axis = 1> (r, s) }""",
    "last_axis": """g (float[2, 3] x) => (float[2, n] y) {
      f = Constant <value = int64[1] {-1}> () r = Reshape(x, f) p = NonZero(r) z = Constant <value = int64[1] {0}> ()
      i = Squeeze(p, z) t = Constant <value = float[2, 6] {0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11}> ()
      y = Gather <axis = -1> (t, i) }""",
    "reshaped": """g (float[2, 3] x, bool[3] c) => (float[n] y) {
      z = Compress(x, c) f = Constant <value = int64[1] {-1}> () y = Reshape(z, f) }""",
    "by_axis": """g (float[2, 3] x) => (int64[n] y, int64[n, 1] z) {
      p = NonZero(x) y0, z0 = Split <axis = 0> (p) a = Constant <value = int64[1] {0}> () y = Squeeze(y0, a)
      z = Transpose(z0) }""",
}


@pytest.mark.in_turns(8)
@pytest.mark.parametrize("name", TEXTS)
@pytest.mark.parametrize("x", [X, np.zeros_like(X), np.ones_like(X)], ids=["some", "none", "all"])
def test_as_many_as_there_are_equal_onnx_runtime(name: str, x: Array) -> None:
    made = model(TEXTS[name])
    feeds = {"x": x, "c": CHOSEN} if "bool[3] c" in TEXTS[name] else {"x": x}
    session = onnxruntime.InferenceSession(made.SerializeToString(), providers=["CPUExecutionProvider"])
    wanted, graph = session.run(None, feeds), frontend.load(made)
    *found, count = imported(made, feeds)
    assert graph.output_names == (*(value.name for value in made.graph.output), "y_count")
    for ours, theirs in zip(found, wanted, strict=True):
        axis = next(at for at, sizes in enumerate(zip(ours.shape, theirs.shape, strict=True)) if sizes[0] >= 3)
        assert count.tolist() == [theirs.shape[axis]]
        np.testing.assert_array_equal(np.take(ours, range(int(count[0])), axis), theirs)


COLUMNS = """p = NonZero(c) z = Constant <value = int64[1] {0}> () o = Constant <value = int64[1] {1}> ()
  e = Constant <value = int64[1] {2}> () r = Slice(p, z, o, z) k = Slice(p, o, e, z) t = Transpose(r)"""
SUMS = {
    "products": f"""{COLUMNS} a = GatherND(x, t) h = Gemm <transB = 1> (a, w, b) s = Sigmoid(h) m = Mul(h, s)
      d = MatMul(m, w) v = Softmax <axis = 1> (d) i = Transpose(p) g = GatherND(f, i)
      l = Constant <value = int64[1] {{-1}}> () j = Unsqueeze(g, l) u = Mul(v, j)
      y = ScatterND <reduction = "add"> (x, t, u)""",
    "elements": f"""{COLUMNS} i = Transpose(p) g = GatherND(f, i) h = Sub(g, o2) m = Mul(g, h)
      j = Squeeze(k, z) n = Constant <value = float[2] {{1, 2}}> ()
      y0 = ScatterElements <reduction = "add"> (n, j, m) y = Identity(y0)""",
}


@pytest.mark.parametrize("name", SUMS)
@pytest.mark.parametrize("chosen", [0.0, 0.4, 1.0])
def test_rows_are_added_to_others_as_in_onnx_runtime(name: str, chosen: float) -> None:
    """As experts of a mixture do, each for the tokens that chose it."""
    sizes = "5, 3" if name == "products" else "2"
    given = "float[5, 3] x, float[5, 2] f, bool[5, 2] c, float[3, 3] w, float[3] b, float[1] o2"
    made = model(f"g ({given}) => (float[{sizes}] y) {{ {SUMS[name]} }}")
    rng = np.random.default_rng(7)
    feeds = {name: rng.normal(size=shape).astype(np.float32)
             for name, shape in {"x": (5, 3), "f": (5, 2), "w": (3, 3), "b": (3,), "o2": (1,)}.items()}  # fmt: skip
    feeds["c"] = rng.random((5, 2)) < chosen
    session = onnxruntime.InferenceSession(made.SerializeToString(), providers=["CPUExecutionProvider"])
    read = {entry.name for entry in session.get_inputs()}
    (wanted,) = session.run(None, {key: value for key, value in feeds.items() if key in read})
    (found,) = imported(made, feeds)
    np.testing.assert_allclose(found, wanted, rtol=1e-5, atol=1e-6)


def test_different_elements() -> None:
    text = "g (float[7] x) => (float[n] y, int64[n] i, int64[7] j, int64[n] k) { y, i, j, k = Unique(x) }"
    x = np.array([2, 1, 1, 3, 4, 3, 1], np.float32)
    y, first, which, often, count = imported(model(text), {"x": x})
    wanted = np.unique(x, return_index=True, return_inverse=True, return_counts=True)
    assert count.tolist() == [4]
    for ours, theirs in zip((y[:4], first[:4], which, often[:4]), wanted, strict=True):
        np.testing.assert_array_equal(ours, theirs)
    assert [*y[4:], *first[4:], *often[4:]] == [0] * 9


SLICES = {"axis = 0": (0, "n, 4, 2"), "axis = -1": (2, "3, 4, n"), "axis = 1, sorted = 0": (1, "3, n, 2"),
          "sorted = 0": (0, "n")}  # fmt: skip


@pytest.mark.parametrize("attributes", SLICES)
def test_different_slices_equal_onnx_runtime(attributes: str) -> None:
    """Behind those that there are, everything is 0."""
    axis, sizes = SLICES[attributes]
    text = f"""g (float[3, 4, 2] x) => (float[{sizes}] y, int64[n] i, int64[m] j, int64[n] k) {{
      y, i, j, k = Unique <{attributes}> (x) }}"""
    x = np.random.default_rng(3).integers(0, 2, (3, 4, 2)).astype(np.float32)
    x[2], x[:, 3] = x[0], x[:, 1]
    *found, count = imported(model(text), {"x": x})
    session = onnxruntime.InferenceSession(model(text).SerializeToString(), providers=["CPUExecutionProvider"])
    wanted = session.run(None, {"x": x})
    for ours, theirs, along in zip(found, wanted, (axis, 0, 0, 0), strict=True):
        kept = theirs.shape[along]
        np.testing.assert_array_equal(np.take(ours, range(kept), along), theirs)
        assert not np.delete(ours, range(kept), along).any()
    assert count.tolist() == [wanted[0].shape[axis]]


@pytest.mark.parametrize("attributes", ["axis = 0", "axis = 0, sorted = 0"])
def test_slices_with_nan_differ_from_all(attributes: str) -> None:
    """In ascending order they are the last ones. (ONNX Runtime takes them for equal to others.)"""
    text = f"""g (float[5, 2] x) => (float[n, 2] y, int64[n] i, int64[5] j, int64[n] k) {{
      y, i, j, k = Unique <{attributes}> (x) }}"""
    x = np.array([[3, 1], [np.nan, 9], [np.nan, 0], [1, 1], [3, 1]], np.float32)
    y, first, which, often, count = imported(model(text), {"x": x})
    places = [0, 1, 2, 3] if "sorted" in attributes else [3, 0, 1, 2]
    assert (count.tolist(), first[:4].tolist()) == ([4], places)
    np.testing.assert_array_equal(y[:4], x[places])
    np.testing.assert_array_equal(y[which], x)
    assert often[:4].tolist() == [2 if place == 0 else 1 for place in places]


@pytest.mark.parametrize("attributes", ["", "<sorted = 0>", "<axis = 0>"])
def test_different_bools(attributes: str) -> None:
    text = f"g (bool[3] x) => (bool[n] y, int64[n] i, int64[3] j) {{ y, i, j = Unique {attributes} (x) }}"
    y, first, which, count = imported(model(text), {"x": np.array([False, True, False])})
    assert (y[:2].tolist(), first[:2].tolist(), which.tolist()) == ([False, True], [0, 1], [0, 1, 0])
    assert count.tolist() == [2]


def test_a_declared_size_is_the_size() -> None:
    graph = frontend.load(model("g (float[2, 3] x) => (int64[2, 4] y) { y = NonZero(x) }"))
    assert graph.types[graph.outputs[0]].shape == (2, 4)
    assert graph.output_names == ("y",)
    assert graph.notes == ("node 'y': how many there are is taken from the declared shape of its result",)


@pytest.mark.parametrize(
    "behind",
    [
        "ReduceSum <keepdims = 0> (p)",
        "Shape(p)",
        "Concat <axis = 1> (p, p)",
        "Concat <axis = 0> (p, c)",
        "Gather(p, p)",
        "Add(p, c)",
        "MatMul(p, d)",
        "ScatterElements <axis = 1> (c, p, p)",
        "Softmax <axis = 1> (p)",
    ],
)
def test_what_mixes_rows_is_refused(behind: str) -> None:
    known = """c = Constant <value = int64[1, 6] {1, 2, 3, 4, 5, 6}> ()
      d = Constant <value = int64[6, 1] {1, 2, 3, 4, 5, 6}> ()"""
    text = f"g (float[2, 3] x) => (int64[n] y) {{ p = NonZero(x) {known} y = {behind} }}"
    with pytest.raises(CompileError, match="reads 'p', of which only the data knows how many rows there are"):
        frontend.load(model(text))


BODIES = {
    "branches": """g (float[2, 3] x, bool c) => (int64[1, 1] y) { w = If(c) <
      then_branch = t () => (int64[2, n] a) { a = NonZero(x) },
      else_branch = e () => (int64[2, m] b) { r = Relu(x) b = NonZero(r) }> y = ReduceSum(w) }""",
    "carried": """g (float[2, 3] x, int64[2, 6] z, int64 n) => (int64[2, 6] y) {
      c = Constant <value = bool {1}> () y = Loop(n, c, z) <
      body = b (int64 i, bool d, int64[2, k] t) => (bool e, int64[2, k] u) { e = Identity(d) u = NonZero(x) }> }""",
    "stacked": """g (float[2, 3] x, int64 n) => (int64[k, 2, m] y) { c = Constant <value = bool {1}> ()
      y = Loop(n, c) <body = b (int64 i, bool d) => (bool e, int64[2, k] u) { e = Identity(d) u = NonZero(x) }> }""",
}


@pytest.mark.parametrize("name", BODIES)
def test_bodies_that_give_them_are_refused(name: str) -> None:
    with pytest.raises(CompileError, match="of which only the data knows how many rows there are"):
        frontend.load(model(BODIES[name]), ModelOptions(max_trips=4))


def test_loops_that_carry_them_are_refused() -> None:
    """With what is wrong, not with all control flow."""
    text = """g (float[6] x, int64 n) => (int64[1, k] y) { c = Constant <value = bool {1}> () z = NonZero(x)
      y = Loop(n, c, z) <body = b (int64 i, bool d, int64[1, a] t) => (bool e, int64[1, a] u) {
      e = Identity(d) u = Neg(t) }> }"""
    with pytest.raises(CompileError, match="carries 'z', of which only the data knows how many rows there are"):
        frontend.load(model(text))


@pytest.mark.parametrize("size", [1, 2, 4, 7])
def test_determinants(size: int) -> None:
    matrices = np.random.default_rng(size).normal(size=(3, size, size)).astype(np.float32)
    matrices[1] = 0
    matrices[2, :, 0] = matrices[2, :, -1] * np.float32(size > 1)
    (found,) = imported(model(f"g (float[3, {size}, {size}] x) => (float[3] y) {{ y = Det(x) }}"), {"x": matrices})
    np.testing.assert_allclose(found, np.linalg.det(matrices.astype(np.float64)), atol=2e-6)


def test_an_infinity_in_a_matrix_is_one_of_its_determinant() -> None:
    """Rows that are not the pivot's leave no mark on it."""
    matrices = np.array([[[3, 1], [1, np.inf]], [[1, 2], [3, 4]]], np.float32)
    (found,) = imported(model("g (float[2, 2, 2] x) => (float[2] y) { y = Det(x) }"), {"x": matrices})
    np.testing.assert_allclose(found, [np.inf, -2], rtol=1e-6)
