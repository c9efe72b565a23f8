"""Decoders in GGUF: which network the keys of a file call for, and its weights under our names.

Matrices are [outputs, inputs] there as well, whatever the family. Files of the architecture `llama` turn neighbours
together; all our graphs turn what is half a head apart.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping
from dataclasses import replace
from pathlib import Path

from tilewright.errors import CompileError, raise_all
from tilewright.frontends.checkpoint.config import (
    FEED_FORWARD,
    MOST_ERRORS,
    PROJECTIONS,
    Checkpoint,
    Config,
    Rotary,
    Weight,
    by_rows,
    shapes,
    shown,
)
from tilewright.frontends.checkpoint.gguf_architectures import (
    ARCHITECTURES,
    FREQUENCIES,
    JOINED,
    NAMES,
    QKV,
    SHORT,
    Architecture,
)
from tilewright.frontends.checkpoint.gguf_blocks import FORMATS
from tilewright.frontends.checkpoint.gguf_file import GgufFile, read_gguf
from tilewright.frontends.checkpoint.options import Options
from tilewright.frontends.checkpoint.rope_options import yarn
from tilewright.frontends.checkpoint.rotation import halves_from_neighbours, halves_from_part
from tilewright.ir.types import Shape

SUFFIX = ".gguf"
ARCHITECTURE = "general.architecture"
SCALINGS = {"none": "", "linear": "linear", "yarn": "yarn", "longrope": ""}
TRAINED = "rope.scaling.original_context_length"
MOST_LAYERS = 4096
"""That are told apart."""
PLAIN = frozenset({"position_embd.weight"})
"""Matrices that are added, not multiplied."""
IGNORED = frozenset({
    "vocab_size", "rope.scaling.finetuned", "attention.causal",
    "tensor_data_layout",
})  # fmt: skip
"""Keys that change nothing of what the network computes."""


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
        rotary, one_norm = self._rotary(head), kind.one_norm and not self._has_two_norms()
        found = Config(
            kind.family, width, hidden, layers, heads, options.size("attention.head_count_kv", heads), head,
            self._words(), self._context(context), options.number(epsilon), norm=kind.norm, rotary=rotary,
            activation=kind.activation, gated=kind.gated, biases=frozenset(self._biases()),
            qk_norm=self._has("blk.0.attn_q_norm.weight") and not kind.turns_neighbours, parallel=parallel,
            one_norm=one_norm, tied=not self._has("output.weight"), window=self._window(context), local=self._local(),
            local_rotary=self._local_rotary(), unturned=kind.unturned, post_norms=kind.post_norms,
            embedding_scale=math.sqrt(width) if kind.scales_words else 1.0, begin=begin, ends=ends,
            score_scale=(width / heads) ** -0.5 if layers == kind.wide_scores else None,
        )  # fmt: skip
        if kind.caps is not None:
            keys = ("attn_logit_softcapping", "final_logit_softcapping")
            scores, logits = (
                options.number(key) if options.has(key) else usual for key, usual in zip(keys, kind.caps, strict=True)
            )
            found = replace(found, attention_cap=scores, logit_cap=logits)
        options.finish()
        return found

    def _context(self, said: int) -> int:
        """That for which there are angles: other ones for longer contexts are not read."""
        trained = self.options.size(TRAINED, said)
        return min(said, trained) if self._has(SHORT[0]) else said

    def _has_two_norms(self) -> bool:
        return any(self._has(f"blk.0.{name}.weight") for name in self.architecture.two_norms.values() if "_2" in name)

    def _local(self) -> tuple[bool, ...]:
        key = "attention.sliding_window_pattern"
        if not self.options.has(key):
            return self.architecture.local
        every = self.options.size(key)
        self.options.check(every <= MOST_LAYERS, f"{key} {every} is more than layers that are told apart")
        return (*(True,) * (every - 1), False)

    def _local_rotary(self) -> Rotary | None:
        usual = self.architecture.local_theta
        return Rotary(self.options.number("rope.freq_base_swa", usual)) if usual else None

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
        joined = self._has("blk.0.attn_qkv.bias")
        for part in PROJECTIONS:
            if self._has(f"blk.0.{NAMES[f'attention.{part}']}.bias") or (joined and f"attention.{part}" in QKV):
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
        longer = options.number("rope.scaling.attn_factor", 1.0)
        found = Rotary(theta, turned=0 if turned == head else turned)
        if kind == "linear":
            found = replace(found, scaling=kind, factor=factor)
        if kind == "yarn":
            found = self._yarn(found, turned, factor)
        return replace(self._divided(found, turned), amplitude=found.amplitude * longer)

    def _yarn(self, plain: Rotary, turned: int, factor: float) -> Rotary:
        options = self.options
        for key in ("yarn_ext_factor", "yarn_attn_factor"):
            options.fixed(f"rope.scaling.{key}", 1.0)
        fast, slow = (options.number(f"rope.scaling.yarn_beta_{key}", 32.0 if key == "fast" else 1.0)
                      for key in ("fast", "slow"))  # fmt: skip
        return yarn(plain, turned, factor, fast, slow, options.size(TRAINED, options.size("context_length")))

    def _divided(self, plain: Rotary, turned: int) -> Rotary:
        """With the divisors of a tensor, if there is one."""
        name = next((one for one in (FREQUENCIES, SHORT[0]) if self._has(one)), None)
        if name is None:
            return plain
        divisors = tuple(self.file.tensor(name).reshape(-1).tolist())
        wrong = len(divisors) != turned // 2 or not all(0 < one < math.inf for one in divisors)
        self.options.check(
            not wrong, f"{name} has {len(divisors)} values, where {turned // 2} positive ones are needed"
        )
        return replace(plain, divisors=divisors)

    def _window(self, context: int) -> int | None:
        if not self.options.has("attention.sliding_window"):
            return None
        if self.options.found["attention.sliding_window"] == 0:
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
        self.read = {FREQUENCIES, *SHORT}
        self.rows = {parts_of(name)[1]: shape[0] for name, shape in shapes(replace(config, layers=1))}
        self.errors: list[CompileError] = []

    def all(self) -> dict[str, Weight]:
        found = dict[str, Weight]()
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

    def _weight(self, name: str, shape: Shape) -> Weight | None:
        layer, part, kind = parts_of(name)
        source = f"{layer}{self._names[part]}.{kind}"
        for tensor, parts in {**JOINED, **self.architecture.together}.items():
            joined = f"{layer}{tensor}.{kind}"
            if (
                part in parts
                and joined in self.file.tensors
                and f"{layer}{NAMES[parts[0]]}.{kind}" not in self.file.tensors
            ):
                return self._of_several(joined, parts, part, shape)
        return self._tensor(source, shape)

    @property
    def _names(self) -> Mapping[str, str]:
        return NAMES if self.config.one_norm else NAMES | dict(self.architecture.two_norms)

    def _of_several(self, tensor: str, parts: tuple[str, ...], part: str, shape: Shape) -> Weight | None:
        """One of the parts that lie in a tensor one behind another."""
        first = sum(self.rows[one] for one in parts[: parts.index(part)])
        whole = self._tensor(tensor, (sum(self.rows[one] for one in parts), *shape[1:]))
        return None if whole is None else by_rows(whole, lambda rows: rows[first : first + shape[0]])

    def _tensor(self, source: str, shape: Shape) -> Weight | None:
        """Matrices as the file has them, all else as floats. What is wrong is noted once."""
        found, known = self.file.tensors.get(source), source in self.read
        self.read.add(source)
        where = f"{self.file.where}, tensor '{source}'"
        if found is None or found.shape != shape:
            what = (
                "is not there" if found is None else f"has shape {shown(found.shape)}, where {shown(shape)} is needed"
            )
            if not known:
                self.errors.append(CompileError(where, what, "by the keys of the file it is: get the file again"))
            return None
        if not known and not self.file.is_finite(source):
            self.errors.append(CompileError(where, "has values that are not finite", "get the file again"))
        is_plain = len(shape) != 2 or source in PLAIN or FORMATS[found.kind].name == "F32"
        return self.file.tensor(source) if is_plain else self.file.blocks(source)

    def _ordered(self, name: str, value: Weight) -> Weight:
        """Rows of queries and keys with those half a head apart that are turned together."""
        part, rotary, head = parts_of(name)[1], self.config.rotary, self.config.head
        if rotary is None or part not in QKV[:2]:
            return value
        if self.architecture.turns_neighbours:
            return by_rows(value, lambda rows: halves_from_neighbours(rows.reshape(len(rows), -1), head))
        return by_rows(value, lambda rows: halves_from_part(rows, rotary, head)) if rotary.turned else value


def parts_of(name: str) -> tuple[str, str, str]:
    """What is in front of the names of a layer's tensors, which part it is, and which of its tensors."""
    first, _, rest = name.partition(".")
    inside = first.startswith("layer")
    part, _, kind = (rest if inside else name).rpartition(".")
    return f"blk.{first.removeprefix('layer')}." if inside else "", part, kind
