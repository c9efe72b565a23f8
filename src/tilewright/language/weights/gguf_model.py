"""A decoder as a GGUF file has it: keys that say its sizes, and its weights by the names and in the order of files."""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace

import numpy as np

from tilewright.errors import CompileError
from tilewright.frontends.checkpoint.config import Config, Rotary, shapes
from tilewright.frontends.checkpoint.gguf import ARCHITECTURE, MOST_LAYERS, TRAINED, parts_of
from tilewright.frontends.checkpoint.gguf_architectures import ARCHITECTURES, NAMES, QKV, Architecture
from tilewright.frontends.checkpoint.rotation import frequencies, neighbours_from_halves, part_from_halves
from tilewright.ir.types import Array, Shape
from tilewright.language.weights.gguf_writer import Key
from tilewright.records import dataclass

OTHER_NAMES = {"Mistral": "llama"}
"""Families that files have no architecture of their own for."""


@dataclass(frozen=True)
class Tensor:
    """One of a file: the weights in it, one behind another."""

    name: str
    weights: tuple[str, ...]
    shape: Shape


@dataclass(frozen=True)
class GgufModel:
    config: Config
    name: str
    """Of the architecture."""

    @classmethod
    def of(cls, config: Config, where: str) -> GgufModel:
        known = {one.family: name for name, one in ARCHITECTURES.items()} | OTHER_NAMES
        if config.family not in known:
            what = f"files in GGUF have no architecture for a {config.family}"
            raise CompileError(where, what, f"supported: {', '.join(sorted(known))}")
        return cls(config, known[config.family])

    @property
    def architecture(self) -> Architecture:
        return ARCHITECTURES[self.name]

    # ---- keys -------------------------------------------------------------------------------------------------------

    def keys(self) -> dict[str, Key]:
        """Of the network, without those of its tokenizer."""
        config, kind = self.config, self.architecture
        epsilon = "layer_norm_rms_epsilon" if kind.norm == "rms" else "layer_norm_epsilon"
        found: dict[str, Key] = {
            "context_length": config.context, "embedding_length": config.width, "block_count": config.layers,
            "feed_forward_length": config.hidden, "attention.head_count": config.heads,
            "attention.head_count_kv": config.kv_heads, f"attention.{epsilon}": float(config.epsilon),
            "vocab_size": config.words,
        }  # fmt: skip
        if config.head * config.heads != config.width:
            found |= {"attention.key_length": config.head, "attention.value_length": config.head}
        if kind.parallel is None:
            found["use_parallel_residual"] = config.parallel
        if config.window is not None:
            found["attention.sliding_window"] = config.window
        if kind.caps is not None:
            caps = {"attn_logit_softcapping": config.attention_cap, "final_logit_softcapping": config.logit_cap}
            found |= {key: cap for key, cap in caps.items() if cap}
        if kind.local_theta and config.local_rotary is not None:
            found["rope.freq_base_swa"] = float(config.local_rotary.theta)
        found |= {} if config.rotary is None else self._angles(config.rotary)
        return {ARCHITECTURE: self.name, **{f"{self.name}.{key}": value for key, value in found.items()}}

    def _angles(self, rotary: Rotary) -> dict[str, Key]:
        found: dict[str, Key] = {
            "rope.dimension_count": rotary.turned or self.config.head, "rope.freq_base": float(rotary.theta),
        }  # fmt: skip
        if rotary.scaling == "linear":
            found |= {"rope.scaling.type": "linear", "rope.scaling.factor": float(rotary.factor)}
        if rotary.amplitude != 1.0:
            found["rope.scaling.attn_factor"] = float(rotary.amplitude)
        if rotary.divisors and rotary.trained:
            found[TRAINED] = rotary.trained
        return found

    # ---- tensors ----------------------------------------------------------------------------------------------------

    def tensors(self) -> Iterator[Tensor]:
        found, names = dict(shapes(self.config)), self._names
        for name, shape in found.items():
            layer, part, kind = parts_of(name)
            together = next((one for one in self.architecture.together.items() if part in one[1]), None)
            if together is None:
                yield Tensor(f"{layer}{names[part]}.{kind}", (name,), shape)
            elif part == together[1][0]:
                weights = tuple(name.replace(part, one) for one in together[1])
                rows = sum(found[one][0] for one in weights)
                yield Tensor(f"{layer}{together[0]}.{kind}", weights, (rows, *shape[1:]))

    @property
    def _names(self) -> Mapping[str, str]:
        return NAMES if self.config.one_norm else NAMES | dict(self.architecture.two_norms)

    def ordered(self, name: str, rows: Array) -> Array:
        """Rows of a weight, of numbers or of bytes, in the order that files have them."""
        part, rotary = parts_of(name)[1], self.config.rotary
        if rotary is None or part not in QKV[:2]:
            return rows
        if self.architecture.turns_neighbours:
            return neighbours_from_halves(rows, self.config.head)
        return part_from_halves(rows, rotary, self.config.head) if rotary.turned else rows

    def divisors(self) -> Mapping[str, Array]:
        """Of the angles of pairs, where they are not in keys."""
        rotary = self.config.rotary
        if rotary is None or not (rotary.scaling == "llama3" or rotary.divisors):
            return {}
        turned = rotary.turned or self.config.head
        plain = frequencies(Rotary(rotary.theta), turned)
        found = np.asarray(plain / frequencies(replace(rotary, turned=0), turned), np.float32)
        return dict.fromkeys(self.architecture.frequencies, found)


def differences(wanted: Config, found: Config) -> Sequence[str]:
    """What a file does not say of a network: names of parts in which the one that was read differs."""
    first, second = (_plain(one) for one in (wanted, found))
    names = [name for name in vars(wanted) if getattr(first, name) != getattr(second, name)]
    return names if _same_angles(wanted, found) else [*names, "rotary"]


def _plain(config: Config) -> Config:
    """Numbers as files round them, layers one by one, and nothing of tokens and names."""
    layers = range(min(config.layers, MOST_LAYERS))
    unturned = tuple(config.unturned[one % len(config.unturned)] for one in layers)
    local = tuple(config.window is not None and config.window_of(one) is not None for one in layers)
    return replace(
        config, family="", rotary=None, begin=None, ends=(), epsilon=float(np.float32(config.epsilon)), local=local,
        score_scale=round(config.scale, 6), unturned=unturned,
        attention_cap=float(np.float32(config.attention_cap)), logit_cap=float(np.float32(config.logit_cap)),
        local_rotary=config.local_rotary and replace(config.local_rotary, theta=round(config.local_rotary.theta, 3)),
    )  # fmt: skip


def _same_angles(first: Config, second: Config) -> bool:
    if first.rotary is None or second.rotary is None:
        return first.rotary is second.rotary
    angles, others = (frequencies(one, first.head) for one in (first.rotary, second.rotary))
    is_as_long = math.isclose(first.rotary.amplitude, second.rotary.amplitude, rel_tol=1e-6)
    return is_as_long and np.allclose(angles, others, rtol=1e-5, atol=0)
