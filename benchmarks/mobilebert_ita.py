"""An encoder of MobileBERT's shape with random weights of 8 bits, on a Snitch cluster with ITA.

    python -m benchmarks.mobilebert_ita [--layers 24] [--save folder]

Networks are built here: standard ONNX operators between quantisers, weights from a seed, scales from what a random
input gives in floats. Layers of the encoder: attention with 4 heads of 64 columns, a feed-forward of 512, a sum and a
normalisation behind each. An attention head and a matrix product alone are measured too. All run on the virtual SoC and
are compared with the reference to the bit; that is the network with ITA's numbers (--numerics hardware), and how far it
is from the exact one is shown.
"""

from __future__ import annotations

import argparse
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np
import onnx
from onnx import TensorProto, helper, numpy_helper

from tilewright.errors import present
from tilewright.ir.evaluate import evaluate
from tilewright.ir.types import Array
from tilewright.pipeline import import_model, stage
from tilewright.program import Program, compile_model
from tilewright.target.settings import Settings

S, E, HEADS, P, F = 128, 128, 4, 64, 512
PEAK = 1024
"""Products of ITA in a cycle."""
SHARES = 1 / 255
SETTINGS = Settings(engines=("all",), numerics="hardware")


@dataclass
class Network:
    """An ONNX graph that grows by one quantised layer at a time, with what each of its tensors is in floats."""

    rng: np.random.Generator
    nodes: list[onnx.NodeProto] = field(default_factory=list)
    constants: list[onnx.TensorProto] = field(default_factory=list)
    values: dict[str, Array] = field(default_factory=dict)

    def constant(self, name: str, value: Any) -> str:
        self.constants.append(numpy_helper.from_array(np.asarray(value), name))
        return name

    def add(self, op: str, inputs: Sequence[str], name: str, value: Array, **attributes: object) -> str:
        self.nodes.append(helper.make_node(op, list(inputs), [name], name=name, **attributes))
        self.values[name] = value
        return name

    def quantised(self, name: str, scale: float = 0.0, dtype: type = np.int8) -> str:
        """The same through eight bits."""
        value = self.values[name]
        scale = scale or float(np.abs(value).max()) / 127
        step, zero = self.constant(f"{name}_scale", np.float32(scale)), self.constant(f"{name}_zero", dtype(0))
        low, high = np.iinfo(dtype).min, np.iinfo(dtype).max
        integers = self.add(
            "QuantizeLinear", [name, step, zero], f"{name}_q", np.clip(np.rint(value / scale), low, high)
        )
        return self.add("DequantizeLinear", [integers, step, zero], f"{name}_dq", self.values[integers] * scale)

    def weights(self, name: str, *shape: int) -> str:
        step = 1 / (74 * np.sqrt(shape[0]))
        integers = self.rng.integers(-127, 128, shape).astype(np.int8)
        scale, zero = self.constant(f"{name}_scale", np.float32(step)), self.constant(f"{name}_zero", np.int8(0))
        stored = self.constant(f"{name}_q", integers)
        return self.add("DequantizeLinear", [stored, scale, zero], name, integers * np.float32(step))

    def linear(self, x: str, name: str, columns: int, relu: bool = False) -> str:
        w = self.weights(f"{name}_w", self.values[x].shape[-1], columns)
        bias = self.constant(f"{name}_b", self.rng.normal(0, 0.2, columns).astype(np.float32))
        product = self.add("MatMul", [x, w], f"{name}_product", self.values[x] @ self.values[w])
        total = self.values[product] + numpy_helper.to_array(self.constants[-1])
        result = self.add("Add", [product, bias], f"{name}_sum", total)
        if relu:
            result = self.add("Relu", [result], f"{name}_relu", np.maximum(total, 0))
        return self.quantised(result)

    def heads(self, x: str, heads: int) -> str:
        value = self.values[x]
        shape = (1, value.shape[1], heads, value.shape[2] // heads)
        target = self.constant(f"{x}_shape", np.array(shape, np.int64))
        apart = self.add("Reshape", [x, target], f"{x}_apart", value.reshape(shape))
        return self.add("Transpose", [apart], f"{x}_heads", self.values[apart].transpose(0, 2, 1, 3), perm=[0, 2, 1, 3])

    def attention(self, x: str, name: str, heads: int, width: int) -> str:
        q, k, v = (self.heads(self.linear(x, f"{name}_{one}", heads * width), heads) for one in "qkv")
        turned = self.add("Transpose", [k], f"{name}_turned", self.values[k].swapaxes(2, 3), perm=[0, 1, 3, 2])
        scores = self.add("MatMul", [q, turned], f"{name}_scores", self.values[q] @ self.values[turned])
        root = self.constant(f"{name}_root", np.float32(width**-0.5))
        scaled = self.quantised(self.add("Mul", [scores, root], f"{name}_scaled", self.values[scores] * width**-0.5))
        powers = np.exp(self.values[scaled] - self.values[scaled].max(-1, keepdims=True))
        shares = self.add("Softmax", [scaled], f"{name}_shares", powers / powers.sum(-1, keepdims=True), axis=-1)
        shares = self.quantised(shares, SHARES, np.uint8)
        mixed = self.quantised(self.add("MatMul", [shares, v], f"{name}_mixed", self.values[shares] @ self.values[v]))
        back = self.values[mixed].transpose(0, 2, 1, 3)
        joined = self.add("Transpose", [mixed], f"{name}_back", back, perm=[0, 2, 1, 3])
        shape = (1, back.shape[1], heads * width)
        target = self.constant(f"{name}_shape", np.array(shape, np.int64))
        rows = self.add("Reshape", [joined, target], f"{name}_rows", back.reshape(shape))
        return self.linear(rows, f"{name}_out", self.values[x].shape[2])

    def normalised_sum(self, a: str, b: str, name: str) -> str:
        total = self.quantised(self.add("Add", [a, b], f"{name}_sum", self.values[a] + self.values[b]))
        columns = self.values[total].shape[-1]
        gains = self.constant(f"{name}_gains", np.asarray(self.rng.uniform(0.8, 1.2, columns), np.float32))
        summands = self.constant(f"{name}_summands", np.asarray(self.rng.normal(0, 0.1, columns), np.float32))
        rows = self.values[total]
        unit = (rows - rows.mean(-1, keepdims=True)) / np.sqrt(rows.var(-1, keepdims=True) + 1e-5)
        made = unit * numpy_helper.to_array(self.constants[-2]) + numpy_helper.to_array(self.constants[-1])
        result = self.add("LayerNormalization", [total, gains, summands], f"{name}_norm", made, axis=-1, epsilon=1e-5)
        return self.quantised(result)


def _begun(seed: int, rows: int, columns: int) -> tuple[Network, str]:
    """A network whose input has rows of bytes."""
    made = Network(np.random.default_rng(seed))
    x = made.rng.integers(-127, 128, (1, rows, columns)).astype(np.int8)
    step, zero = made.constant("x_scale", np.float32(1 / 40)), made.constant("x_zero", np.int8(0))
    made.values["x"] = x
    return made, made.add("DequantizeLinear", ["x", step, zero], "x_dq", x / np.float32(40))


def _ended(made: Network, result: str, name: str) -> onnx.ModelProto:
    """With what was quantised last as its output, in bytes."""
    made.nodes.pop()
    bytes_out = result.removesuffix("_dq") + "_q"
    ends = [
        helper.make_tensor_value_info(tensor, TensorProto.INT8, list(made.values[tensor].shape))
        for tensor in ("x", bytes_out)
    ]
    graph = helper.make_graph(made.nodes, name, ends[:1], ends[1:], made.constants)
    return helper.make_model(graph, opset_imports=[helper.make_opsetid("", 17)], ir_version=8)


def encoder(layers: int, seed: int = 0) -> onnx.ModelProto:
    made, x = _begun(seed, S, E)
    for number in range(layers):
        mixed = made.attention(x, f"attention{number}", HEADS, P)
        x = made.normalised_sum(x, mixed, f"first{number}")
        hidden = made.linear(x, f"wide{number}", F, relu=True)
        x = made.normalised_sum(x, made.linear(hidden, f"narrow{number}", E), f"second{number}")
    return _ended(made, x, f"encoder_{layers}")


def head(seed: int = 0) -> onnx.ModelProto:
    """An attention head alone: S 128, E 128, P 64."""
    made, x = _begun(seed, S, E)
    return _ended(made, made.attention(x, "attention", 1, P), "attention_head")


def product(size: int = 512, seed: int = 0) -> onnx.ModelProto:
    """A matrix product alone."""
    made, x = _begun(seed, size, size)
    return _ended(made, made.linear(x, "product", size), f"product_{size}")


# ---- measuring ----


@dataclass(frozen=True)
class Row:
    """What a network takes: all cycles, those in which ITA is at work, those of layers by who computes them."""

    name: str
    products: int
    """Of the network, without sums that ITA computes as products."""
    cycles: int
    busy: int
    on_ita: int
    between: int
    """Into tiles and out."""
    on_cores: int

    def __str__(self) -> str:
        shares = (self.products / PEAK / cycles for cycles in (self.cycles, self.on_ita))
        counts = (self.cycles, self.busy, self.on_ita, self.between, self.on_cores)
        return (
            f"{self.name:<22}"
            + "".join(f"{count:>15,}" for count in counts)
            + "".join(f"{one:>15.1%}" for one in shares)
        )


HEADINGS = ("cycles", "ITA at work", "ITA's layers", "tiles, rows", "cores' layers")


def measured(model: onnx.ModelProto) -> tuple[Row, Program]:
    """Raises if a result is not the reference's."""
    program = compile_model(model, target="snitch", settings=SETTINGS)
    inputs = program.random_inputs()
    checked = program.check(inputs)
    if checked.first_difference is not None:
        raise SystemExit(f"{model.graph.name}: {checked.first_difference}")
    done = present(checked.result.soc, model.graph.name, "did not run on the virtual SoC")
    layers = program.profile(inputs).profile.layers
    between = sum(layer.cycles for layer in layers if layer.operator in ("ItaTiles", "ItaRows"))
    ita = [layer for layer in layers if layer.engine == "ita"]
    on_cores = sum(layer.cycles for layer in layers if layer.engine == "cluster")
    products = sum(layer.macs for layer in ita if layer.operator != "ItaSum")
    own = sum(layer.cycles for layer in ita) - between
    return Row(model.graph.name, products, done.cycles, done.report.busy["ita"], own, between, on_cores), program


def distances(model: onnx.ModelProto, program: Program) -> str:
    """Of results with ITA's numbers, and of those of the exact integer network, from each other."""
    exact = stage(import_model(model), "snitch", "quantised", settings=Settings(numerics="exact"))
    inputs = program.random_inputs()
    (ours,), (theirs,) = (list(evaluate(graph, inputs).values())[-1:] for graph in (program.compiled.quantised, exact))
    apart = np.abs(ours.astype(int) - theirs.astype(int))
    deviation = float(theirs.astype(float).std())
    return (
        f"{apart.mean():.2f} steps of 8 bits from the exact network in the mean, {apart.max()} at most; "
        f"results have a deviation of {deviation:.1f}, and a correlation of "
        f"{np.corrcoef(ours.reshape(-1), theirs.reshape(-1))[0, 1]:.3f}"
    )


def report(models: Sequence[onnx.ModelProto]) -> Iterator[str]:
    titles = "".join(f"{title:>15}" for title in (*HEADINGS, "utilisation", "in its layers"))
    yield f"{'network':<22}{titles}"
    for model in models:
        row, program = measured(model)
        yield str(row)
        yield f"  {distances(model, program)}"


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--layers", type=int, default=24)
    parser.add_argument("--save", type=Path, help="a folder for the networks")
    given = parser.parse_args()
    models = [head(), product(), encoder(given.layers)]
    for model in models if given.save else ():
        given.save.mkdir(parents=True, exist_ok=True)
        onnx.save(model, given.save / f"{model.graph.name}.onnx")
    for line in report(models):
        print(line, flush=True)


if __name__ == "__main__":
    main()
