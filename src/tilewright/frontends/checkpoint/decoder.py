"""The float ONNX graph of a decoder: T tokens at once, the first of them at any position.

It is written out in standard operators, as exporters do it. All families have the same graph up to parts that they do
not have, and a model has the same nodes, names and order for every T: only shapes and the constants that count tokens
differ. Attention sees the T tokens alone; what came before them is nothing that a graph without a state can know.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np
import onnx
from onnx import TensorProto, helper, numpy_helper

from tilewright.errors import CompileError
from tilewright.frontends.checkpoint.config import Checkpoint
from tilewright.frontends.checkpoint.rotation import tables
from tilewright.ir.types import Array

OPSET = 21
"""The first in which quantisers of 16 bits can be added."""
IR_VERSION = 10
MOST_BYTES = 2**31 - 1
MASKED = -10000.0
"""Added to the score of a token that is not to be seen."""


@dataclass(frozen=True)
class DecoderModel:
    """A model of which the constants lie beside the file: they may be larger than one."""

    proto: onnx.ModelProto
    constants: Mapping[str, Array]

    @property
    def whole(self) -> onnx.ModelProto:
        """With the constants inside."""
        size = sum(value.nbytes for value in self.constants.values())
        if size > MOST_BYTES:
            what = f"has {size} bytes of weights and tables; an ONNX model holds {MOST_BYTES}"
            raise CompileError("this decoder", what, "choose a shorter context, or a smaller model of the family")
        made = onnx.ModelProto()
        made.CopyFrom(self.proto)
        made.graph.initializer.extend(
            numpy_helper.from_array(np.ascontiguousarray(value), name) for name, value in self.constants.items()
        )
        return made


def decoder_model(checkpoint: Checkpoint, tokens: int, context: int | None = None) -> onnx.ModelProto:
    """ids int32 [1,T] and position int32 [1], the tokens before the first, to logits float32 [1,T,words].

    `context` is how many positions there are tables for; the model's own if not given.
    """
    return decoder_parts(checkpoint, tokens, context).whole


def decoder_parts(checkpoint: Checkpoint, tokens: int, context: int | None = None) -> DecoderModel:
    """The same, with the constants beside it."""
    config = checkpoint.config
    context = config.context if context is None else context
    _check(checkpoint, tokens, context)
    decoder = _Decoder(checkpoint, tokens, context)
    logits = decoder.logits("ids", "position")
    inputs = [
        helper.make_tensor_value_info(name, TensorProto.INT32, shape)
        for name, shape in (("ids", (1, tokens)), ("position", (1,)))
    ]
    outputs = [helper.make_tensor_value_info(logits, TensorProto.FLOAT, (1, tokens, config.words))]
    graph = helper.make_graph(decoder.nodes, "decoder", inputs, outputs)
    model = helper.make_model(graph, opset_imports=[helper.make_opsetid("", OPSET)], ir_version=IR_VERSION)
    return DecoderModel(model, decoder.constants)


def _check(checkpoint: Checkpoint, tokens: int, context: int) -> None:
    config = checkpoint.config
    if not 1 <= context <= config.context:
        what = f"is not within the {config.context} tokens that the model was trained for"
        raise CompileError(f"context {context}", what, f"choose 1 to {config.context}")
    if not 1 <= tokens <= context:
        raise CompileError(f"{tokens} tokens at once", f"do not fit a context of {context}", f"choose 1 to {context}")
    size = 0 if config.rotary is None else 8 * context * config.head
    if size > MOST_BYTES:
        what = f"needs {size} bytes for rotary tables of {context} tokens, more than {MOST_BYTES}"
        raise CompileError(f"this {config.family}", what, "choose a shorter context")
    if config.window is not None and config.window < context:
        raise CompileError(
            f"context {context}",
            f"this {config.family} has a sliding window of {config.window} tokens, which is not supported",
            f"choose a context of at most {config.window}, where it makes no difference",
        )  # fmt: skip


class _Decoder:
    """Adds nodes one after another; methods return the name of the tensor they make."""

    def __init__(self, checkpoint: Checkpoint, tokens: int, context: int) -> None:
        self.config, self.weights, self.tokens, self.context = checkpoint.config, checkpoint.weights, tokens, context
        self.nodes: list[onnx.NodeProto] = []
        self.constants: dict[str, Array] = {}
        self.cosine = self.sine = ""

    def logits(self, ids: str, position: str) -> str:
        self.constants["offsets"] = np.arange(self.tokens, dtype=np.int32)
        self.constants["mask"] = np.triu(np.full((self.tokens, self.tokens), MASKED, np.float32), 1)
        positions = self.add("Add", "positions", position, "offsets")
        x = self.embedded(ids, positions)
        for number in range(self.config.layers):
            x = self.layer(f"layer{number}", x)
        head = self.weights["embedding.weight" if self.config.tied else "head.weight"]
        weight, normed = self.constant("head.weight", head.T), self.norm("norm", x)
        if "head.bias" not in self.weights:
            return self.add("MatMul", "logits", normed, weight)
        return self.add("Add", "logits", self.add("MatMul", "logits.product", normed, weight), self.weight("head.bias"))

    def embedded(self, ids: str, positions: str) -> str:
        table = self.constant("embedding", self.weights["embedding.weight"])
        if self.config.rotary is not None:
            cosine, sine = tables(self.config.rotary, self.config.head, self.context)
            self.cosine = self.angles("cosine", cosine, positions)
            self.sine = self.angles("sine", sine, positions)
            return self.add("Gather", "embedded", table, ids)
        learned = self.constant("position_embedding", self.weights["position_embedding.weight"][: self.context])
        words = self.add("Gather", "embedded.words", table, ids)
        return self.add("Add", "embedded", words, self.add("Gather", "embedded.positions", learned, positions))

    def angles(self, name: str, table: Array, positions: str) -> str:
        """The rows of the T positions, the same for all heads."""
        rows = self.add("Gather", f"{name}.rows", self.constant(name, table), positions)
        return self.add("Unsqueeze", f"{name}.of_heads", rows, self.integers("index1", 1))

    def layer(self, name: str, x: str) -> str:
        y = self.norm(f"{name}.norm1", x)
        attended = self.add("Add", f"{name}.attended", x, self.attention(f"{name}.attention", y))
        if not self.config.one_norm:
            y = self.norm(f"{name}.norm2", x if self.config.parallel else attended)
        x = attended
        return self.add("Add", f"{name}.out", x, self.feed_forward(f"{name}.ffn", y))

    def norm(self, name: str, x: str) -> str:
        weight = self.weight(f"{name}.weight")
        if self.config.norm == "layer":
            epsilon = self.config.epsilon
            return self.add("LayerNormalization", name, x, weight, self.weight(f"{name}.bias"), epsilon=epsilon)
        squares = self.add("Pow", f"{name}.squares", x, self.constant("two", np.array(2.0)))
        mean = self.add("ReduceMean", f"{name}.mean", squares, self.integers("last", -1))
        padded = self.add("Add", f"{name}.padded", mean, self.constant("epsilon", np.array(self.config.epsilon)))
        inverse = self.add("Reciprocal", f"{name}.inverse", self.add("Sqrt", f"{name}.root", padded))
        return self.add("Mul", name, self.add("Mul", f"{name}.scaled", x, inverse), weight)

    # ---- attention --------------------------------------------------------------------------------------------------

    def attention(self, name: str, x: str) -> str:
        heads, groups = self.config.heads, self.config.kv_heads
        query = self.heads_first(f"{name}.query", self.turned(f"{name}.query", x, heads))
        key = self.heads_first(f"{name}.key", self.turned(f"{name}.key", x, groups))
        value = self.heads_first(f"{name}.value", self.in_heads(f"{name}.value", x, groups))
        key, value = self.for_all_heads(f"{name}.keys", key), self.for_all_heads(f"{name}.values", value)
        columns = self.add("Transpose", f"{name}.keys.turned", key, perm=[0, 1, 3, 2])
        scale = self.constant("scale", np.array(self.config.scale))
        scores = self.add("Mul", f"{name}.scores", self.add("MatMul", f"{name}.products", query, columns), scale)
        shares = self.add("Softmax", f"{name}.shares", self.add("Add", f"{name}.masked", scores, "mask"), axis=-1)
        mixed = self.add("MatMul", f"{name}.mixed", shares, value)
        tokens_first = self.add("Transpose", f"{name}.tokens_first", mixed, perm=[0, 2, 1, 3])
        joined = self.reshape(f"{name}.joined", tokens_first, "shape.joined", self.tokens, heads * self.config.head)
        return self.linear(f"{name}.output", joined)

    def turned(self, name: str, x: str, heads: int) -> str:
        """Queries or keys as scores need them, tokens first."""
        found = self.in_heads(name, x, heads)
        if self.config.qk_norm:
            found = self.norm(f"{name}.norm", found)
        return found if self.config.rotary is None else self.rotated(name, found)

    def in_heads(self, name: str, x: str, heads: int) -> str:
        """A projection, [1, tokens, heads, elements of a head]."""
        shape = f"shape.{heads}_heads"
        return self.reshape(f"{name}.heads", self.linear(name, x), shape, self.tokens, heads, self.config.head)

    def heads_first(self, name: str, x: str) -> str:
        return self.add("Transpose", f"{name}.heads_first", x, perm=[0, 2, 1, 3])

    def rotated(self, name: str, x: str) -> str:
        """Each pair of a head's elements, half a head apart, turned by an angle of its own times the position."""
        half = self.config.head // 2
        first, second = self.sliced(f"{name}.first", x, 0, half), self.sliced(f"{name}.second", x, half, 2 * half)
        negated = self.add("Neg", f"{name}.negated", second)
        swapped = self.add("Concat", f"{name}.swapped", negated, first, axis=-1)
        straight = self.add("Mul", f"{name}.straight", x, self.cosine)
        return self.add("Add", f"{name}.rotated", straight, self.add("Mul", f"{name}.across", swapped, self.sine))

    def sliced(self, name: str, x: str, start: int, end: int) -> str:
        return self.add("Slice", name, x, *(self.integers(f"index{value}", value) for value in (start, end, 3)))

    def for_all_heads(self, name: str, x: str) -> str:
        """Each head of keys or values once for every head of queries that it belongs to."""
        heads, groups, head = self.config.heads, self.config.kv_heads, self.config.head
        if heads == groups:
            return x
        apart = self.add("Unsqueeze", f"{name}.apart", x, self.integers("index2", 2))
        shape = self.integers("shape.grouped", 1, groups, heads // groups, self.tokens, head)
        repeated = self.add("Expand", f"{name}.repeated", apart, shape)
        return self.reshape(name, repeated, "shape.all_heads", heads, self.tokens, head)

    # ---- the rest of a layer ----------------------------------------------------------------------------------------

    def feed_forward(self, name: str, x: str) -> str:
        if not self.config.gated:
            return self.linear(f"{name}.down", self.activated(name, self.linear(f"{name}.up", x)))
        active = self.activated(name, self.linear(f"{name}.gate", x))
        return self.linear(f"{name}.down", self.add("Mul", f"{name}.gated", active, self.linear(f"{name}.up", x)))

    def activated(self, name: str, x: str) -> str:
        kind = self.config.activation
        if kind == "silu":
            return self.add("Mul", f"{name}.swish", x, self.add("Sigmoid", f"{name}.sigmoid", x))
        if kind == "relu":
            return self.add("Relu", f"{name}.relu", x)
        return self.add("Gelu", f"{name}.gelu", x, approximate="tanh" if kind == "gelu_tanh" else "none")

    def linear(self, name: str, x: str) -> str:
        weight = self.constant(f"{name}.weight", self.weights[f"{name}.weight"].T)
        if f"{name}.bias" not in self.weights:
            return self.add("MatMul", name, x, weight)
        return self.add("Add", name, self.add("MatMul", f"{name}.product", x, weight), self.weight(f"{name}.bias"))

    # ---- nodes and constants ----------------------------------------------------------------------------------------

    def weight(self, name: str) -> str:
        return self.constant(name, self.weights[name])

    def reshape(self, name: str, x: str, shape: str, *sizes: int) -> str:
        return self.add("Reshape", name, x, self.integers(shape, 1, *sizes))

    def integers(self, name: str, *values: int) -> str:
        self.constants[name] = np.array(values, np.int64)
        return name

    def constant(self, name: str, value: Array) -> str:
        self.constants[name] = np.asarray(value, np.float32)
        return name

    def add(self, kind: str, name: str, *inputs: str, **attributes: object) -> str:
        self.nodes.append(helper.make_node(kind, inputs, [name], name, **attributes))
        return name
