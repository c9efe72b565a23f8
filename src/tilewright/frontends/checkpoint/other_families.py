"""Phi-3, SmolLM3, Falcon and OPT."""

from __future__ import annotations

from dataclasses import replace

from tilewright.frontends.checkpoint.config import PROJECTIONS, Config
from tilewright.frontends.checkpoint.families import (
    ACTIVATIONS,
    LLAMA_NAMES,
    QKV,
    TOGETHER,
    Family,
    begin,
    even_share,
    layer_types,
    like_llama,
)
from tilewright.frontends.checkpoint.options import Options
from tilewright.frontends.checkpoint.rope_options import TRAINED, read_rotary

# ---- Phi-3 --------------------------------------------------------------------------------------------------------


def _phi3(options: Options) -> Config:
    heads = options.size("num_attention_heads")
    groups = options.size("num_key_value_heads", heads)
    window = options.size("sliding_window") if options.has("sliding_window") else None
    options.has(TRAINED)
    found = like_llama(options, "Phi-3", frozenset(), groups, window=window, share=1.0)
    rotary = found.rotary
    # Longer contexts have other angles, for all of a text: those up to that of the first training are read.
    is_long = rotary is not None and rotary.divisors and rotary.trained
    return replace(found, context=min(found.context, rotary.trained)) if rotary and is_long else found


PHI3 = Family(
    _phi3,
    LLAMA_NAMES
    | dict.fromkeys(TOGETHER, "self_attn.qkv_proj")
    | dict.fromkeys(("ffn.gate", "ffn.up"), "mlp.gate_up_proj"),
    "model.layers",
    joined=(TOGETHER, ("ffn.gate", "ffn.up")),
    ignored=("rotary_emb.inv_freq",),
)


# ---- SmolLM3 ------------------------------------------------------------------------------------------------------


def _smollm3(options: Options) -> Config:
    biases = frozenset((*(PROJECTIONS if options.flag("attention_bias", False) else ()),
                        *(("gate", "up", "down") if options.flag("mlp_bias", False) else ())))  # fmt: skip
    unturned = _unturned(options)
    listed, is_local = layer_types(options), options.flag("use_sliding_window", False)
    window = options.size("sliding_window") if options.has("sliding_window") and (is_local or any(listed)) else None
    local = listed or (unturned if is_local else (False,))
    groups = options.size("num_key_value_heads", 4)
    found = like_llama(options, "SmolLM3", biases, groups, window=window if any(local) else None,
                       local=local if any(local) else (True,), tied=True, theta=2_000_000.0)  # fmt: skip
    return replace(found, unturned=unturned)


def _unturned(options: Options) -> tuple[bool, ...]:
    """Files say of each layer whether it is turned (1), or that the last of every few is not."""
    every, layers = options.size("no_rope_layer_interval", 4), options.size("num_hidden_layers")
    listed = options.sequence("no_rope_layers")
    options.check(len(listed) in (0, layers) and all(one in (0, 1) for one in listed),
                  f"no_rope_layers is no list of 0 or 1 for each of {layers} layers")  # fmt: skip
    options.check(every <= 4096, f"no_rope_layer_interval {every} is more than layers that are told apart")
    return tuple(not one for one in listed) or (*(False,) * (every - 1), True)


SMOLLM3 = Family(_smollm3, LLAMA_NAMES, "model.layers", ignored=("rotary_emb.inv_freq",))


# ---- Falcon -------------------------------------------------------------------------------------------------------


def _falcon(options: Options) -> Config:
    options.fixed("alibi", False)
    width, heads = options.size("hidden_size"), options.size("num_attention_heads")
    is_new, is_parallel = options.flag("new_decoder_architecture", False), options.flag("parallel_attn", True)
    is_shared = options.flag("multi_query", True)
    told = options.size("num_kv_heads", heads)
    norms = options.size("num_ln_in_parallel_attn", 2 if is_new else 1)
    options.check(is_new or norms == 1, f"num_ln_in_parallel_attn {norms} is for the new decoder architecture")
    head = even_share(options, width, heads)
    parallel = is_new or is_parallel
    return Config(
        "Falcon", width, options.size("ffn_hidden_size", 4 * width), options.size("num_hidden_layers"), heads,
        told if is_new else 1 if is_shared else heads, head, options.size("vocab_size"),
        options.size("max_position_embeddings", 2048), options.number("layer_norm_epsilon", 1e-5), norm="layer",
        rotary=read_rotary(options, head), activation=options.choice("activation", ACTIVATIONS, "gelu"), gated=False,
        biases=frozenset((*PROJECTIONS, "up", "down") if options.flag("bias", False) else ()), parallel=parallel,
        one_norm=parallel and norms == 1, tied=options.flag("tie_word_embeddings", True), begin=begin(options),
        ends=options.tokens("eos_token_id"),
    )  # fmt: skip


FALCON_NAMES: dict[str, str | tuple[str, ...]] = {
        "embedding": "transformer.word_embeddings", "norm": "transformer.ln_f", "head": "lm_head",
        "norm1": ("input_layernorm", "ln_attn"), "norm2": ("post_attention_layernorm", "ln_mlp"),
        "attention.output": "self_attention.dense", "ffn.up": "mlp.dense_h_to_4h", "ffn.down": "mlp.dense_4h_to_h",
    **dict.fromkeys(TOGETHER, "self_attention.query_key_value"),
}  # fmt: skip

FALCON = Family(
    _falcon,
    FALCON_NAMES,
    "transformer.h",
    joined=(TOGETHER,),
    by_head=True,
    prefix="transformer.",
    ignored=("rotary_emb.inv_freq", "self_attention.rotary.inv_freq"),
)  # fmt: skip


# ---- OPT ----------------------------------------------------------------------------------------------------------


def _opt(options: Options) -> Config:
    for key, only in (
        ("do_layer_norm_before", True), ("_remove_final_layer_norm", False), ("layer_norm_elementwise_affine", True),
    ):  # fmt: skip
        options.fixed(key, only)
    width, heads = options.size("hidden_size"), options.size("num_attention_heads")
    options.fixed("word_embed_proj_dim", width)
    biases = (*PROJECTIONS, "up", "down") if options.flag("enable_bias", True) else ()
    for key in ("dropout", "layerdrop", "init_std"):
        options.has(key)
    return Config(
        "OPT", width, options.size("ffn_dim"), options.size("num_hidden_layers"), heads, heads,
        even_share(options, width, heads), options.size("vocab_size"), options.size("max_position_embeddings"), 1e-5,
        norm="layer", rotary=None, activation=options.choice("activation_function", ACTIVATIONS, "relu"), gated=False,
        biases=frozenset(biases), tied=options.flag("tie_word_embeddings", True), begin=begin(options),
        ends=options.tokens("eos_token_id"),
    )  # fmt: skip


OPT = Family(
    _opt,
    {
        "embedding": "model.decoder.embed_tokens", "position_embedding": "model.decoder.embed_positions",
        "norm": "model.decoder.final_layer_norm", "head": "lm_head", "norm1": "self_attn_layer_norm",
        "norm2": "final_layer_norm", "attention.output": "self_attn.out_proj", "ffn.up": "fc1", "ffn.down": "fc2",
    }
    | {f"attention.{part}": f"self_attn.{part[0]}_proj" for part in QKV},
    "model.decoder.layers",
    prefix="model.",
    skipped_positions=2,
)  # fmt: skip
