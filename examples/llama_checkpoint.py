"""Turns a Llama-style checkpoint into a float ONNX graph: python llama_checkpoint.py FOLDER prefill.onnx [TOKENS]

FOLDER is in Hugging Face's format: `config.json` and `model.safetensors`. The graph takes TOKENS token numbers at once
(64 if not given) and returns the logits of the token that follows each of them. It is written out in standard
operators, as exporters do it: RMS norms, rotations of queries and keys, grouped heads, a causal mask, SwiGLU.
"""

from __future__ import annotations

import json
import sys
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import onnx
from onnx import TensorProto, helper, numpy_helper

DTYPES = {"F32": np.float32, "F16": np.float16}
OPSET = 21
"""The first in which quantisers of 16 bits can be added."""
MASKED = -10000.0
"""Added to the score of a token that is not to be seen."""


@dataclass(frozen=True)
class Config:
    width: int
    hidden: int
    layers: int
    heads: int
    groups: int
    """Heads of keys and values."""
    words: int
    epsilon: float
    theta: float

    @property
    def head(self) -> int:
        return self.width // self.heads


def read_config(folder: Path) -> Config:
    found = json.loads((folder / "config.json").read_text())
    names = ["hidden_size", "intermediate_size", "num_hidden_layers", "num_attention_heads", "num_key_value_heads"]
    sizes = [int(found[name]) for name in (*names, "vocab_size")]
    return Config(*sizes, float(found["rms_norm_eps"]), float(found["rope_theta"]))


def read_safetensors(path: Path) -> dict[str, np.ndarray]:
    """The tensors of a file: 8 bytes with the length of a JSON header, the header, and then all data."""
    data = path.read_bytes()
    start = 8 + int.from_bytes(data[:8], "little")
    header = json.loads(data[8:start])
    header.pop("__metadata__", None)
    return {name: _tensor(entry, data[start:]) for name, entry in header.items()}


def _tensor(entry: dict, data: bytes) -> np.ndarray:
    first, end = entry["data_offsets"]
    values = np.frombuffer(data[first:end], DTYPES[entry["dtype"]])
    return values.reshape(entry["shape"]).astype(np.float32)


class Prefill:
    """Adds nodes one after another; methods return the name of the tensor they make."""

    def __init__(self, config: Config, weights: dict[str, np.ndarray], tokens: int) -> None:
        self.config, self.weights, self.tokens = config, weights, tokens
        self.nodes: list[onnx.NodeProto] = []
        self.constants: dict[str, np.ndarray] = {}
        angles = np.outer(np.arange(tokens), config.theta ** -(np.arange(0, config.head, 2) / config.head))
        self.cosine = self.constant("cosine", np.cos(np.concatenate([angles, angles], 1)))
        self.sine = self.constant("sine", np.sin(np.concatenate([angles, angles], 1)))
        self.mask = self.constant("mask", np.triu(np.full((tokens, tokens), MASKED), 1))

    def logits(self, ids: str) -> str:
        x = self.add("Gather", "embedded", self.constant("embedding", self.weights["model.embed_tokens.weight"]), ids)
        for number in range(self.config.layers):
            x = self.layer(f"layer{number}", f"model.layers.{number}", x)
        head = self.weights.get("lm_head.weight", self.weights["model.embed_tokens.weight"])
        x = self.norm("norm", "model.norm", x)
        return self.add("MatMul", "logits", x, self.constant("head.weight", head.T))

    def layer(self, name: str, source: str, x: str) -> str:
        y = self.norm(f"{name}.norm1", f"{source}.input_layernorm", x)
        x = self.add("Add", f"{name}.attended", x, self.attention(f"{name}.attention", f"{source}.self_attn", y))
        y = self.norm(f"{name}.norm2", f"{source}.post_attention_layernorm", x)
        return self.add("Add", f"{name}.out", x, self.feed_forward(f"{name}.ffn", f"{source}.mlp", y))

    def norm(self, name: str, source: str, x: str) -> str:
        squares = self.add("Pow", f"{name}.squares", x, self.constant("two", np.array(2.0)))
        mean = self.add("ReduceMean", f"{name}.mean", squares, self.integers("last", [-1]))
        padded = self.add("Add", f"{name}.padded", mean, self.constant("epsilon", np.array(self.config.epsilon)))
        inverse = self.add("Reciprocal", f"{name}.inverse", self.add("Sqrt", f"{name}.root", padded))
        scaled = self.add("Mul", f"{name}.scaled", x, inverse)
        return self.add("Mul", name, scaled, self.constant(f"{name}.weight", self.weights[f"{source}.weight"]))

    def attention(self, name: str, source: str, x: str) -> str:
        heads, groups = self.config.heads, self.config.groups
        query = self.rotated(f"{name}.query", self.heads_first(f"{name}.query", f"{source}.q_proj", x, heads))
        key = self.rotated(f"{name}.key", self.heads_first(f"{name}.key", f"{source}.k_proj", x, groups))
        value = self.heads_first(f"{name}.value", f"{source}.v_proj", x, groups)
        key, value = self.for_all_heads(f"{name}.keys", key), self.for_all_heads(f"{name}.values", value)
        turned = self.add("Transpose", f"{name}.keys.turned", key, perm=[0, 1, 3, 2])
        scale = self.constant("scale", np.array(self.config.head**-0.5))
        scores = self.add("Mul", f"{name}.scores", self.add("MatMul", f"{name}.products", query, turned), scale)
        masked = self.add("Add", f"{name}.masked", scores, self.mask)
        shares = self.add("Softmax", f"{name}.shares", masked, axis=-1)
        mixed = self.add("MatMul", f"{name}.mixed", shares, value)
        tokens_first = self.add("Transpose", f"{name}.tokens_first", mixed, perm=[0, 2, 1, 3])
        joined = self.reshape(f"{name}.joined", tokens_first, self.tokens, self.config.width)
        return self.linear(f"{name}.output", f"{source}.o_proj", joined)

    def heads_first(self, name: str, source: str, x: str, heads: int) -> str:
        """A projection, in heads."""
        split = self.reshape(f"{name}.heads", self.linear(name, source, x), self.tokens, heads, self.config.head)
        return self.add("Transpose", f"{name}.heads_first", split, perm=[0, 2, 1, 3])

    def rotated(self, name: str, x: str) -> str:
        """Each pair of a head's elements, half a head apart, turned by an angle of its own times the position."""
        half = self.config.head // 2
        first, second = self.sliced(f"{name}.first", x, 0, half), self.sliced(f"{name}.second", x, half, 2 * half)
        negated = self.add("Neg", f"{name}.negated", second)
        swapped = self.add("Concat", f"{name}.swapped", negated, first, axis=-1)
        straight = self.add("Mul", f"{name}.straight", x, self.cosine)
        return self.add("Add", f"{name}.rotated", straight, self.add("Mul", f"{name}.across", swapped, self.sine))

    def sliced(self, name: str, x: str, start: int, end: int) -> str:
        bounds = [self.integers(f"index{value}", [value]) for value in (start, end, 3)]
        return self.add("Slice", name, x, *bounds)

    def for_all_heads(self, name: str, x: str) -> str:
        """Each head of keys or values once for every head of queries that it belongs to."""
        heads, groups, head = self.config.heads, self.config.groups, self.config.head
        if heads == groups:
            return x
        apart = self.add("Unsqueeze", f"{name}.apart", x, self.integers("index2", [2]))
        shape = self.integers("grouped", [1, groups, heads // groups, self.tokens, head])
        return self.reshape(name, self.add("Expand", f"{name}.repeated", apart, shape), heads, self.tokens, head)

    def feed_forward(self, name: str, source: str, x: str) -> str:
        gate = self.linear(f"{name}.gate", f"{source}.gate_proj", x)
        swish = self.add("Mul", f"{name}.swish", gate, self.add("Sigmoid", f"{name}.sigmoid", gate))
        gated = self.add("Mul", f"{name}.gated", swish, self.linear(f"{name}.up", f"{source}.up_proj", x))
        return self.linear(f"{name}.down", f"{source}.down_proj", gated)

    def linear(self, name: str, source: str, x: str) -> str:
        weight = self.constant(f"{name}.weight", self.weights[f"{source}.weight"].T)
        return self.add("MatMul", name, x, weight)

    def reshape(self, name: str, x: str, *sizes: int) -> str:
        return self.add("Reshape", name, x, self.integers(f"shape{'x'.join(map(str, sizes))}", [1, *sizes]))

    def integers(self, name: str, values: list[int]) -> str:
        self.constants[name] = np.array(values, np.int64)
        return name

    def constant(self, name: str, value: np.ndarray) -> str:
        self.constants[name] = np.ascontiguousarray(value, np.float32)
        return name

    def add(self, kind: str, name: str, *inputs: str, **attributes: object) -> str:
        self.nodes.append(helper.make_node(kind, inputs, [name], name, **attributes))
        return name


def build(folder: Path, tokens: int) -> onnx.ModelProto:
    config = read_config(folder)
    prefill = Prefill(config, read_safetensors(folder / "model.safetensors"), tokens)
    logits = prefill.logits("ids")
    inputs = [helper.make_tensor_value_info("ids", TensorProto.INT64, (1, tokens))]
    outputs = [helper.make_tensor_value_info(logits, TensorProto.FLOAT, (1, tokens, config.words))]
    constants = [numpy_helper.from_array(value, name) for name, value in prefill.constants.items()]
    graph = helper.make_graph(prefill.nodes, "prefill", inputs, outputs, constants)
    return helper.make_model(graph, opset_imports=[helper.make_opsetid("", OPSET)], ir_version=10)


if __name__ == "__main__":
    if len(sys.argv) < 3:
        sys.exit(__doc__)
    onnx.save(build(Path(sys.argv[1]), int(sys.argv[3]) if len(sys.argv) > 3 else 64), sys.argv[2])
    print(f"wrote {sys.argv[2]}")
