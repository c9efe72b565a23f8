"""Builds a small Llama-like decoder in int8 (random weights) in two forms: python llama.py prefill.onnx decode.onnx

Two layers, 64 values for a token, 16 heads of 4, a feed-forward part of 256, norms, rotations and a cache. `prefill`
takes 64 tokens at once, `decode` one token and the keys and values of 64 before it. Both have the same weights and
return the keys and values that they make. The file is in the integer dialect of QuantLab-style exporters: integers that
are declared as floats, and RequantShift nodes that bring sums back into 8 bits.
"""

from __future__ import annotations

import sys

import numpy as np
import onnx
from onnx import TensorProto, helper, numpy_helper

LAYERS, WIDTH, HEADS, HIDDEN, CONTEXT = 2, 64, 16, 256, 64
HEAD = WIDTH // HEADS
UNIT = 32
"""How many steps of an activation are 1.0: tensors are made with about this deviation."""
SHIFT = 16


class Decoder:
    """Adds nodes one after another; methods return the name of the tensor they make."""

    def __init__(self, tokens: int, cached: int) -> None:
        self.random = np.random.default_rng(11)
        self.tokens, self.cached = tokens, cached
        self.nodes: list[onnx.NodeProto] = []
        self.constants: list[TensorProto] = []
        self.inputs = {"tokens": (1, tokens, WIDTH), "rotation": (1, tokens, HEAD, HEAD)}
        self.outputs: dict[str, tuple[int, ...]] = {}

    def layer(self, name: str, x: str) -> str:
        x = self.residual(f"{name}.attended", x, self.attention(f"{name}.attention", self.norm(f"{name}.norm1", x)))
        return self.residual(f"{name}.out", x, self.feed_forward(f"{name}.ffn", self.norm(f"{name}.norm2", x)))

    def attention(self, name: str, x: str) -> str:
        query = self.rotated(f"{name}.query", self.split(f"{name}.query", x))
        key = self.extended(f"{name}.keys", self.rotated(f"{name}.key", self.split(f"{name}.key", x)))
        value = self.extended(f"{name}.values", self.heads_first(f"{name}.value", self.split(f"{name}.value", x)))
        turned = self.add("Transpose", f"{name}.keys.turned", [key], perm=[0, 1, 3, 2])
        scores = self.requant(f"{name}.scores", self.add("MatMul", f"{name}.products", [query, turned]), 1 / 128)
        shares = self.softmax(f"{name}.shares", self.masked(f"{name}.masked", scores))
        mixed = self.requant(f"{name}.mixed", self.add("MatMul", f"{name}.sums", [shares, value]), 1 / 64)
        tokens_first = self.add("Transpose", f"{name}.tokens_first", [mixed], perm=[0, 2, 1, 3])
        return self.linear(f"{name}.output", self.reshape(f"{name}.joined", tokens_first, WIDTH), WIDTH, WIDTH)

    def split(self, name: str, x: str) -> str:
        """A projection, in heads."""
        return self.reshape(f"{name}.heads", self.linear(name, x, WIDTH, WIDTH), HEADS, HEAD)

    def rotated(self, name: str, x: str) -> str:
        """Each head turned by the matrix of its token's position."""
        turned = self.requant(f"{name}.rotated", self.add("MatMul", f"{name}.turn", [x, "rotation"]), 1 / 128)
        return self.heads_first(name, turned)

    def heads_first(self, name: str, x: str) -> str:
        return self.add("Transpose", f"{name}.heads_first", [x], perm=[0, 2, 1, 3])

    def extended(self, name: str, new: str) -> str:
        """New keys or values, behind those in the cache if there is one; the new ones are also results."""
        self.outputs[new] = (1, HEADS, self.tokens, HEAD)
        if not self.cached:
            return new
        self.inputs[f"{name}.cache"] = (1, HEADS, self.cached, HEAD)
        return self.add("Concat", name, [f"{name}.cache", new], axis=2)

    def masked(self, name: str, scores: str) -> str:
        """No token sees a later one."""
        if self.tokens == 1:
            return scores
        mask = self.constant(f"{name}.mask", np.triu(np.full((self.tokens, self.tokens), -128), 1))
        return self.requant(name, self.add("Add", f"{name}.add", [scores, mask]), 1)

    def softmax(self, name: str, scores: str) -> str:
        """Shares of 255; halved every 22 steps, which is every ln 2."""
        attributes = {"log2": 22, "coeffA": 1, "coeffB": 30, "coeffC": 470, "n_levels": 256}
        return self.add("iSoftmax", name, [scores], **{key: scalar(value) for key, value in attributes.items()})

    def feed_forward(self, name: str, x: str) -> str:
        """SwiGLU, with a hard swish."""
        gate, up = self.linear(f"{name}.gate", x, WIDTH, HIDDEN), self.linear(f"{name}.up", x, WIDTH, HIDDEN)
        curve = {"three": 3 * UNIT, "six": 6 * UNIT, "one_over_six": 42}
        swish = self.add("iHardswish", f"{name}.swish", [gate], **curve)
        gated = self.requant(f"{name}.swish8", swish, 1 / (6 * UNIT * 42))
        product = self.requant(f"{name}.gated", self.add("Mul", f"{name}.product", [gated, up]), 1 / UNIT)
        return self.linear(f"{name}.down", product, HIDDEN, WIDTH)

    def norm(self, name: str, x: str) -> str:
        weight = self.constant(f"{name}.weight", np.full(WIDTH, UNIT << SHIFT))
        return self.add("iRMSNorm", name, [x, weight], D=1 << SHIFT, n_levels=256)

    def linear(self, name: str, x: str, rows: int, columns: int) -> str:
        weights = np.clip(np.round(self.random.normal(0, 40, (rows, columns))), -127, 127)
        product = self.add("MatMul", f"{name}.matmul", [x, self.constant(f"{name}.weight", weights)])
        bias = self.constant(f"{name}.bias", self.random.integers(-2000, 2000, columns))
        return self.requant(name, self.add("Add", f"{name}.add", [bias, product]), 1 / (40 * rows**0.5))

    def residual(self, name: str, x: str, y: str) -> str:
        return self.requant(name, self.add("Add", f"{name}.add", [x, y]), 0.7)

    def requant(self, name: str, x: str, factor: float) -> str:
        mul = self.constant(f"{name}.mul", np.array(round(factor * 2**SHIFT)))
        add = self.constant(f"{name}.offset", np.array(0))
        attributes = {"div": scalar(2**SHIFT), "n_levels_out": scalar(256), "signed": scalar(1)}
        return self.add("RequantShift", name, [x, mul, add], domain="PACTOps", **attributes)

    def reshape(self, name: str, x: str, *sizes: int) -> str:
        shape = numpy_helper.from_array(np.array([1, self.tokens, *sizes]), f"{name}.shape")
        self.constants.append(shape)
        return self.add("Reshape", name, [x, shape.name])

    def constant(self, name: str, value: np.ndarray) -> str:
        self.constants.append(numpy_helper.from_array(value.astype(np.float32), name))
        return name

    def add(self, kind: str, name: str, inputs: list[str], **attributes: object) -> str:
        self.nodes.append(helper.make_node(kind, inputs, [name], name, **attributes))
        return name


def scalar(value: int) -> TensorProto:
    return numpy_helper.from_array(np.array([value], np.float32))


def build(tokens: int, cached: int) -> onnx.ModelProto:
    decoder, x = Decoder(tokens, cached), "tokens"
    for number in range(LAYERS):
        x = decoder.layer(f"layer{number}", x)
    outputs = {x: (1, tokens, WIDTH), **decoder.outputs}
    infos = [
        [helper.make_tensor_value_info(name, TensorProto.FLOAT, shape) for name, shape in tensors.items()]
        for tensors in (decoder.inputs, outputs)
    ]
    graph = helper.make_graph(decoder.nodes, "llama", *infos, decoder.constants)
    opsets = [helper.make_opsetid("", 13), helper.make_opsetid("PACTOps", 1)]
    return helper.make_model(graph, opset_imports=opsets, ir_version=8)


if __name__ == "__main__":
    if len(sys.argv) not in (1, 3):
        sys.exit("usage: python examples/llama.py [PREFILL.onnx DECODE.onnx]")
    prefill, decode = sys.argv[1:] or ("prefill.onnx", "decode.onnx")
    onnx.save(build(tokens=CONTEXT, cached=0), prefill)
    onnx.save(build(tokens=1, cached=CONTEXT), decode)
    print(f"wrote {prefill} and {decode}")
