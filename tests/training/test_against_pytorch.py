"""Gradients against PyTorch's in double precision, operator by operator and network by network."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import tilewright as tw
from tests.training import derivatives
from tests.training.operator_cases import Case, apart, case, positive, real

torch = pytest.importorskip("torch", reason="PyTorch is not installed")
nn = pytest.importorskip("torch.nn")
F = nn.functional

Function = Callable[..., Any]


def pooled(kind: str, torch_kind: str, **fields: Any) -> tuple[Case, Function]:
    tw_fields = {"kernel": (3, 2), "strides": (2, 1), "padding": (1, 1, 1, 1), "dilations": (1, 1)}
    return case(kind, apart(2, 3, 7, 6), **tw_fields, **fields), lambda x: getattr(F, torch_kind)(
        x, (3, 2), (2, 1), (1, 1)
    )


CURVES: dict[str, Function] = {
    "Relu": F.relu, "Sigmoid": torch.sigmoid, "Tanh": torch.tanh, "Exp": torch.exp, "Erf": torch.erf, "Abs": torch.abs,
    "Softplus": F.softplus, "Softsign": F.softsign, "Mish": F.mish, "Gelu": F.gelu, "HardSwish": F.hardswish,
    "Selu": F.selu, "Sin": torch.sin, "Cos": torch.cos, "Tan": torch.tan, "Sinh": torch.sinh, "Cosh": torch.cosh,
    "Asinh": torch.asinh, "Atan": torch.atan, "Neg": torch.neg, "Reciprocal": torch.reciprocal, "Elu": F.elu,
    "Celu": F.celu,
}  # fmt: skip
BELOW_ONE: dict[str, Function] = {
    "Log": torch.log, "Sqrt": torch.sqrt, "Acos": torch.acos, "Asin": torch.asin, "Atanh": torch.atanh,
}  # fmt: skip

PAIRS: list[tuple[Case, Function]] = [
    *((case(kind, apart(3, 4)), function) for kind, function in CURVES.items()),
    *((case(kind, positive(3, 4)), function) for kind, function in BELOW_ONE.items()),
    (case("LeakyRelu", apart(3, 4), alpha=0.2), lambda x: F.leaky_relu(x, 0.2)),
    (case("Gelu", real(3, 4), approximate="tanh"), lambda x: F.gelu(x, approximate="tanh")),
    (case("Swish", real(3, 4)), F.silu),
    (case("Clip", apart(4, 4), low=-0.5, high=0.7), lambda x: torch.clamp(x, -0.5, 0.7)),
    (case("HardSigmoid", apart(3, 4), alpha=1 / 6, beta=0.5), F.hardsigmoid),
    (case("Add", real(2, 3, 4), real(3, 1)), torch.add),
    (case("Sub", real(4), real(2, 3, 4)), torch.sub),
    (case("Mul", real(2, 3, 4), real(3, 1)), torch.mul),
    (case("Div", real(2, 3, 4), positive(4)), torch.div),
    (case("Pow", positive(3, 4), real(4)), torch.pow),
    (case("Max", apart(3, 4), apart(4)), torch.maximum),
    (case("Min", apart(3, 4), apart(4)), torch.minimum),
    (case("ReduceMean", real(2, 3, 4), axes=(0, 2), keepdims=False), lambda x: x.mean((0, 2))),
    (case("ReduceMax", apart(2, 3, 4), axes=(1,), keepdims=True), lambda x: x.amax(1, keepdim=True)),
    (case("ReduceL2", real(2, 3, 4), axes=(1,), keepdims=True), lambda x: x.norm(dim=1, keepdim=True)),
    (case("ReduceLogSumExp", real(2, 3), axes=(1,), keepdims=False), lambda x: x.logsumexp(1)),
    (case("ReduceProd", real(2, 3), axes=(1,), keepdims=False), lambda x: x.prod(1)),
    (case("CumSum", real(3, 4), axis=1), lambda x: x.cumsum(1)),
    (case("CumProd", positive(3, 4), axis=1), lambda x: x.cumprod(1)),
    (case("Softmax", real(3, 5), axis=1), lambda x: x.softmax(1)),
    (case("LogSoftmax", real(3, 5), axis=1), lambda x: x.log_softmax(1)),
    (case("LayerNormalization", real(2, 3, 4), real(4), real(4)), lambda x, s, b: F.layer_norm(x, (4,), s, b)),
    (case("RMSNormalization", real(2, 3, 4), real(4)), lambda x, s: F.rms_norm(x, (4,), s, 1e-5)),
    (case("GroupNormalization", real(2, 6, 3), real(6), real(6), groups=3), lambda x, s, b: F.group_norm(x, 3, s, b)),
    (
        case("BatchNormalization", real(2, 3, 4), real(3), real(3), real(3), positive(3), wanted=(0, 1, 2)),
        lambda x, s, b, m, v: F.batch_norm(x, m, v, s, b),
    ),
    (case("LRN", real(2, 5, 3, 2), size=3, alpha=0.3), lambda x: F.local_response_norm(x, 3, 0.3)),
    (case("MatMul", real(2, 3, 4), real(4, 5)), torch.matmul),
    (case("MatMul", real(2, 1, 3, 4), real(5, 4, 6)), torch.matmul),
    (case("MatMul", real(3, 4), real(5, 4), real(5), trans_b=True), lambda x, w, b: F.linear(x, w, b)),
    (
        case("Conv", real(2, 4, 7, 6), real(6, 2, 3, 2), real(6), strides=(2, 1), dilations=(1, 2), groups=2,
             padding=(1, 1, 1, 1)),
        lambda x, w, b: F.conv2d(x, w, b, (2, 1), (1, 1), (1, 2), 2),
    ),
    (
        case("Conv", real(2, 4, 9), real(4, 1, 3), None, strides=(2,), dilations=(1,), groups=4, padding=(1, 1)),
        lambda x, w: F.conv1d(x, w, None, 2, 1, 1, 4),
    ),
    (
        case("ConvTranspose", real(2, 4, 4, 3), real(4, 3, 3, 3), real(6), strides=(2, 2), before=(1, 1),
             spatial=(7, 5), groups=2),
        lambda x, w, b: F.conv_transpose2d(x, w, b, 2, 1, 0, 2),
    ),
    pooled("MaxPool", "max_pool2d"),
    pooled("AveragePool", "avg_pool2d", count_pads=True),
    (case("Gather", real(5, 3), np.array([[0, 2], [2, 4]]), axis=0), lambda x, i: F.embedding(i, x)),
    (
        case("FusedAttention", real(2, 3, 4, 5), real(2, 6, 4, 5), real(2, 6, 4, 5), scale=5**-0.5),
        lambda *qkv: F.scaled_dot_product_attention(*(t.transpose(1, 2) for t in qkv)).transpose(1, 2),
    ),
]  # fmt: skip


@pytest.mark.parametrize(("drawn", "function"), PAIRS, ids=lambda one: str(one) if isinstance(one, Case) else "")
def test_operators(drawn: Case, function: Function) -> None:
    floats = [place for place, array in enumerate(drawn.arrays) if array is not None and array.dtype == np.float32]
    wanted = floats if drawn.wanted is None else drawn.wanted
    graph, tensors = derivatives.graph_of(drawn.op, drawn.arrays, wanted)
    values = derivatives.evaluated(graph, {f"x{place}": drawn.arrays[place].astype(np.float64) for place in wanted})
    given = [torch.from_numpy(array.astype(np.float64) if place in floats else array)
             for place, array in enumerate(drawn.arrays) if array is not None]  # fmt: skip
    for place in wanted:
        given[place].requires_grad_()
    y = function(*given)
    weights = np.random.default_rng(7).normal(size=tuple(y.shape)).astype(np.float32)
    (y * torch.from_numpy(weights.astype(np.float64))).sum().backward()
    for place, tensor in zip(wanted, tensors, strict=True):
        np.testing.assert_allclose(values[tensor], given[place].grad.numpy(), rtol=1e-6, atol=1e-7)


class Odd(nn.Module):  # type: ignore[misc]
    """Parameters of one element, of none of the usual operators, and one that is called as an operator is."""

    def __init__(self) -> None:
        super().__init__()
        self.token, self.div, self.shift = (nn.Parameter(torch.rand(shape) + 1) for shape in ((1, 1, 4), (4,), (4,)))
        self.inner, self.head = nn.Linear(6, 4), nn.Linear(4, 1)
        self.gain = nn.Parameter(torch.tensor(0.7))

    def forward(self, x: Any) -> Any:
        y = torch.cat([self.token.expand(len(x), -1, -1), self.inner(x)], 1)
        y = (y - self.shift).tanh() / self.div
        return self.head(y[:, 0] * y[:, 1]) * self.gain


def test_all_parameters_of_a_module_learn() -> None:
    torch.manual_seed(0)
    module, data, labels = Odd().eval(), torch.randn(4, 2, 5, 6), torch.randn(4, 2, 1)
    program = tw.train(module, (data[0],), loss="mse", optimizer=tw.SGD(0.3), target="generic")
    fitted = program.fit(data.flatten(0, 1).numpy(), labels.flatten(0, 1).numpy(), shuffle=None)
    optimizer = torch.optim.SGD(module.parameters(), 0.3)
    for x, label in zip(data, labels, strict=True):
        optimizer.zero_grad()
        F.mse_loss(module(x), label).backward()
        optimizer.step()
    assert fitted.weights.keys() == {name for name, _ in module.named_parameters()}
    for name, value in module.named_parameters():
        np.testing.assert_allclose(fitted.weights[name], value.detach().numpy(), rtol=1e-5, atol=1e-6)
