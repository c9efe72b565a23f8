"""Networks that learn, grown by chance in two forms: nodes of ONNX, and calls of PyTorch that compute the same."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from benchmarks.differential.choices import Choices
from benchmarks.differential.runtimes import module
from onnx import ModelProto, NodeProto, TensorProto, helper, numpy_helper

from tilewright.ir.types import Array

OPSET = 22
INPUT = "x"


@dataclass(frozen=True)
class Step:
    """A call of PyTorch."""

    inputs: tuple[str, ...]
    output: str
    call: Callable[..., Any]


class TwoForms:
    """A network under construction; `at` is the tensor that the next layer reads, `shape` that of a batch of it."""

    def __init__(
        self, choices: Choices, shape: Sequence[int], dtype: str = "float32", is_sequence: bool = False
    ) -> None:
        self.choices, self.at, self.shape = choices, INPUT, tuple(shape)
        self.given, self.dtype = tuple(shape), dtype
        self.is_sequence = is_sequence
        """Whether features are the last axis and not the second one."""
        self.weights: dict[str, Array] = {}
        """Those that may learn."""
        self.running: dict[str, Array] = {}
        """Means and variances of batch normalisation."""
        self.steps: list[Step] = []
        self._nodes: list[NodeProto] = []
        self._constants: dict[str, Array] = {}

    def weight(self, role: str, *shape: int, around: float = 0.0, spread: float | None = None) -> str:
        """A new one: small enough for sums of products to keep their size."""
        name = f"{role}{len(self.weights)}"
        spread = float(np.prod(shape[1:], initial=1.0)) ** -0.5 if spread is None else spread
        values = around + spread * self.choices.numpy().normal(size=shape)
        self.weights[name] = values.astype(np.float32)
        return name

    def statistic(self, role: str, values: Array) -> str:
        name = f"{role}{len(self.running)}"
        self.running[name] = values.astype(np.float32)
        return name

    def constant(self, values: Any, dtype: str = "int64") -> str:
        """What only ONNX has as an operand."""
        name = f"c{len(self._constants)}"
        self._constants[name] = np.asarray(values, dtype)
        return name

    def node(self, kind: str, inputs: Sequence[str], results: int = 1, **attributes: Any) -> str:
        """Of ONNX alone; its first result, or the one that `results` counts to."""
        names = [f"t{len(self._nodes)}_{number}" for number in range(results)]
        outputs = ["" for _ in names[:-1]] + names[-1:]
        self._nodes.append(helper.make_node(kind, inputs, outputs, outputs[-1], **attributes))
        return names[-1]

    def call(self, inputs: Sequence[str], output: str, function: Callable[..., Any]) -> None:
        """Of PyTorch alone."""
        self.steps.append(Step(tuple(inputs), output, function))

    def both(
        self, kind: str, inputs: Sequence[str], function: Callable[..., Any], constants: Sequence[Any] = (),
        **attributes: Any,
    ) -> str:  # fmt: skip
        """A node, and the call that it stands for; ONNX has constants behind the inputs."""
        output = self.node(kind, [*inputs, *map(self.constant, constants)], **attributes)
        self.call(inputs, output, function)
        return output

    def model(self) -> ModelProto:
        code = helper.np_dtype_to_tensor_dtype(np.dtype(self.dtype))
        x = helper.make_tensor_value_info(INPUT, code, self.given)
        y = helper.make_tensor_value_info(self.at, TensorProto.FLOAT, self.shape)
        arrays = {**self.weights, **self.running, **self._constants}
        tensors = [numpy_helper.from_array(value, name) for name, value in arrays.items()]
        graph = helper.make_graph(self._nodes, "learning", [x], [y], tensors)
        return helper.make_model(graph, opset_imports=[helper.make_opsetid("", OPSET)], ir_version=10)


# ---- trained by PyTorch ----------------------------------------------------------------------------------------------


def trained(net: TwoForms, recipe: Mapping[str, Any], data: Array, labels: Array) -> dict[str, Array]:
    """Losses, what was learned and the results of an inference behind all steps, in double; nothing without
    PyTorch."""
    torch = module("torch")
    if torch is None:
        return {}
    tensors = {name: torch.tensor(value.astype(np.float64)) for name, value in (net.weights | net.running).items()}
    learning = [tensors[name].requires_grad_() for name in recipe["learning"] or net.weights]
    optimizer, losses = _optimizer(torch, recipe, learning), []
    for number, (x, label) in enumerate(zip(data, labels, strict=True)):
        loss = _loss(torch, recipe, _called(torch, net, tensors, x, recipe["statistics"] == "trained"), label)
        (loss / recipe["accumulate"]).backward()
        losses.append(loss.item())
        if (number + 1) % recipe["accumulate"] == 0:
            optimizer.step()
            optimizer.zero_grad()
    with torch.no_grad():
        last = _called(torch, net, tensors, data[-1], False)
    found = {name: tensor.detach().numpy() for name, tensor in tensors.items()}
    return {"losses": np.array(losses), "inference": last.numpy(), **{f"weight/{n}": v for n, v in found.items()}}


def _optimizer(torch: Any, recipe: Mapping[str, Any], learning: Sequence[Any]) -> Any:
    kind, given = recipe["optimizer"]
    names = {"rate": "lr", "decay": "weight_decay", "epsilon": "eps"}
    return getattr(torch.optim, kind)(learning, **{names.get(name, name): value for name, value in given.items()})


def _called(torch: Any, net: TwoForms, tensors: Mapping[str, Any], x: Array, is_training: bool) -> Any:
    given = torch.tensor(x if x.dtype.kind == "i" else x.astype(np.float64))
    values = {**tensors, INPUT: given}
    for step in net.steps:
        values[step.output] = step.call(*(values[name] for name in step.inputs), **_mode(step, is_training))
    return values[net.at]


def _mode(step: Step, is_training: bool) -> dict[str, bool]:
    return {"is_training": is_training} if getattr(step.call, "has_modes", False) else {}


def _loss(torch: Any, recipe: Mapping[str, Any], found: Any, label: Array) -> Any:
    functional = torch.nn.functional
    if recipe["loss"] == "mse":
        return functional.mse_loss(found, torch.tensor(label.astype(np.float64)))
    weights = recipe["class_weights"]
    return functional.cross_entropy(
        found, torch.tensor(label.astype(np.int64)), torch.tensor(weights, dtype=torch.float64) if weights else None,
        label_smoothing=recipe["smoothing"],
    )  # fmt: skip
