"""JAX: one function for every primitive that has a rule, modules of flax and equinox, and what is refused."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import tilewright as tw
from tilewright.ir.evaluate import evaluate

jax = pytest.importorskip("jax")

import jax.numpy as jnp  # noqa: E402
from jax import lax  # noqa: E402

from tilewright import pipeline  # noqa: E402
from tilewright.frontends.jaxpr import model as jax_model  # noqa: E402
from tilewright.ir.types import Array  # noqa: E402


def randn(*shape: int) -> Any:
    return np.random.default_rng(sum(shape)).standard_normal(shape).astype(np.float32)


def agree(function: Callable[..., Any], *inputs: Any) -> None:
    """Within rounding of what JAX computes: as ONNX by ONNX Runtime where it can, and as our graph."""
    wanted = [np.asarray(leaf) for leaf in jax.tree_util.tree_leaves(function(*map(jnp.asarray, inputs)))]
    graph = pipeline.import_model(function, inputs)
    values = evaluate(graph, dict(zip(graph.inputs, map(np.asarray, inputs), strict=True)))
    found = [values[name] for name in graph.outputs]
    assert len(found) == len(wanted)
    for one, other in zip(found, wanted, strict=True):
        assert one.shape == other.shape
        np.testing.assert_allclose(one, other, atol=2e-5 * max(1.0, float(np.abs(other).max(initial=0))))


X = randn(3, 4, 5)
P = np.abs(X) + 0.5
U = np.clip(X / 3, -0.9, 0.9)
I = np.asarray([[1, -7, 3], [9, 2, -4]], np.int32)  # noqa: E741
B = X > 0

UNARY = {
    "neg": (lambda x: -x, X), "abs": (jnp.abs, X), "sign": (jnp.sign, X), "floor": (jnp.floor, X),
    "ceil": (jnp.ceil, X), "round": (jnp.round, X * 3), "round away": (lambda x: lax.round(x), X * 3),
    "exp": (jnp.exp, X), "exp2": (jnp.exp2, X), "log": (jnp.log, P), "log1p": (jnp.log1p, P),
    "expm1": (jnp.expm1, X), "tanh": (jnp.tanh, X), "sin": (jnp.sin, X), "cos": (jnp.cos, X), "tan": (jnp.tan, U),
    "asin": (jnp.arcsin, U), "acos": (jnp.arccos, U), "atan": (jnp.arctan, X), "sinh": (jnp.sinh, X),
    "cosh": (jnp.cosh, X), "asinh": (jnp.arcsinh, X), "acosh": (lambda x: jnp.arccosh(x + 1), P),
    "atanh": (jnp.arctanh, U), "logistic": (jax.nn.sigmoid, X), "erf": (lax.erf, X), "erfc": (lax.erfc, X),
    "sqrt": (jnp.sqrt, P), "rsqrt": (lax.rsqrt, P), "cbrt": (jnp.cbrt, X), "square": (jnp.square, X),
    "integer_pow": (lambda x: x**3 + x**-2 + x**7, P), "is_finite": (lambda x: jnp.isfinite(x / (x - x[0])), X),
    "not": (jnp.logical_not, B), "cast": (lambda x: x.astype(jnp.int32).astype(jnp.float32), X * 9),
    "clamp": (lambda x: jnp.clip(x, -0.5, 0.5), X), "relu6": (jax.nn.relu6, X * 4), "gelu": (jax.nn.gelu, X),
    "gelu exact": (lambda x: jax.nn.gelu(x, approximate=False), X), "silu": (jax.nn.silu, X),
    "softmax": (jax.nn.softmax, X), "softmax of an axis": (lambda x: jax.nn.softmax(x, 1), X),
    "log_softmax": (jax.nn.log_softmax, X), "softplus": (jax.nn.softplus, X), "elu": (jax.nn.elu, X),
    "hard_swish": (jax.nn.hard_swish, X), "leaky_relu": (jax.nn.leaky_relu, X),
}  # fmt: skip

OTHERS: dict[str, tuple[Any, ...]] = {
    "add sub mul div": (lambda x, y: (x + y) * (x - y) / y, X, P), "pow": (lambda x, y: x**y, P, X),
    "max min": (lambda x, y: jnp.maximum(x, y) + jnp.minimum(x, 0.3), X, P), "rem": (lambda x, y: lax.rem(x, y), X, P),
    "mod": (lambda x, y: x % y, X, P), "integers": (lambda x: (x // 3, x % 3, x * x, lax.div(x, jnp.int32(2))), I),
    "compare": (lambda x, y: (x < y, x <= y, x > y, x >= y, x == x, x != y), X, P),
    "logic": (lambda a, b: (a & b, a | ~b, a ^ b), B, X > 0.5), "atan2": (jnp.arctan2, X, randn(3, 4, 5)[::-1]),
    "select": (lambda x, y: jnp.where(x > 0, x, y), X, P),
    "select of three": (lambda i, x: lax.select_n(i, x, x * 2, x * 3), np.asarray([0, 2, 1], np.int32), randn(3)),
    "broadcast": (lambda x, y: jnp.broadcast_to(y[None, :, None], x.shape) + 1, X, randn(4)),
    "broadcast out": (lambda y: jnp.broadcast_to(y[:, None], (4, 3)), randn(4)),
    "reshape transpose": (lambda x: x.transpose(2, 0, 1).reshape(5, 12)[:, None].squeeze(1), X),
    "reverse": (lambda x: x[::-1, :, ::-1], X), "concatenate": (lambda x, y: jnp.concatenate([x, y, x], 1), X, P),
    "unstack": (lambda x: tuple(jnp.unstack(x, axis=1)), X),
    "stack split": (lambda x: jnp.stack(jnp.split(x, 2, 1)), X), "tile": (lambda x: jnp.tile(x, (2, 1, 3)), X),
    "slice": (lambda x: x[1:, 1:4:2, :-1], X), "pad": (lambda x: jnp.pad(x, ((1, 0), (0, 2), (1, 1))), X),
    "pad inner": (lambda x: lax.pad(x, 1.0, ((1, -1, 2), (-2, 3, 0), (0, 0, 1))), X),
    "sums": (lambda x: (x.sum(1), x.mean((0, 2)), x.max(), x.min(0), jnp.prod(x, 2), jnp.var(x, 1)), X),
    "all any": (lambda b: (b.all(1), b.any((0, 2))), B), "argmax": (lambda x: (x.argmax(1), jnp.argmin(x, 2)), X),
    "cumsum": (lambda x: (jnp.cumsum(x, 1), lax.cumsum(x, 2, reverse=True)), X),
    "cummax": (lambda x: (lax.cummax(x, 1), lax.cummin(x, 2, reverse=True), lax.cumprod(x, 0)), X),
    "matmul": (lambda x, y: x @ y, X, randn(5, 6)), "matmul in batches": (lambda x, y: x @ y, X, randn(3, 5, 2)),
    "einsum": (lambda x, y: jnp.einsum("abc,dcb->ad", x, y), X, randn(2, 5, 4)),
    "einsum in batches": (lambda x, y: jnp.einsum("bqhd,bkhd->bhqk", x, y), randn(2, 3, 2, 4), randn(2, 5, 2, 4)),
    "dot": (jnp.dot, randn(7), randn(7)[::-1]), "outer": (jnp.outer, randn(3), randn(4)),
    "convolution": (lambda x: lax.conv(x, jnp.asarray(randn(6, 3, 3, 2)), (2, 1), "SAME"), randn(2, 3, 9, 8)),
    "convolution in groups": (
        lambda x: lax.conv_general_dilated(
            x, jnp.asarray(randn(3, 3, 2, 8)), (1, 2), ((2, 0), (-1, 3)), rhs_dilation=(2, 1), feature_group_count=2,
            dimension_numbers=("NHWC", "HWIO", "NHWC")), randn(1, 9, 8, 4)),
    "convolution of computed filters": (lambda x, w: lax.conv(x, w * 2, (1,), "VALID"), randn(1, 2, 9), randn(3, 2, 4)),
    "transposed convolution": (
        lambda x: lax.conv_transpose(x, jnp.asarray(randn(3, 4, 3, 2)), (2, 3), "SAME"), randn(1, 5, 4, 3)),
    "transposed convolution in groups": (
        lambda x: lax.conv_general_dilated(
            x, jnp.asarray(randn(4, 2, 3)), (1,), ((1, 2),), lhs_dilation=(2,), feature_group_count=2), randn(1, 4, 6)),
    "max pool": (
        lambda x: lax.reduce_window(x, -jnp.inf, lax.max, (1, 2, 3, 1), (1, 2, 1, 1), "SAME"), randn(1, 5, 6, 2)),
    "min pool": (lambda x: lax.reduce_window(x, jnp.inf, lax.min, (2, 1), (2, 1), "VALID"), randn(6, 4)),
    "sum pool": (lambda x: lax.reduce_window(x, 0.0, lax.add, (1, 1, 2, 2), (1, 1, 1, 2), "SAME"), randn(1, 2, 5, 6)),
    "take": (lambda x, i: jnp.take(x, i, axis=1), X, np.asarray([[1, 3], [0, 2]], np.int32)),
    "take clipped": (lambda x, i: jnp.take(x, i, axis=0, mode="clip"), X, np.asarray([7, -5, 1], np.int32)),
    "take_along_axis": (
        lambda x, i: jnp.take_along_axis(x, i, 1), randn(2, 6), np.asarray([[1, 5, 0], [2, 2, 3]], np.int32)),
    "index": (lambda x, i: x[i], X, np.asarray(2, np.int32)), "index from the end": (lambda x: x[-1, 2], X),
    "index by arrays": (lambda x, i, j: x[i, :, j], X, np.asarray([0, 2], np.int32), np.asarray([4, 1], np.int32)),
    "dynamic_slice": (lambda x, i: lax.dynamic_slice(x, (i, 1, 0), (2, 2, 5)), X, np.asarray(5, np.int32)),
    "dynamic_slice, all axes": (lambda x, i: lax.dynamic_slice(x, (i, i, i), (1, 2, 3)), X, np.asarray(1, np.int32)),
    "dynamic_update_slice": (
        lambda x, y, i: lax.dynamic_update_slice(x, y, (0, i, 0)), X, randn(3, 1, 5), np.asarray(2, np.int32)),
    "dynamic_update_slice, all axes": (
        lambda x, y, i: lax.dynamic_update_slice(x, y, (i, i, i)), X, randn(2, 2, 2), np.asarray(2, np.int32)),
    "at set": (lambda x: x.at[:, 1:3].set(7.0), X),
    "at set one": (lambda x, i: x.at[i].set(1.0), X, np.asarray(1, np.int32)),
    "at add": (lambda x: x.at[1, 2].add(2.0), X),
    "at set rows": (lambda x, y: x.at[jnp.asarray([2, 0])].set(y), X, randn(2, 4, 5)),
    "at add rows": (lambda x, y: x.at[jnp.asarray([2, 2])].add(y), X, randn(2, 4, 5)),
    "scan": (lambda x: lax.scan(lambda c, v: (c + v, c * v), jnp.zeros((4, 5)), x), X),
    "scan backward": (lambda x: lax.scan(lambda c, v: (c * 0.5 + v, c), x[0], x, reverse=True), X),
    "fori_loop": (lambda x: lax.fori_loop(0, 4, lambda i, c: c * 0.5 + i, x), X),
    "while": (lambda x: lax.while_loop(lambda c: c[0] < 3, lambda c: (c[0] + 1, c[1] * 2), (0, x))[1], X),
    "cond": (lambda x: lax.cond(x.sum() > 0, lambda v: v * 2, lambda v: v - 1, x), X),
    "switch": (lambda i, x: lax.switch(i, [lambda v: v, lambda v: v * 2, lambda v: -v], x), np.asarray(5, np.int32), X),
    "checkpoint": (lambda x: jax.checkpoint(jnp.sin)(x), X),
    "vmap": (lambda x: jax.vmap(jnp.dot)(x, x + 1), randn(3, 4)),
    "grad": (lambda x: jax.grad(lambda v: jnp.sum(jnp.tanh(v) ** 2))(x), X),
    "layer norm": (lambda x: jax.nn.standardize(x, -1), X),
    "one_hot": (lambda i: jax.nn.one_hot(i, 4), np.asarray([1, 3], np.int32)),
    "spectrum": (lambda x: jnp.abs(jnp.fft.rfft(x, norm="ortho")) ** 2, randn(2, 32)),
    "spectra of two axes": (lambda x: (z := jnp.fft.fft2(x, (8, 5)), (jnp.conj(z).T[1:].imag, z.sum().real))[1], X),
    "filter": (lambda x: jnp.fft.irfft(jnp.fft.rfft(x) * np.exp(1j * np.arange(9, dtype=np.float32)), 16), randn(16)),
    "inverse": (lambda x: jnp.angle(jnp.fft.ifft(lax.complex(x, -x) - 1)), randn(1, 6)),
    "reshape of a transpose": (lambda x: lax.reshape(x, (5, 12), dimensions=(2, 0, 1)), X),
    "convolution over three axes": (lambda x: lax.conv(x, jnp.asarray(randn(2, 3, 2, 1, 3)), (1, 2, 1), "SAME"),
                                    randn(1, 3, 4, 5, 4)),
    "resize": (lambda x: jax.image.resize(x, (1, 7, 3), "bilinear"), randn(1, 4, 5)),
    "attention": (lambda q: jax.nn.dot_product_attention(q, q, q, is_causal=True), randn(1, 4, 2, 8)),
}  # fmt: skip


@pytest.mark.parametrize("name", UNARY)
def test_functions_of_one_tensor(name: str) -> None:
    agree(*UNARY[name])


@pytest.mark.parametrize("name", OTHERS)
def test_functions(name: str) -> None:
    agree(*OTHERS[name])


def kinds(function: Callable[..., Any], *inputs: Any) -> list[str]:
    return [node.op_type for node in jax_model.exported(function, inputs).proto.graph.node]


def test_sorting_becomes_topk() -> None:
    ort = pytest.importorskip("onnxruntime")

    def ordered(x: Any) -> Any:
        return jnp.sort(x, 1), jnp.argsort(x, -1), *lax.top_k(x, 2)

    proto = jax_model.exported(ordered, (X,)).proto
    found = ort.InferenceSession(proto.SerializeToString()).run(None, {"x": X})
    for one, other in zip(found, ordered(X), strict=True):
        np.testing.assert_array_equal(one, other)


def test_operators_that_jax_writes_out_are_found_again() -> None:
    assert kinds(jax.nn.softmax, X).count("Softmax") == 1
    assert kinds(jax.nn.gelu, X).count("Gelu") == 1


def test_inputs_and_outputs_are_named() -> None:
    def step(state: Any, x: Any) -> Any:
        return {"next": state["b"] + x, "old": (state["a"], x * 2)}

    state = {"b": randn(2), "a": randn(2) + 1}
    program = tw.compile(step, (state, randn(2)))
    assert program.graph.inputs == ("state_b", "state_a", "x")
    result = program.run(state, randn(2))
    assert list(result.outputs) == ["next", "old_0", "old_1"]
    np.testing.assert_allclose(result["next"], state["b"] + randn(2), rtol=1e-6)


def test_one_array_may_be_given_twice() -> None:
    x, y = randn(3), randn(3) + 1
    program = tw.compile(lambda left, right: left - right, (x, x))
    np.testing.assert_allclose(program.run(x, y)[0], x - y, rtol=1e-6)


def test_results_in_dictionaries_keep_their_names() -> None:
    program = tw.compile(lambda x: {"b": x + 1, "a": x * 2}, (randn(3),))
    np.testing.assert_allclose(program.run(randn(3))["b"], randn(3) + 1, rtol=1e-6)
    np.testing.assert_allclose(program.run(randn(3))["a"], randn(3) * 2, rtol=1e-6)


def test_nnx_modules_are_named_after_their_parts() -> None:
    nnx = pytest.importorskip("flax.nnx")
    net = nnx.Sequential(nnx.Linear(4, 8, rngs=nnx.Rngs(0)), jax.nn.relu, nnx.Dropout(0.5, rngs=nnx.Rngs(1)))
    with pytest.raises(tw.CompileError, match=r"layers\.2' is in training mode") as error:
        tw.compile(net, (randn(1, 4),))
    assert "model.eval()" in error.value.hint
    net.eval()
    program = tw.compile(net, (randn(1, 4),))
    assert "layers.0/MatMul" in [layer.name for layer in program.analysis.layers]
    np.testing.assert_allclose(program.run(randn(1, 4))[0], net(randn(1, 4)), atol=1e-6)


def test_one_weight_may_be_used_in_two_orders_of_axes() -> None:
    nnx = pytest.importorskip("flax.nnx")

    class Tied(nnx.Module):
        def __init__(self) -> None:
            self.table = nnx.Param(jnp.asarray(randn(6, 6)))

        def __call__(self, x: Any) -> Any:
            return x @ self.table.T + x @ self.table[...] + self.table[jnp.asarray([1])]

    net, x = Tied(), randn(1, 6)
    np.testing.assert_allclose(tw.compile(net, (x,)).run(x)[0], net(x), rtol=1e-4, atol=1e-5)


def test_linen_modules_need_their_variables() -> None:
    linen = pytest.importorskip("flax.linen")
    net, x = linen.Dense(3), randn(1, 4)
    with pytest.raises(tw.CompileError, match="without its variables") as error:
        tw.compile(net, (x,))
    assert "model.bind(variables)" in error.value.hint
    bound = net.bind(net.init(jax.random.key(0), x))
    np.testing.assert_allclose(tw.compile(bound, (x,)).run(x)[0], bound(x), atol=1e-6)


def test_equinox_modules_are_compiled_for_inference() -> None:
    eqx = pytest.importorskip("equinox")
    net = eqx.nn.Sequential([eqx.nn.Linear(4, 3, key=jax.random.key(0)), eqx.nn.Dropout(0.5)])
    with pytest.raises(tw.CompileError, match="is in training mode") as error:
        tw.compile(net, (randn(4),))
    assert "inference_mode" in error.value.hint
    net = eqx.nn.inference_mode(net)
    np.testing.assert_allclose(tw.compile(net, (randn(4),)).run(randn(4))[0], net(randn(4)), atol=1e-6)


def test_all_primitives_without_a_rule_are_named_with_their_lines() -> None:
    def unusual(x: Any) -> Any:
        y = lax.erf_inv(x)
        return y + jnp.cumsum(jnp.fft.fft(x)).real

    with pytest.raises(tw.CompileError) as error:
        tw.compile(unusual, (randn(8),))
    assert "erf_inv at test_model.py" in str(error.value)
    assert "primitive cumsum of complex numbers is not supported" in str(error.value)


def test_control_flow_over_complex_numbers_is_refused_as_such() -> None:
    def chosen(x: Any) -> Any:
        return lax.cond(x.sum() > 0, lambda z: z, lambda z: -z, jnp.fft.fft(x)).real

    with pytest.raises(tw.CompileError, match="primitive cond of complex numbers is not supported"):
        tw.compile(chosen, (randn(8),))


def test_complex_results_are_refused() -> None:
    with pytest.raises(tw.CompileError, match=r"result: is complex\n  hint: return jnp.real"):
        tw.compile(jnp.fft.fft, (randn(8),))


def test_random_numbers_are_refused() -> None:
    with pytest.raises(tw.CompileError, match="random"):
        tw.compile(lambda seed: jax.random.normal(jax.random.PRNGKey(seed), (3,)), (np.asarray(1, np.int32),))


def doubled(x: Any, limit: Any) -> Any:
    """As long as values say; the number of turns too."""
    found = lax.while_loop(lambda c: c[1].sum() < limit, lambda c: (c[0] + 1, c[1] * 2 + x), (0, x))
    return found[0], found[1]


def chosen(x: Any, which: Any) -> Any:
    weights = jnp.asarray(np.linspace(-1, 1, 16, dtype=np.float32).reshape(4, 4))
    return lax.switch(which, [jnp.sin, lambda v: jnp.cos(v) * x.sum(), lambda v: jnp.tanh(v) @ weights], x)


@pytest.mark.parametrize(
    ("function", "kind", "values"),
    [(doubled, "Loop", [np.float32(one) for one in (-5, 9, 1000)]),
     (chosen, "If", [np.int32(one) for one in (-1, 0, 1, 2, 7)])],
)  # fmt: skip
def test_what_values_decide_stays_a_loop_or_a_branch(function: Any, kind: str, values: list[Array]) -> None:
    x = np.asarray([0.5, 1.0, 0.25, 2.0], np.float32)
    program = tw.compile(function, (x, values[0]))
    assert kind in {node.op.kind for node in program.compiled.graph.nodes}
    for value in values:
        expected = jax.tree.leaves(function(x, value))
        for found, one in zip(program.run([x, value]).outputs.values(), expected, strict=True):
            np.testing.assert_allclose(found, one, 1e-5, 1e-5)


def test_long_scans_stay_loops() -> None:
    def step(carried: Any, element: Any) -> tuple[Any, Any]:
        following = jnp.tanh(carried * 0.9 + element)
        return following, following * 2 - carried

    def function(x: Any) -> Any:
        return lax.scan(step, jnp.zeros(3), x, reverse=True)

    x = randn(12_000, 3)
    graph = tw.compile(function, (x,)).compiled.graph
    assert "Loop" in {node.op.kind for node in graph.nodes}


def test_ways_that_depend_on_values_are_refused_with_the_line() -> None:
    def branching(x: Any) -> Any:
        return x if x.sum() > 0 else -x

    with pytest.raises(tw.CompileError, match="cannot be traced") as error:
        tw.compile(branching, (X,))
    assert "`return x if x.sum() > 0 else -x`" in error.value.where
    assert "jnp.where" in error.value.hint


def test_example_inputs_are_needed() -> None:
    with pytest.raises(tw.CompileError, match="needs example inputs"):
        tw.compile(lambda x: x)


BITS = {
    "shift left": (lambda i: i << 2, I), "shift right": (lambda i: i >> 1, I),
    "shift in zeros": (lambda i: lax.shift_right_logical(i, jnp.int32(3)), I),
    "copysign": (lambda x: jnp.copysign(jnp.abs(x), -x), X),
    "bits": (lambda x: lax.bitcast_convert_type(x, jnp.int32), X),
    "searchsorted": (lambda x: jnp.searchsorted(jnp.sort(x[0, 0]), x[1, 1]), X),
    "median": (lambda x: jnp.median(x, 1), X),
    "unsigned index": (lambda i: jnp.arange(9.0)[(i & 7).astype(jnp.uint32)], I),
    "a number alone": (lambda i: i[0, 0] + 1, I),
}  # fmt: skip


@pytest.mark.parametrize("name", BITS)
def test_bits_and_what_is_made_of_them(name: str) -> None:
    agree(*BITS[name])


def test_variables_that_a_module_changes_are_states() -> None:
    nnx = pytest.importorskip("flax.nnx")

    class Smoothing(nnx.Module):
        def __init__(self) -> None:
            self.mean, self.count = nnx.Variable(jnp.full(3, 5.0)), nnx.Variable(jnp.int32(0))
            self.unused = nnx.Variable(jnp.zeros(2))

        def __call__(self, x: Any) -> Any:
            self.mean[...] = 0.5 * self.mean[...] + x
            self.count[...] += 1
            return {"mean": self.mean[...], "count": self.count[...]}

    module, steps = Smoothing(), randn(4, 3)
    program = tw.compile(module, (steps[0],))
    assert len(program.graph.states) == 2
    assert program.graph.inputs == ("x",)
    found = program.run_steps([steps])
    np.testing.assert_allclose(found["mean"], np.stack([module(x)["mean"] for x in steps]), atol=1e-6)
    np.testing.assert_array_equal(found["count"], [1, 2, 3, 4])


def test_the_cache_of_flax_is_a_state() -> None:
    nnx = pytest.importorskip("flax.nnx")
    module, steps = nnx.MultiHeadAttention(2, 8, rngs=nnx.Rngs(0), decode=True), randn(3, 1, 1, 8)
    module.init_cache((1, 4, 8))
    module.eval()
    program = tw.compile(module, (steps[0],))
    assert {state.name for state in program.graph.states} == {"cache_index", "cached_key", "cached_value"}
    found = program.run_steps([steps])[0]
    np.testing.assert_allclose(found, np.stack([module(x) for x in steps]), atol=1e-5)
