"""The families of Gemma: scaled embeddings, norms by 1 + w, from the second on local layers and norms on both sides."""

from __future__ import annotations

import math
from dataclasses import replace

from tilewright.frontends.checkpoint.config import PROJECTIONS, Config, Rotary
from tilewright.frontends.checkpoint.families import (
    ACTIVATIONS,
    LAYER_TYPES,
    LLAMA_NAMES,
    Family,
    begin,
    layer_types,
    shorter,
)
from tilewright.frontends.checkpoint.options import Options
from tilewright.frontends.checkpoint.rope_options import read_rotary, scaled

TANH = "gelu_pytorch_tanh"
GLOBAL, LOCAL = 1_000_000.0, 10_000.0
"""Bases of the angles of Gemma 3 where nothing is said."""


def _sizes(options: Options, family: str, activation: str) -> Config:
    options.fixed("use_bidirectional_attention", False)
    width, heads, context = (
        options.size(key) for key in ("hidden_size", "num_attention_heads", "max_position_embeddings")
    )
    head = options.size("head_dim", 256)
    return Config(
        family, width, options.size("intermediate_size"), options.size("num_hidden_layers"), heads,
        options.size("num_key_value_heads"), head, options.size("vocab_size"), context, options.number("rms_norm_eps"),
        rotary=None, activation=activation, embedding_scale=math.sqrt(width),
        biases=frozenset(PROJECTIONS if options.flag("attention_bias", False) else ()),
        tied=options.flag("tie_word_embeddings", True), begin=begin(options), ends=options.tokens("eos_token_id"),
    )  # fmt: skip


def _gemma(options: Options) -> Config:
    """The first files say gelu and mean its approximation; `hidden_activation` goes before that."""
    said = options.choice("hidden_act", ACTIVATIONS, TANH)
    said = options.choice("hidden_activation", ACTIVATIONS, TANH) if options.has("hidden_activation") else said
    found = _sizes(options, "Gemma", "gelu_tanh" if said == "gelu" else said)
    return replace(found, rotary=read_rotary(options, found.head))


def _gemma2(options: Options) -> Config:
    found = _both_sides(options, "Gemma 2", 4096, layer_types(options) or (True, False))
    caps = [_cap(options, key, usual) for key, usual in (("attn", 50.0), ("final", 30.0))]
    return replace(found, rotary=read_rotary(options, found.head), attention_cap=caps[0], logit_cap=caps[1])


def _gemma3(options: Options) -> Config:
    every = options.size("sliding_window_pattern", options.size("_sliding_window_pattern", 6))
    options.check(every <= 4096, f"sliding_window_pattern {every} is more than layers that are told apart")
    local = layer_types(options) or (*(True,) * (every - 1), False)
    found = _both_sides(options, "Gemma 3", 4096, local)
    caps = [_cap(options, key, 0.0) for key in ("attn", "final")]
    angles = _two_angles(options, found.head)
    return replace(
        found, rotary=angles[0], local_rotary=angles[1], qk_norm=True, attention_cap=caps[0], logit_cap=caps[1]
    )


def _both_sides(options: Options, family: str, window: int, local: tuple[bool, ...]) -> Config:
    found = _sizes(options, family, options.choice("hidden_activation", ACTIVATIONS, TANH))
    if options.has("hidden_act"):
        options.choice("hidden_act", ACTIVATIONS, TANH)
    scale = options.number("query_pre_attn_scalar", 256.0) ** -0.5
    size = options.size("sliding_window", window)
    return replace(found, post_norms=True, score_scale=scale, window=shorter(size, found.context), local=local)


def _cap(options: Options, which: str, usual: float) -> float:
    """null is none."""
    key = f"{which}_logit_softcapping"
    if key in options.found and not options.has(key):
        return 0.0
    return options.number(key) if options.has(key) else usual


def _two_angles(options: Options, head: int) -> tuple[Rotary, Rotary]:
    """Those of layers that see all, and of local ones: newer files have an object for each kind."""
    given = options.inner("rope_parameters")
    if not any(given.has(kind) for kind in LAYER_TYPES):
        theta = options.number("rope_local_base_freq", LOCAL)
        return read_rotary(options, head, theta=GLOBAL), Rotary(theta)
    both = []
    for kind, theta in zip(LAYER_TYPES, (GLOBAL, LOCAL), strict=True):
        own = given.inner(kind)
        both.append(scaled(options, own, Rotary(own.number("rope_theta", theta)), head))
    given.finish()
    return both[0], both[1]


OUTSIDE = {"norm1.after": "post_attention_layernorm", "norm2": "pre_feedforward_layernorm",
           "norm2.after": "post_feedforward_layernorm"}  # fmt: skip
IGNORED = ("rotary_emb.inv_freq",)
GEMMA = Family(_gemma, LLAMA_NAMES, "model.layers", ignored=IGNORED, norm_offset=1.0)
GEMMA2 = Family(_gemma2, LLAMA_NAMES | OUTSIDE, "model.layers", ignored=IGNORED, norm_offset=1.0)
GEMMA3 = Family(_gemma3, LLAMA_NAMES | OUTSIDE, "model.layers", ignored=IGNORED, norm_offset=1.0)
