"""Architectures of GGUF files: what their names say of a network that no key does, and how tensors are called."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import field

from tilewright.records import dataclass

NAMES = {
    "embedding": "token_embd", "position_embedding": "position_embd", "norm": "output_norm", "head": "output",
    "norm1": "attn_norm", "norm2": "ffn_norm", "norm1.after": "post_attention_norm", "norm2.after": "post_ffw_norm",
    "attention.query": "attn_q", "attention.key": "attn_k", "attention.value": "attn_v",
    "attention.output": "attn_output", "attention.query.norm": "attn_q_norm", "attention.key.norm": "attn_k_norm",
    "ffn.gate": "ffn_gate", "ffn.up": "ffn_up", "ffn.down": "ffn_down",
}  # fmt: skip
QKV = ("attention.query", "attention.key", "attention.value")
JOINED: Mapping[str, tuple[str, ...]] = {"attn_qkv": QKV}
"""Parts that files may have in one tensor, one behind another."""
GATED = {"ffn_up": ("ffn.gate", "ffn.up")}
FALCON = {"norm1": "attn_norm_2", "norm2": "attn_norm"}
"""Names where attention and feed-forward have a norm each; with one norm it is attn_norm."""
FREQUENCIES = "rope_freqs.weight"
SHORT = ("rope_factors_short.weight", "rope_factors_long.weight")
"""Tensors by which the angles of pairs are divided; of those for longer contexts nothing is read."""


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
    together: Mapping[str, tuple[str, ...]] = field(default_factory=dict)
    """Tensors of several parts in files that we write."""
    frequencies: tuple[str, ...] = ()
    """Names of divisors of angles in files that we write: others do not know them."""
    two_norms: Mapping[str, str] = field(default_factory=dict)
    """Names of norms in files where a layer has two."""
    scales_words: bool = False
    """Whether embeddings are multiplied with the root of their size."""
    post_norms: bool = False
    local: tuple[bool, ...] = (True,)
    """Which layers have the window, again and again."""
    local_theta: float = 0.0
    """The base of angles in these layers, if another."""
    unturned: tuple[bool, ...] = (False,)
    caps: tuple[float, float] | None = None
    """Of scores and of logits where no key says them; None: there are none."""
    wide_scores: int = 0
    """A model with this number of layers divides scores by the root of width / heads."""


ARCHITECTURES = {
    "llama": Architecture("Llama", turns_neighbours=True, frequencies=(FREQUENCIES,)),
    "qwen2": Architecture("Qwen2"),
    "qwen3": Architecture("Qwen3"),
    "gpt2": Architecture("GPT-2", "layer", "gelu_tanh", gated=False, turns=False, together=JOINED),
    "gptneox": Architecture("GPT-NeoX", "layer", "gelu", gated=False, parallel=None, together=JOINED),
    "phi2": Architecture("Phi", "layer", "gelu_tanh", gated=False, parallel=True, one_norm=True),
    "phi3": Architecture("Phi-3", together={**JOINED, **GATED}, frequencies=SHORT),
    "stablelm": Architecture("StableLM", "layer", parallel=None),
    "smollm3": Architecture("SmolLM3", turns_neighbours=True, unturned=(False, False, False, True)),
    "falcon": Architecture(
        "Falcon", "layer", "gelu", gated=False, parallel=True, one_norm=True, together=JOINED, two_norms=FALCON
    ),
    "gemma": Architecture("Gemma", activation="gelu_tanh", scales_words=True),
    "gemma2": Architecture(
        "Gemma 2", activation="gelu_tanh", scales_words=True, post_norms=True, local=(True, False), caps=(50.0, 30.0),
        wide_scores=46,
    ),
    "gemma3": Architecture(
        "Gemma 3", activation="gelu_tanh", scales_words=True, post_norms=True, local=(*(True,) * 5, False),
        local_theta=10000.0, caps=(0.0, 0.0), wide_scores=62,
    ),
}  # fmt: skip
"""By the names that files give them."""
