"""Decoders in GGUF: which network the keys of a file call for, and its weights under our names.

Matrices are [outputs, inputs] there as well, whatever the family. Files of the architecture `llama` turn neighbours
together; all our graphs turn what is half a head apart.
"""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import dataclass, replace
from pathlib import Path

import numpy as np

from tilewright.errors import CompileError, raise_all
from tilewright.frontends.checkpoint.config import FEED_FORWARD, PROJECTIONS, Checkpoint, Config, Rotary, shapes
from tilewright.frontends.checkpoint.gguf_file import GgufFile, read_gguf
from tilewright.frontends.checkpoint.options import Options
from tilewright.frontends.checkpoint.rotation import halves_from_neighbours, halves_from_part
from tilewright.ir.types import Array, Shape

SUFFIX = ".gguf"
ARCHITECTURE = "general.architecture"
MOST_ERRORS = 8
"""Shown at once."""
FREQUENCIES = "rope_freqs.weight"
"""By which the angles of pairs are divided, in files of models with angles of that kind."""
SCALINGS = {"none": "", "linear": "linear"}
IGNORED = frozenset({
    "vocab_size", "rope.scaling.original_context_length", "rope.scaling.finetuned", "attention.causal",
    "tensor_data_layout",
})  # fmt: skip
"""Keys that change nothing of what the network computes."""

NAMES = {
    "embedding": "token_embd", "position_embedding": "position_embd", "norm": "output_norm", "head": "output",
    "norm1": "attn_norm", "norm2": "ffn_norm", "attention.query": "attn_q", "attention.key": "attn_k",
    "attention.value": "attn_v", "attention.output": "attn_output", "attention.query.norm": "attn_q_norm",
    "attention.key.norm": "attn_k_norm", "ffn.gate": "ffn_gate", "ffn.up": "ffn_up", "ffn.down": "ffn_down",
}  # fmt: skip
JOINED, TOGETHER = "attn_qkv", ("attention.query", "attention.key", "attention.value")
"""Three parts that some files have in one tensor, one behind another."""


@dataclass(frozen=True)
class Architecture:
    family: str
    norm: str = "rms"
    activation: str = "silu"
    gated: bool = True
    turns: bool = True
    """Whether positions turn queries and keys; else a row is learned for each."""
    turns_neighbours: bool = False
    parallel: bool | None = False
    """Whether attention and feed-forward read the same stream; None: the file says so."""
    one_norm: bool = False


ARCHITECTURES = {
    "llama": Architecture("Llama", turns_neighbours=True),
    "qwen2": Architecture("Qwen2"),
    "qwen3": Architecture("Qwen3"),
    "gpt2": Architecture("GPT-2", "layer", "gelu_tanh", gated=False, turns=False),
    "gptneox": Architecture("GPT-NeoX", "layer", "gelu", gated=False, parallel=None),
    "phi2": Architecture("Phi", "layer", "gelu_tanh", gated=False, parallel=True, one_norm=True),
    "stablelm": Architecture("StableLM", "layer", parallel=None),
}
"""By the names that files give them."""


def read_gguf_decoder(path: Path) -> Checkpoint:
    file = read_gguf(path)
    name = str(file.keys.get(ARCHITECTURE))
    found = ARCHITECTURES.get(name)
    if found is None:
        what = f"{ARCHITECTURE} {name[:80]!r} is not supported"
        raise CompileError(file.where, what, f"supported: {', '.join(ARCHITECTURES)}")
    config = _Keys(file, name, found).config()
    config.check(file.where)
    return Checkpoint(config, _Weights(file, config, found).all())


# ---- keys ---------------------------------------------------------------------------------------------------------


class _Keys:
    """What a file says of the network."""

    def __init__(self, file: GgufFile, name: str, architecture: Architecture) -> None:
        self.file, self.architecture = file, architecture
        prefix = f"{name}."
        own = {key.removeprefix(prefix): value for key, value in file.keys.items() if key.startswith(prefix)}
        said = {key: value for key, value in own.items() if key not in IGNORED}
        self.options = Options(f"{file.where}: {name}", said)

    def config(self) -> Config:
        options, kind = self.options, self.architecture
        width, heads, layers = (
            options.size(key) for key in ("embedding_length", "attention.head_count", "block_count")
        )
        head, context, hidden = (
            self._head(width, heads),
            options.size("context_length"),
            options.size("feed_forward_length"),
        )
        epsilon = "attention.layer_norm_rms_epsilon" if kind.norm == "rms" else "attention.layer_norm_epsilon"
        parallel = options.flag("use_parallel_residual", True) if kind.parallel is None else kind.parallel
        begin, ends = self._tokens()
        found = Config(
            kind.family, width, hidden, layers, heads, options.size("attention.head_count_kv", heads), head,
            self._words(), context, options.number(epsilon), norm=kind.norm, rotary=self._rotary(head),
            activation=kind.activation, gated=kind.gated, biases=frozenset(self._biases()),
            qk_norm=self._has("blk.0.attn_q_norm.weight") and not kind.turns_neighbours, parallel=parallel,
            one_norm=kind.one_norm, tied=not self._has("output.weight"), window=self._window(context), begin=begin,
            ends=ends,
        )  # fmt: skip
        options.finish()
        return found

    def _has(self, tensor: str) -> bool:
        return tensor in self.file.tensors

    def _head(self, width: int, heads: int) -> int:
        options = self.options
        head = options.size("attention.key_length", max(width // heads, 1))
        values = options.size("attention.value_length", head)
        options.check(values == head, f"heads of keys have {head} elements, those of values {values}",
                      "supported are heads of one size")  # fmt: skip
        return head

    def _words(self) -> int:
        found = self.file.tensors.get("token_embd.weight")
        self.options.check(found is not None and len(found.shape) == 2, "the file has no matrix token_embd.weight")
        words = found.shape[0] if found is not None else 0
        listed = self.file.keys.get("tokenizer.ggml.tokens")
        if isinstance(listed, list) and len(listed) > words:
            what = f"the vocabulary has {len(listed)} tokens, but token_embd.weight {words} rows"
            raise CompileError(self.file.where, what, "the two are not of one model: get the file again")
        return words

    def _biases(self) -> Iterator[str]:
        joined = self._has(f"blk.0.{JOINED}.bias")
        for part in PROJECTIONS:
            if self._has(f"blk.0.{NAMES[f'attention.{part}']}.bias") or (joined and f"attention.{part}" in TOGETHER):
                yield part
        yield from (part for part in FEED_FORWARD if self._has(f"blk.0.{NAMES[f'ffn.{part}']}.bias"))
        if self._has("output.bias"):
            yield "head"

    def _rotary(self, head: int) -> Rotary | None:
        if not self.architecture.turns:
            return None
        options = self.options
        theta, turned = options.number("rope.freq_base", Rotary.theta), options.size("rope.dimension_count", head)
        kind = options.choice("rope.scaling.type", SCALINGS, "none")
        factor = options.number("rope.scaling.factor", 1.0)
        found = Rotary(theta, kind, factor if kind else 1.0, turned=0 if turned == head else turned)
        if not self._has(FREQUENCIES):
            return found
        divisors = tuple(self.file.tensor(FREQUENCIES).reshape(-1).tolist())
        wrong = len(divisors) != turned // 2 or not all(0 < one < math.inf for one in divisors)
        options.check(
            not wrong, f"{FREQUENCIES} has {len(divisors)} values, where {turned // 2} positive ones are needed"
        )
        return replace(found, divisors=divisors)

    def _window(self, context: int) -> int | None:
        if not self.options.has("attention.sliding_window"):
            return None
        window = self.options.size("attention.sliding_window")
        return window if window < context else None

    def _tokens(self) -> tuple[int | None, tuple[int, ...]]:
        """The token that texts begin with, and those that they end with."""
        prefix = "tokenizer.ggml."
        told = Options(self.file.where, {key: value for key, value in self.file.keys.items() if key.startswith(prefix)})
        begin = next(iter(told.tokens(f"{prefix}bos_token_id")), None)
        return begin, tuple(
            dict.fromkeys(one for key in ("eos", "eot") for one in told.tokens(f"{prefix}{key}_token_id"))
        )


# ---- weights ------------------------------------------------------------------------------------------------------


class _Weights:
    """The tensors of a file, by our names."""

    def __init__(self, file: GgufFile, config: Config, architecture: Architecture) -> None:
        self.file, self.config, self.architecture = file, config, architecture
        self.read = {FREQUENCIES}
        self.errors: list[CompileError] = []

    def all(self) -> dict[str, Array]:
        found = dict[str, Array]()
        for name, shape in shapes(self.config):
            value = self._weight(name, shape)
            if value is not None:
                found[name] = self._ordered(name, value)
            if len(self.errors) >= MOST_ERRORS:
                break
        raise_all(self.errors)
        others = sorted(name for name in self.file.tensors if name not in self.read)
        if others:
            what = f"{len(others)} tensors have no place in the network: {', '.join(others[:MOST_ERRORS])}"
            raise CompileError(self.file.where, what, "its architecture has parts that are not supported")
        return found

    def _weight(self, name: str, shape: Shape) -> Array | None:
        layer, part, kind = _parts(name)
        source = f"{layer}{NAMES[part]}.{kind}"
        joined = f"{layer}{JOINED}.{kind}"
        if source in self.file.tensors or part not in TOGETHER or joined not in self.file.tensors:
            return self._tensor(source, shape)
        rows = [
            (self.config.heads if one == TOGETHER[0] else self.config.kv_heads) * self.config.head for one in TOGETHER
        ]
        first = sum(rows[: TOGETHER.index(part)])
        whole = self._tensor(joined, (sum(rows), *shape[1:]))
        return None if whole is None else np.ascontiguousarray(whole[first : first + shape[0]])

    def _tensor(self, source: str, shape: Shape) -> Array | None:
        """What is wrong is noted once."""
        found, known = self.file.tensors.get(source), source in self.read
        self.read.add(source)
        where = f"{self.file.where}, tensor '{source}'"
        if found is None or found.shape != shape:
            what = (
                "is not there" if found is None else f"has shape {_shown(found.shape)}, where {_shown(shape)} is needed"
            )
            if not known:
                self.errors.append(CompileError(where, what, "by the keys of the file it is: get the file again"))
            return None
        value = self.file.tensor(source)
        if not known and not np.all(np.isfinite(value)):
            self.errors.append(CompileError(where, "has values that are not finite", "get the file again"))
        return value

    def _ordered(self, name: str, value: Array) -> Array:
        """Rows of queries and keys with those half a head apart that are turned together."""
        part, rotary = _parts(name)[1], self.config.rotary
        if rotary is None or part not in TOGETHER[:2]:
            return value
        if self.architecture.turns_neighbours:
            return halves_from_neighbours(value.reshape(len(value), -1), self.config.head).reshape(value.shape)
        return halves_from_part(value, rotary, self.config.head) if rotary.turned else value


def _parts(name: str) -> tuple[str, str, str]:
    """What is in front of the names of a layer's tensors, which part it is, and which of its tensors."""
    first, _, rest = name.partition(".")
    inside = first.startswith("layer")
    part, _, kind = (rest if inside else name).rpartition(".")
    return f"blk.{first.removeprefix('layer')}." if inside else "", part, kind


def _shown(shape: Shape) -> str:
    return "x".join(map(str, shape)) or "scalar"
