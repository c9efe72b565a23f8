"""Small decoders with random weights as exporters write them: `past_key_values` in, `present` out, axes by names."""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np
import onnx
from onnx import TensorProto, helper, numpy_helper

from tests.support import talkers
from tilewright.ir.types import Array

WORDS, WIDTH, HIDDEN, LAYERS, HEADS, HEAD, CONTEXT = 258, 24, 40, 2, 4, 16, 64
LOWEST = float(np.finfo(np.float32).min)
INT64, FLOAT = TensorProto.INT64, TensorProto.FLOAT


@dataclass(frozen=True)
class Style:
    """What exports differ in."""

    rotary: bool = True
    """Else learned positions."""
    groups: int = HEADS
    """Heads of keys and values."""
    positions: str = "input"
    """Or from the `mask` by CumSum, or from the `shape` of the past by Range."""
    where: bool = False
    """Whether scores are chosen by a mask, or it is added to them."""
    fused: bool = False
    """Attention as ONNX Runtime's GroupQueryAttention."""


class Graph:
    """Adds nodes; methods give the names of their results."""

    def __init__(self, style: Style, has_past: bool) -> None:
        self.style, self.has_past = style, has_past
        self.nodes: list[onnx.NodeProto] = []
        self.constants: dict[str, Array] = {}
        self.random = np.random.default_rng(5)

    def add(self, kind: str, *inputs: str, outputs: Sequence[str] = (), **attributes: object) -> str:
        made = list(outputs) or [f"{kind}_{len(self.nodes)}"]
        self.nodes.append(helper.make_node(kind, inputs, made, made[0], **attributes))
        return made[0]

    def const(self, value: object, dtype: str = "int64") -> str:
        name = f"const_{len(self.constants)}"
        self.constants[name] = np.asarray(value, dtype)
        return name

    def weight(self, *shape: int, spread: float = 1.0, middle: float = 0.0) -> str:
        values = middle + spread * self.random.standard_normal(shape)
        return self.const(values.astype(np.float32), "float32")

    def size(self, tensor: str, axis: int) -> str:
        return self.add("Gather", self.add("Shape", tensor), self.const([axis]))

    # ---- positions and masks ----------------------------------------------------------------------------------------

    def numbers(self, start: str, end: str) -> str:
        scalars = [self.add("Squeeze", name, self.const([0])) for name in (start, end)]
        return self.add("Range", *scalars, self.const(1))

    def prepare(self) -> None:
        self.new = self.size("input_ids", 1)
        none, of_past = self.const([0]), self.const([2])  # The same constants, with a past and without.
        self.past = self.add("Gather", self.add("Shape", "past_key_values.0.key"), of_past) if self.has_past else none
        self.total = self.add("Add", self.past, self.new)
        rows, columns = self.numbers(self.past, self.total), self.numbers(self.const([0]), self.total)
        self.places = {"input": lambda: "position_ids", "mask": self.counted, "shape": lambda: self.row(rows)}[
            self.style.positions
        ]()
        causal = self.add("LessOrEqual", columns, self.add("Unsqueeze", rows, self.const([1])))
        given = self.add("Cast", "attention_mask", to=TensorProto.BOOL)
        seen = self.add("And", causal, self.add("Unsqueeze", given, self.const([1, 2])))
        self.seen = seen
        zero, low = self.const(0.0, "float32"), self.const(LOWEST, "float32")
        self.mask = "" if self.style.where else self.add("Where", seen, zero, low)

    def row(self, tensor: str) -> str:
        return self.add("Unsqueeze", tensor, self.const([0]))

    def counted(self) -> str:
        """The last of the running sum of the mask."""
        counts = self.add("Sub", self.add("CumSum", "attention_mask", self.const(1)), self.const(1))
        ends = self.const([2**31 - 1])
        return self.add("Slice", counts, self.add("Neg", self.new), ends, self.const([1]))

    def angles(self) -> None:
        speeds = self.const((10.0 ** -np.arange(HEAD // 2)).reshape(1, -1, 1), "float32")
        places = self.add("Cast", self.add("Unsqueeze", self.places, self.const([1])), to=FLOAT)
        turned = self.add("Transpose", self.add("MatMul", speeds, places), perm=[0, 2, 1])
        both = self.add("Unsqueeze", self.add("Concat", turned, turned, axis=-1), self.const([1]))
        self.cosine, self.sine = self.add("Cos", both), self.add("Sin", both)

    # ---- layers -----------------------------------------------------------------------------------------------------

    def linear(self, x: str, rows: int, columns: int) -> str:
        return self.add("MatMul", x, self.weight(rows, columns, spread=1.2 * rows**-0.5))

    def norm(self, x: str) -> str:
        scale = self.weight(WIDTH, spread=0.2, middle=1.0)
        if not self.style.rotary:
            return self.add("LayerNormalization", x, scale, self.weight(WIDTH, spread=0.2), epsilon=1e-5)
        squares = self.add("Pow", x, self.const(2.0, "float32"))
        mean = self.add("ReduceMean", squares, axes=[-1])
        root = self.add("Sqrt", self.add("Add", mean, self.const(1e-5, "float32")))
        return self.add("Mul", scale, self.add("Mul", x, self.add("Div", self.const(1.0, "float32"), root)))

    def heads(self, x: str, count: int) -> str:
        split = self.add("Reshape", self.linear(x, WIDTH, count * HEAD), self.const([1, -1, count, HEAD]))
        return self.add("Transpose", split, perm=[0, 2, 1, 3])

    def turned(self, x: str) -> str:
        if not self.style.rotary:
            return x
        half, end, last = self.const([HEAD // 2]), self.const([2**31 - 1]), self.const([3])
        first, second = self.add("Slice", x, self.const([0]), half, last), self.add("Slice", x, half, end, last)
        swapped = self.add("Concat", self.add("Neg", second), first, axis=-1)
        return self.add("Add", self.add("Mul", x, self.cosine), self.add("Mul", swapped, self.sine))

    def remembered(self, new: str, name: str) -> str:
        present = f"present.{name}"
        if not self.has_past:
            return self.add("Identity", new, outputs=[present])
        return self.add("Concat", f"past_key_values.{name}", new, outputs=[present], axis=2)

    def for_all_heads(self, x: str) -> str:
        groups = self.style.groups
        if groups == HEADS:
            return x
        apart = self.add("Unsqueeze", x, self.const([2]))
        sizes = [self.const([1, groups, HEADS // groups]), self.total, self.const([HEAD])]
        wide = self.add("Expand", apart, self.add("Concat", *sizes, axis=0))
        return self.add("Reshape", wide, self.const([1, HEADS, -1, HEAD]))

    def attention(self, x: str, layer: int) -> str:
        query, key = self.turned(self.heads(x, HEADS)), self.turned(self.heads(x, self.style.groups))
        key = self.for_all_heads(self.remembered(key, f"{layer}.key"))
        value = self.for_all_heads(self.remembered(self.heads(x, self.style.groups), f"{layer}.value"))
        products = self.add("MatMul", query, self.add("Transpose", key, perm=[0, 1, 3, 2]))
        scores = self.add("Div", products, self.const(HEAD**0.5, "float32"))
        low = self.const(LOWEST, "float32")
        masked = self.add("Where", self.seen, scores, low) if self.style.where else self.add("Add", scores, self.mask)
        mixed = self.add("MatMul", self.add("Softmax", masked, axis=-1), value)
        joined = self.add("Transpose", mixed, perm=[0, 2, 1, 3])
        return self.linear(self.add("Reshape", joined, self.const([1, -1, HEADS * HEAD])), HEADS * HEAD, WIDTH)

    def group_query_attention(self, x: str, layer: int) -> str:
        counts = (HEADS, self.style.groups, self.style.groups)
        query, key, value = (self.linear(x, WIDTH, count * HEAD) for count in counts)
        outputs = [f"attention_{layer}", f"present.{layer}.key", f"present.{layer}.value"]
        past = [f"past_key_values.{layer}.{part}" for part in ("key", "value")]
        angles = np.outer(np.arange(CONTEXT), 10.0 ** -np.arange(HEAD // 2))
        tables = [self.const(function(angles), "float32") for function in (np.cos, np.sin)]
        mixed = self.add(
            "GroupQueryAttention", query, key, value, *past, self.lengths, self.all_tokens, *tables, outputs=outputs,
            domain="com.microsoft", num_heads=HEADS, kv_num_heads=self.style.groups, do_rotary=1,
        )  # fmt: skip
        return self.linear(mixed, HEADS * HEAD, WIDTH)

    def count_tokens(self) -> None:
        """As GroupQueryAttention wants them."""
        sums = self.add("ReduceSum", "attention_mask", self.const([1]), keepdims=0)
        self.lengths = self.add("Cast", self.add("Sub", sums, self.const(1)), to=TensorProto.INT32)
        length = self.add("Gather", self.add("Shape", "attention_mask"), self.const(1))
        self.all_tokens = self.add("Cast", length, to=TensorProto.INT32)

    def logits(self) -> None:
        x = self.add("Gather", self.weight(WORDS, WIDTH), "input_ids")
        if self.style.fused:
            self.count_tokens()
        else:
            self.prepare()
        if not self.style.rotary:
            x = self.add("Add", x, self.add("Gather", self.weight(CONTEXT, WIDTH), self.places))
        elif not self.style.fused:
            self.angles()
        attention = self.group_query_attention if self.style.fused else self.attention
        for layer in range(LAYERS):
            x = self.add("Add", x, attention(self.norm(x), layer))
            y = self.linear(self.norm(x), WIDTH, HIDDEN)
            y = self.add("Mul", y, self.add("Sigmoid", y))
            x = self.add("Add", x, self.linear(y, HIDDEN, WIDTH))
        self.add("MatMul", self.norm(x), self.weight(WIDTH, WORDS), outputs=["logits"])


def model(style: Style, has_past: bool = True, prefix: str = "past_key_values") -> onnx.ModelProto:
    """With a past, or without one; both have the same weights."""
    made = Graph(style, has_past)
    made.logits()
    whole = "past_sequence_length + sequence_length" if has_past else "sequence_length"
    inputs = [value("input_ids", INT64, "batch_size", "sequence_length")]
    inputs += [value("attention_mask", INT64, "batch_size", whole)]
    if style.positions == "input" and not style.fused:
        inputs += [value("position_ids", INT64, "batch_size", "sequence_length")]
    outputs = [value("logits", FLOAT, "batch_size", "sequence_length", WORDS)]
    for name in (f"{layer}.{part}" for layer in range(LAYERS) for part in ("key", "value")):
        cache = ("batch_size", style.groups, "past_sequence_length", HEAD)
        inputs += [value(f"past_key_values.{name}", FLOAT, *cache)] if has_past else []
        outputs += [value(f"present.{name}", FLOAT, *cache[:2], whole, HEAD)]
    constants = [numpy_helper.from_array(array, name) for name, array in made.constants.items()]
    graph = helper.make_graph(made.nodes, "main_graph", inputs, outputs, constants)
    opsets = [helper.make_opsetid("", 17), helper.make_opsetid("com.microsoft", 1)]
    return helper.make_model(graph, opset_imports=opsets, ir_version=8)


def value(name: str, kind: int, *shape: int | str) -> onnx.ValueInfoProto:
    return helper.make_tensor_value_info(name, kind, shape)


def merged(style: Style) -> onnx.ModelProto:
    """Both in one graph, of which an input chooses: as `decoder_model_merged.onnx` is."""
    without, with_past = model(style, has_past=False), model(style)
    inputs = [*with_past.graph.input, value("use_cache_branch", TensorProto.BOOL, 1)]
    outputs = list(with_past.graph.output)
    names = [one.name for one in outputs]
    branches = {
        which: _branch(one.graph, which) for which, one in (("then_branch", with_past), ("else_branch", without))
    }
    node = helper.make_node("If", ["use_cache_branch"], names, "choice", **branches)
    graph = helper.make_graph([node], "merged", inputs, outputs, list(with_past.graph.initializer))
    return helper.make_model(graph, opset_imports=with_past.opset_import, ir_version=8)


def _branch(graph: onnx.GraphProto, which: str) -> onnx.GraphProto:
    """Its weights are those of the graph around; its tensors have names of its own."""
    outer = {one.name for one in (*graph.input, *graph.initializer)}
    made = onnx.GraphProto()
    made.CopyFrom(graph)
    del made.input[:], made.initializer[:]
    for node in made.node:
        node.input[:] = [name if name in outer or not name else f"{which}.{name}" for name in node.input]
        node.output[:] = [f"{which}.{name}" for name in node.output]
    for one in made.output:
        one.name = f"{which}.{one.name}"
    return made


CONFIG = {"model_type": "fox", "max_position_embeddings": CONTEXT, "bos_token_id": 256, "eos_token_id": 257}


def save(folder: Path, files: dict[str, onnx.ModelProto], config: dict[str, object] | None = None) -> Path:
    """The graphs, a tokenizer of bytes, and what is said about them."""
    folder.mkdir(parents=True, exist_ok=True)
    for name, made in files.items():
        (folder / name).parent.mkdir(parents=True, exist_ok=True)
        onnx.save(made, folder / name)
    (folder / "tokenizer.json").write_text(json.dumps(talkers.tokenizer()))
    if config is not None:
        (folder / "config.json").write_text(json.dumps(config))
    return folder


# ---- what ONNX Runtime makes of it ----------------------------------------------------------------------------------


@dataclass
class Runtime:
    """Generates with the graphs themselves: the first reads the prompt, the later one goes on."""

    first: onnx.ModelProto
    later: onnx.ModelProto
    caches: dict[str, Array] = field(default_factory=dict)
    _sessions: dict[int, Any] = field(default_factory=dict)
    """Of each of the graphs: they take longer to prepare than to run."""

    def greedy(self, ids: Sequence[int], count: int) -> tuple[int, ...]:
        """So many of the most likely tokens."""
        found, new, held = list[int](), list(ids), 0
        for _ in range(count):
            scores = self.run(self.later if held else self.first, new, held)
            held += len(new)
            new = [int(scores[0, -1].argmax())]
            found += new
        return tuple(found)

    def run(self, model: onnx.ModelProto, ids: Sequence[int], held: int) -> Array:
        session = self._session(model)
        feeds: dict[str, Array] = {"input_ids": np.array([ids]), "use_cache_branch": np.array([held > 0])}
        feeds["attention_mask"] = np.ones((1, held + len(ids)), np.int64)
        feeds["position_ids"] = np.arange(held, held + len(ids))[None]
        for one in session.get_inputs():
            if one.name.startswith("past_key_values."):
                empty = np.zeros((1, one.shape[1], 0, one.shape[3]), np.float32)
                feeds[one.name] = self.caches.get(one.name.removeprefix("past_key_values."), empty)
        wanted = {one.name for one in session.get_inputs()}
        names = [one.name for one in session.get_outputs()]
        given = session.run(names, {name: array for name, array in feeds.items() if name in wanted})
        results = dict(zip(names, given, strict=True))
        self.caches = {name.removeprefix("present."): results[name] for name in names if name.startswith("present.")}
        return np.asarray(results["logits"])

    def _session(self, model: onnx.ModelProto) -> Any:
        import onnxruntime

        if id(model) not in self._sessions:
            options = onnxruntime.SessionOptions()
            options.log_severity_level, options.intra_op_num_threads = 3, 1
            made = onnxruntime.InferenceSession(model.SerializeToString(), options, ["CPUExecutionProvider"])
            self._sessions[id(model)] = made
        return self._sessions[id(model)]
