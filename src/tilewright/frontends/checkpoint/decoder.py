"""The float ONNX graph of a decoder: T tokens at once, the first of them at any position.

It is written out in standard operators, as exporters do it. All families have the same graph up to parts that they do
not have, and a model has the same nodes, names and order for every T: only shapes and the constants that count tokens
differ. Attention sees the T tokens alone; what came before them is nothing that a graph without a state can know.
"""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np
import onnx
from onnx import TensorProto, helper, numpy_helper

from tilewright.errors import CompileError
from tilewright.frontends.checkpoint.config import Checkpoint, Rotary, Weight
from tilewright.frontends.checkpoint.rotation import tables
from tilewright.ir.block_formats import BlockArray
from tilewright.ir.types import Array
from tilewright.ops.blockmatmul import DOMAIN, OF_BYTES
from tilewright.records import dataclass

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


def decoder_parts(
    checkpoint: Checkpoint, tokens: int, context: int | None = None, activations: str = OF_BYTES
) -> DecoderModel:
    """The graph of a decoder and its constants; `activations` are what weights in blocks are multiplied with."""
    config = checkpoint.config
    context = config.context if context is None else context
    _check(checkpoint, tokens, context)
    decoder = _Decoder(checkpoint, tokens, context, activations)
    logits = decoder.logits("ids", "position")
    inputs = [
        helper.make_tensor_value_info(name, TensorProto.INT32, shape)
        for name, shape in (("ids", (1, tokens)), ("position", (1,)))
    ]
    outputs = [helper.make_tensor_value_info(logits, TensorProto.FLOAT, (1, tokens, config.words))]
    graph = helper.make_graph(decoder.nodes, "decoder", inputs, outputs)
    opsets = [helper.make_opsetid("", OPSET), *([helper.make_opsetid(DOMAIN, 1)] if checkpoint.has_blocks else [])]
    model = helper.make_model(graph, opset_imports=opsets, ir_version=IR_VERSION)
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


class _Decoder:
    """Adds nodes one after another; methods return the name of the tensor they make."""

    def __init__(self, checkpoint: Checkpoint, tokens: int, context: int, activations: str) -> None:
        self.config, self.weights, self.tokens, self.context = checkpoint.config, checkpoint.weights, tokens, context
        self.activations = activations
        self.nodes: list[onnx.NodeProto] = []
        self.constants: dict[str, Array] = {}
        self.turns = dict[Rotary, tuple[str, str]]()
        """Names of the cosines and sines of the T positions."""

    def logits(self, ids: str, position: str) -> str:
        self.constants["offsets"] = np.arange(self.tokens, dtype=np.int32)
        self.constants["mask"] = np.triu(np.full((self.tokens, self.tokens), MASKED, np.float32), 1)
        positions = self.add("Add", "positions", position, "offsets")
        x = self.embedded(ids, positions)
        for number in range(self.config.layers):
            x = self.layer(number, x)
        head = self.weights["embedding.weight" if self.config.tied else "head.weight"]
        stored = "embedding" if self.config.tied and isinstance(head, BlockArray) else "head.weight"
        cap = self.config.logit_cap
        found = self.product("logits.uncapped" if cap else "logits", self.norm("norm", x), head, stored, "head.bias")
        return self.capped("logits", found, cap) if cap else found

    def capped(self, name: str, x: str, cap: float) -> str:
        """cap * tanh(x / cap)."""
        small = self.add("Mul", f"{name}.small", x, self.constant(f"one_by_{cap:g}", np.array(1 / cap)))
        bent = self.add("Tanh", f"{name}.bent", small)
        return self.add("Mul", name, bent, self.constant(f"cap_{cap:g}", np.array(cap)))

    def embedded(self, ids: str, positions: str) -> str:
        config = self.config
        if config.rotary is not None:
            self.turn(config.rotary, "", positions)
            if config.local_rotary is not None:
                self.turn(config.local_rotary, "local.", positions)
            return self.scaled_words("embedded", ids)
        learned = self.constant("position_embedding", self.plain("position_embedding.weight")[: self.context])
        words = self.scaled_words("embedded.words", ids)
        return self.add("Add", "embedded", words, self.add("Gather", "embedded.positions", learned, positions))

    def turn(self, rotary: Rotary, prefix: str, positions: str) -> None:
        cosine, sine = tables(rotary, self.config.head, self.context)
        self.turns[rotary] = (
            self.angles(f"{prefix}cosine", cosine, positions), self.angles(f"{prefix}sine", sine, positions),
        )  # fmt: skip

    def scaled_words(self, name: str, ids: str) -> str:
        factor = self.config.embedding_scale
        if factor == 1.0:
            return self.words(name, ids)
        plain = self.words(f"{name}.plain", ids)
        return self.add("Mul", name, plain, self.constant("embedding_scale", np.array(factor)))

    def words(self, name: str, ids: str) -> str:
        table = self.weights["embedding.weight"]
        if not isinstance(table, BlockArray):
            return self.add("Gather", name, self.constant("embedding", table), ids)
        self.constants["embedding"] = table.raw
        return self.add("BlockGather", name, "embedding", ids, domain=DOMAIN, format=table.block.name)

    def angles(self, name: str, table: Array, positions: str) -> str:
        """The rows of the T positions, the same for all heads."""
        rows = self.add("Gather", f"{name}.rows", self.constant(name, table), positions)
        return self.add("Unsqueeze", f"{name}.of_heads", rows, self.integers("index1", 1))

    def layer(self, number: int, x: str) -> str:
        name = f"layer{number}"
        y = self.norm(f"{name}.norm1", x)
        given = self.after(f"{name}.norm1", self.attention(number, y))
        attended = self.add("Add", f"{name}.attended", x, given)
        if not self.config.one_norm:
            y = self.norm(f"{name}.norm2", x if self.config.parallel else attended)
        given = self.after(f"{name}.norm2", self.feed_forward(f"{name}.ffn", y))
        return self.add("Add", f"{name}.out", attended, given)

    def after(self, name: str, x: str) -> str:
        """What a part of a layer gives, as it is added."""
        return self.norm(f"{name}.after", x) if self.config.post_norms else x

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

    def attention(self, number: int, x: str) -> str:
        name, heads, groups = f"layer{number}.attention", self.config.heads, self.config.kv_heads
        rotary = self.config.rotary_of(number)
        query = self.heads_first(f"{name}.query", self.turned(f"{name}.query", x, heads, rotary))
        key = self.heads_first(f"{name}.key", self.turned(f"{name}.key", x, groups, rotary))
        value = self.heads_first(f"{name}.value", self.in_heads(f"{name}.value", x, groups))
        key, value = self.for_all_heads(f"{name}.keys", key), self.for_all_heads(f"{name}.values", value)
        columns = self.add("Transpose", f"{name}.keys.turned", key, perm=[0, 1, 3, 2])
        scale = self.constant("scale", np.array(self.config.scale))
        scores = self.add("Mul", f"{name}.scores", self.add("MatMul", f"{name}.products", query, columns), scale)
        if self.config.attention_cap:
            scores = self.capped(f"{name}.capped", scores, self.config.attention_cap)
        masked = self.add("Add", f"{name}.masked", scores, self.mask(number))
        mixed = self.add("MatMul", f"{name}.mixed", self.add("Softmax", f"{name}.shares", masked, axis=-1), value)
        tokens_first = self.add("Transpose", f"{name}.tokens_first", mixed, perm=[0, 2, 1, 3])
        joined = self.reshape(f"{name}.joined", tokens_first, "shape.joined", self.tokens, heads * self.config.head)
        return self.linear(f"{name}.output", joined)

    def mask(self, number: int) -> str:
        """Of later tokens, and of those that a layer no longer sees."""
        window = self.config.window_of(number)
        if window is None:
            return "mask"
        far = np.tril(np.full((self.tokens, self.tokens), MASKED, np.float32), -window)
        return self.constant("mask.local", self.constants["mask"] + far)

    def turned(self, name: str, x: str, heads: int, rotary: Rotary | None) -> str:
        """Queries or keys as scores need them, tokens first."""
        found = self.in_heads(name, x, heads)
        if self.config.qk_norm:
            found = self.norm(f"{name}.norm", found)
        return found if rotary is None else self.rotated(name, found, *self.turns[rotary])

    def in_heads(self, name: str, x: str, heads: int) -> str:
        """A projection, [1, tokens, heads, elements of a head]."""
        shape = f"shape.{heads}_heads"
        return self.reshape(f"{name}.heads", self.linear(name, x), shape, self.tokens, heads, self.config.head)

    def heads_first(self, name: str, x: str) -> str:
        return self.add("Transpose", f"{name}.heads_first", x, perm=[0, 2, 1, 3])

    def rotated(self, name: str, x: str, cosine: str, sine: str) -> str:
        """Each pair of a head's elements, half a head apart, turned by an angle of its own times the position."""
        half = self.config.head // 2
        first, second = self.sliced(f"{name}.first", x, 0, half), self.sliced(f"{name}.second", x, half, 2 * half)
        negated = self.add("Neg", f"{name}.negated", second)
        swapped = self.add("Concat", f"{name}.swapped", negated, first, axis=-1)
        straight = self.add("Mul", f"{name}.straight", x, cosine)
        return self.add("Add", f"{name}.rotated", straight, self.add("Mul", f"{name}.across", swapped, sine))

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
        return self.product(name, x, self.weights[f"{name}.weight"], f"{name}.weight", f"{name}.bias")

    def product(self, name: str, x: str, weight: Weight, stored: str, bias: str) -> str:
        """Of rows of x and of a weight, which is stored under a name; with a bias where the model has that one."""
        added = [self.weight(bias)] if bias in self.weights else []
        if isinstance(weight, BlockArray):
            self.constants[stored] = weight.raw
            facts = {"format": weight.block.name, "activations": self.activations}
            return self.add("BlockMatMul", name, x, stored, *added, domain=DOMAIN, **facts)
        matrix = self.constant(stored, weight.T)
        if not added:
            return self.add("MatMul", name, x, matrix)
        return self.add("Add", name, self.add("MatMul", f"{name}.product", x, matrix), *added)

    # ---- nodes and constants ----------------------------------------------------------------------------------------

    def weight(self, name: str) -> str:
        return self.constant(name, self.plain(name))

    def plain(self, name: str) -> Array:
        """A weight as floats."""
        found = self.weights[name]
        return found.values() if isinstance(found, BlockArray) else found

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
