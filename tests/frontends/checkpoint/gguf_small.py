"""The tiny decoders as GGUF files say them: their own names, one tensor less or more, rows in another order."""

from __future__ import annotations

import re

import numpy as np

from tests.frontends.checkpoint.small import HEADS, Json
from tests.support.gguf_made import Key
from tilewright.ir.types import Array

ARCHITECTURES = {
    "llama": "llama", "mistral": "llama", "qwen2": "qwen2", "qwen3": "qwen3", "gpt2": "gpt2", "stablelm": "stablelm",
    "phi": "phi2", "gpt_neox": "gptneox",
}  # fmt: skip
"""What families are called in `config.json`, and in GGUF."""

NAMES = {
    r"(model\.embed_tokens|transformer\.wte|gpt_neox\.embed_in)": "token_embd", r"transformer\.wpe": "position_embd",
    r"(model\.norm|model\.final_layernorm|transformer\.ln_f|gpt_neox\.final_layer_norm)": "output_norm",
    r"(lm_head|embed_out)": "output", r"(model\.layers|transformer\.h|gpt_neox\.layers)\.": "blk.",
    r"(input_layernorm|ln_1)": "attn_norm", r"(post_attention_layernorm|ln_2)": "ffn_norm",
    r"self_attn\.([qkv])_proj": r"attn_\1", r"self_attn\.([qk])_norm": r"attn_\1_norm",
    r"(attn\.c_attn|attention\.query_key_value)": "attn_qkv",
    r"(self_attn\.o_proj|self_attn\.dense|attn\.c_proj|attention\.dense)": "attn_output",
    r"mlp\.(gate|up|down)_proj": r"ffn_\1", r"mlp\.(fc1|c_fc|dense_h_to_4h)": "ffn_up",
    r"mlp\.(fc2|c_proj|dense_4h_to_h)": "ffn_down",
}  # fmt: skip

KEYS = {
    "embedding_length": ("hidden_size", "n_embd"), "block_count": ("num_hidden_layers", "n_layer"),
    "attention.head_count": ("num_attention_heads", "n_head"), "attention.head_count_kv": ("num_key_value_heads",),
    "context_length": ("max_position_embeddings", "n_positions"), "feed_forward_length": ("intermediate_size",),
    "attention.layer_norm_rms_epsilon": ("rms_norm_eps",), "attention.layer_norm_epsilon": ("layer_norm_eps",),
    "rope.freq_base": ("rope_theta", "rotary_emb_base"), "attention.key_length": ("head_dim",),
    "attention.value_length": ("head_dim",), "use_parallel_residual": ("use_parallel_residual",),
}  # fmt: skip


def keys(config: Json) -> dict[str, Key]:
    kind = ARCHITECTURES[str(config["model_type"])]
    found: dict[str, Key] = {"general.architecture": kind}
    for theirs, ours in KEYS.items():
        given = [config[one] for one in ours if one in config]
        if given:
            value = given[0]
            assert isinstance(value, int | float)
            found[f"{kind}.{theirs}"] = float(value) if "epsilon" in theirs or "freq" in theirs else value
    for name in ("bos", "eos"):
        found[f"tokenizer.ggml.{name}_token_id"] = int(str(config[f"{name}_token_id"]))
    return found | _turned(config, kind) | _usual(config, kind)


def _turned(config: Json, kind: str) -> dict[str, Key]:
    share = config.get("partial_rotary_factor", config.get("rotary_pct"))
    if share is None:
        return {}
    head = int(str(config["hidden_size"])) // int(str(config["num_attention_heads"]))
    return {f"{kind}.rope.dimension_count": int(float(str(share)) * head)}


def _usual(config: Json, kind: str) -> dict[str, Key]:
    """What `config.json` need not say."""
    if kind == "gpt2":
        return {
            f"{kind}.attention.layer_norm_epsilon": 1e-5,
            f"{kind}.feed_forward_length": 4 * int(str(config["n_embd"])),
        }
    return {f"{kind}.use_parallel_residual": False} if kind == "stablelm" else {}


def tensors(config: Json, theirs: dict[str, Array]) -> dict[str, Array]:
    """Of the tensors that the folder of a model has."""
    found = {_renamed(name): value for name, value in theirs.items()}
    kind = str(config["model_type"])
    heads = int(str(config.get("num_attention_heads", HEADS)))
    groups = int(str(config.get("num_key_value_heads", heads)))
    for name, value in found.items():
        if kind == "gpt2" and value.ndim == 2 and name.startswith("blk."):
            found[name] = value.T
        if kind in ("llama", "mistral") and re.search(r"attn_[qk]\.", name):
            found[name] = _neighbours(value, heads if "attn_q" in name else groups)
        if kind == "gpt_neox" and "attn_qkv" in name:
            parts = value.reshape(heads, 3, -1, *value.shape[1:]).swapaxes(0, 1)
            found[name] = parts.reshape(value.shape)
    return {name: np.ascontiguousarray(value) for name, value in found.items()}


def _renamed(name: str) -> str:
    for pattern, other in NAMES.items():
        name = re.sub(pattern, other, name, count=1)
    return name


def _neighbours(rows: Array, heads: int) -> Array:
    """Of rows half a head apart that are turned together, neighbours."""
    pairs = rows.reshape(heads, 2, -1, *rows.shape[1:]).swapaxes(1, 2)
    return pairs.reshape(rows.shape)
