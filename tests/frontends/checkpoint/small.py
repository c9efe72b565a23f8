"""Tiny decoders of every family, as folders in Hugging Face's format with random weights."""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np
from safetensors.numpy import save_file

from tilewright.ir.types import Array

Json = dict[str, object]

WORDS, WIDTH, HEADS, GROUPS, HIDDEN, LAYERS = 19, 12, 4, 2, 20, 2
LLAMA: Json = {
    "architectures": ["LlamaForCausalLM"], "model_type": "llama", "hidden_size": 16, "intermediate_size": HIDDEN,
    "num_hidden_layers": LAYERS, "num_attention_heads": HEADS, "num_key_value_heads": GROUPS, "vocab_size": WORDS,
    "max_position_embeddings": 64, "rms_norm_eps": 1e-5, "rope_theta": 500.0, "hidden_act": "silu",
    "tie_word_embeddings": False, "bos_token_id": 1, "eos_token_id": 2,
}  # fmt: skip
QWEN2 = LLAMA | {"architectures": ["Qwen2ForCausalLM"], "model_type": "qwen2", "tie_word_embeddings": True}
QWEN3 = LLAMA | {"architectures": ["Qwen3ForCausalLM"], "model_type": "qwen3", "head_dim": 6}
MISTRAL = LLAMA | {"architectures": ["MistralForCausalLM"], "model_type": "mistral", "sliding_window": None}
GPT2: Json = {
    "architectures": ["GPT2LMHeadModel"], "model_type": "gpt2", "vocab_size": WORDS, "n_positions": 32,
    "n_embd": WIDTH, "n_layer": LAYERS, "n_head": HEADS, "activation_function": "gelu_new", "bos_token_id": 0,
    "eos_token_id": 0,
}  # fmt: skip
GPT_NEO: Json = {
    "architectures": ["GPTNeoForCausalLM"], "model_type": "gpt_neo", "vocab_size": WORDS,
    "max_position_embeddings": 32, "hidden_size": WIDTH, "num_layers": LAYERS, "num_heads": HEADS,
    "attention_types": [[["global", "local"], 1]], "attention_layers": ["global", "local"], "window_size": 16,
    "intermediate_size": HIDDEN, "bos_token_id": 0, "eos_token_id": 0,
}  # fmt: skip
IN_PART: Json = {key: value for key, value in LLAMA.items() if key not in ("rms_norm_eps", "num_key_value_heads")}
IN_PART |= {"layer_norm_eps": 1e-5}
STABLELM = IN_PART | {
    "architectures": ["StableLmForCausalLM"], "model_type": "stablelm", "num_key_value_heads": GROUPS,
    "partial_rotary_factor": 0.5, "use_qkv_bias": True,
}  # fmt: skip
PHI = IN_PART | {
    "architectures": ["PhiForCausalLM"], "model_type": "phi", "hidden_size": 32, "partial_rotary_factor": 0.5,
    "hidden_act": "gelu_new",
}  # fmt: skip
GPT_NEOX: Json = {key: value for key, value in IN_PART.items() if key != "rope_theta"} | {
    "architectures": ["GPTNeoXForCausalLM"], "model_type": "gpt_neox", "hidden_size": 32, "rotary_pct": 0.25,
    "rotary_emb_base": 500, "hidden_act": "gelu",
}  # fmt: skip
GEMMA = LLAMA | {
    "architectures": ["GemmaForCausalLM"], "model_type": "gemma", "head_dim": 6, "hidden_act": "gelu_pytorch_tanh",
    "tie_word_embeddings": True,
}  # fmt: skip
GEMMA2 = {key: value for key, value in GEMMA.items() if key != "hidden_act"} | {
    "architectures": ["Gemma2ForCausalLM"], "model_type": "gemma2", "hidden_activation": "gelu_pytorch_tanh",
    "query_pre_attn_scalar": 9, "sliding_window": 5, "attn_logit_softcapping": 2.0, "final_logit_softcapping": 5.0,
}  # fmt: skip
GEMMA3 = {key: value for key, value in GEMMA2.items() if "softcapping" not in key} | {
    "architectures": ["Gemma3ForCausalLM"], "model_type": "gemma3_text", "rope_local_base_freq": 20.0,
    "sliding_window_pattern": 2, "rope_scaling": {"rope_type": "linear", "factor": 8.0},
}  # fmt: skip
PHI3 = LLAMA | {"architectures": ["Phi3ForCausalLM"], "model_type": "phi3", "sliding_window": 6, "pad_token_id": 0}
LONG: Json = {
    "hidden_size": 32, "partial_rotary_factor": 0.5, "original_max_position_embeddings": 32, "sliding_window": None,
    "rope_scaling": {"type": "longrope", "short_factor": [1.0, 1.5], "long_factor": [2.0, 3.0]},
}  # fmt: skip
SMOLLM3 = LLAMA | {
    "architectures": ["SmolLM3ForCausalLM"], "model_type": "smollm3", "no_rope_layer_interval": 2, "pad_token_id": 0,
}  # fmt: skip
FALCON: Json = {
    "architectures": ["FalconForCausalLM"], "model_type": "falcon", "vocab_size": WORDS, "hidden_size": 16,
    "num_hidden_layers": LAYERS, "num_attention_heads": HEADS, "ffn_hidden_size": HIDDEN, "bos_token_id": 1,
    "eos_token_id": 2, "max_position_embeddings": 64, "tie_word_embeddings": True,
}  # fmt: skip
NEW_FALCON = FALCON | {"new_decoder_architecture": True, "num_kv_heads": GROUPS}
OPT: Json = {
    "architectures": ["OPTForCausalLM"], "model_type": "opt", "vocab_size": WORDS, "hidden_size": WIDTH,
    "num_hidden_layers": LAYERS, "num_attention_heads": HEADS, "ffn_dim": HIDDEN, "max_position_embeddings": 32,
    "do_layer_norm_before": True, "bos_token_id": 1, "eos_token_id": 2, "pad_token_id": 0, "word_embed_proj_dim": WIDTH,
}  # fmt: skip
YARN: Json = {
    "rope_scaling": {"rope_type": "yarn", "factor": 4.0, "original_max_position_embeddings": 32, "beta_fast": 2.0}
}
LINEAR: Json = {"rope_scaling": {"rope_type": "linear", "factor": 4.0}}
LLAMA3: Json = {
    "rope_scaling": {
        "rope_type": "llama3", "factor": 8.0, "low_freq_factor": 1.0, "high_freq_factor": 4.0,
        "original_max_position_embeddings": 16,
    }
}  # fmt: skip

CASES: dict[str, Json] = {
    "llama": LLAMA,
    "llama, tied": LLAMA | {"tie_word_embeddings": True},
    "llama, biases": LLAMA | {"attention_bias": True, "mlp_bias": True},
    "llama, as many heads of keys": LLAMA | {"num_key_value_heads": HEADS},
    "llama, other heads and gelu": LLAMA | {"head_dim": 10, "hidden_act": "gelu"},
    "llama, linear scaling": LLAMA | LINEAR,
    "llama, scaling of llama3": LLAMA | LLAMA3,
    "llama, scaling of yarn": LLAMA | YARN,
    "llama, dynamic scaling": LLAMA | {"rope_scaling": {"rope_type": "dynamic", "factor": 4.0}},
    "mistral": MISTRAL,
    "mistral, window": MISTRAL | {"sliding_window": 4},
    "qwen2": QWEN2,
    "qwen2, window": QWEN2 | {"use_sliding_window": True, "sliding_window": 3, "max_window_layers": 1},
    "qwen3": QWEN3,
    "gemma": GEMMA,
    "gemma2": GEMMA2,
    "gemma3": GEMMA3,
    "phi3": PHI3,
    "phi3, longrope": PHI3 | LONG,
    "smollm3": SMOLLM3,
    "falcon": FALCON,
    "falcon, new": NEW_FALCON,
    "falcon, one after another": FALCON | {"parallel_attn": False, "multi_query": False, "bias": True},
    "opt": OPT,
    "gpt2": GPT2,
    "gpt2, unscaled relu": GPT2 | {"scale_attn_weights": False, "activation_function": "relu", "n_inner": 10},
    "gpt_neo": GPT_NEO,
    "gpt_neo, window": GPT_NEO | {"window_size": 4},
    "stablelm": STABLELM,
    "phi": PHI,
    "gpt_neox": GPT_NEOX,
    "gpt_neox, one after another": GPT_NEOX | {"use_parallel_residual": False, "rotary_pct": 1.0},
}
"""By what is special about them."""


def tensors(config: Json) -> dict[str, Array]:
    """All weights that a model of a config has."""
    kind = str(config["model_type"])
    made = {
        "stablelm": _stablelm, "phi": _phi, "gpt_neox": _gpt_neox, "gemma2": _gemma, "gemma3_text": _gemma,
        "phi3": _phi3, "falcon": _falcon, "opt": _opt,
    }.get(kind)  # fmt: skip
    shapes = made(config) if made else _gpt(config) if kind.startswith("gpt") else _llama(config)
    return {name: _values(name, shape, seed) for seed, (name, shape) in enumerate(sorted(shapes.items()))}


def _values(name: str, shape: tuple[int, ...], seed: int) -> Array:
    middle = 1.0 if len(shape) == 1 and name.endswith("weight") else 0.0
    return (middle + np.random.default_rng(seed).uniform(-0.6, 0.6, shape)).astype(np.float32)


def _llama(config: Json) -> dict[str, tuple[int, ...]]:
    width, hidden, heads, groups = (
        int(str(config[key]))
        for key in ("hidden_size", "intermediate_size", "num_attention_heads", "num_key_value_heads")
    )
    head = int(str(config.get("head_dim", width // heads)))
    shapes: dict[str, tuple[int, ...]] = {"model.embed_tokens.weight": (WORDS, width), "model.norm.weight": (width,)}
    if not config["tie_word_embeddings"]:
        shapes["lm_head.weight"] = (WORDS, width)
    for layer in (f"model.layers.{number}" for number in range(LAYERS)):
        shapes |= {f"{layer}.{name}layernorm.weight": (width,) for name in ("input_", "post_attention_")}
        attention = {"q": (heads * head, width), "k": (groups * head, width), "v": (groups * head, width)}
        attention["o"] = (width, heads * head)
        shapes |= {f"{layer}.self_attn.{part}_proj.weight": shape for part, shape in attention.items()}
        biased = "qkv" if config["model_type"] == "qwen2" else "qkvo" if config.get("attention_bias") else ""
        shapes |= {f"{layer}.self_attn.{part}_proj.bias": attention[part][:1] for part in biased}
        if config["model_type"] == "qwen3":
            shapes |= {f"{layer}.self_attn.{part}_norm.weight": (head,) for part in "qk"}
        feed_forward = {"gate": (hidden, width), "up": (hidden, width), "down": (width, hidden)}
        shapes |= {f"{layer}.mlp.{part}_proj.weight": shape for part, shape in feed_forward.items()}
        if config.get("mlp_bias"):
            shapes |= {f"{layer}.mlp.{part}_proj.bias": shape[:1] for part, shape in feed_forward.items()}
    return shapes


def _with_biases(shapes: dict[str, tuple[int, ...]], *names: str) -> dict[str, tuple[int, ...]]:
    """With a bias for each weight of these names."""
    return shapes | {
        name.replace(".weight", ".bias"): shape[:1]
        for name, shape in shapes.items()
        if any(part in name for part in names)
    }


def _stablelm(config: Json) -> dict[str, tuple[int, ...]]:
    return _with_biases(_llama(config), "norm", "q_proj", "k_proj", "v_proj")


def _phi(config: Json) -> dict[str, tuple[int, ...]]:
    theirs = {"o_proj": "dense", "up_proj": "fc1", "down_proj": "fc2", "model.norm": "model.final_layernorm"}
    found = _llama(config | {"num_key_value_heads": config["num_attention_heads"]})
    kept = {name: shape for name, shape in found.items() if "gate" not in name and "post_attention" not in name}
    for ours, other in theirs.items():
        kept = {name.replace(ours, other): shape for name, shape in kept.items()}
    return _with_biases(kept, "norm", "proj", "dense", "fc", "lm_head")


def _gemma(config: Json) -> dict[str, tuple[int, ...]]:
    shapes = _llama(config)
    for layer in (f"model.layers.{number}" for number in range(LAYERS)):
        shapes |= {f"{layer}.{when}_feedforward_layernorm.weight": (16,) for when in ("pre", "post")}
        if config["model_type"] == "gemma3_text":
            shapes |= {f"{layer}.self_attn.{part}_norm.weight": (int(str(config["head_dim"])),) for part in "qk"}
    return shapes


def _phi3(config: Json) -> dict[str, tuple[int, ...]]:
    shapes = _llama(config)
    for layer in (f"model.layers.{number}" for number in range(LAYERS)):
        parts = [shapes.pop(f"{layer}.self_attn.{part}_proj.weight") for part in "qkv"]
        shapes[f"{layer}.self_attn.qkv_proj.weight"] = (sum(one[0] for one in parts), parts[0][1])
        (rows, columns), _ = (shapes.pop(f"{layer}.mlp.{part}_proj.weight") for part in ("gate", "up"))
        shapes[f"{layer}.mlp.gate_up_proj.weight"] = (2 * rows, columns)
    return shapes


def _falcon(config: Json) -> dict[str, tuple[int, ...]]:
    width, head, is_new = 16, 16 // HEADS, bool(config.get("new_decoder_architecture"))
    groups = GROUPS if is_new else 1 if config.get("multi_query", True) else HEADS
    norms = ["ln_attn", "ln_mlp"] if is_new else ["input_layernorm"]
    norms += ["post_attention_layernorm"] if not config.get("parallel_attn", True) else []
    shapes: dict[str, tuple[int, ...]] = {"transformer.word_embeddings.weight": (WORDS, width)}
    shapes["transformer.ln_f.weight"] = (width,)
    for layer in (f"transformer.h.{number}" for number in range(LAYERS)):
        shapes |= {f"{layer}.{name}.weight": (width,) for name in norms}
        shapes[f"{layer}.self_attention.query_key_value.weight"] = ((HEADS + 2 * groups) * head, width)
        shapes[f"{layer}.self_attention.dense.weight"] = (width, width)
        shapes[f"{layer}.mlp.dense_h_to_4h.weight"] = (HIDDEN, width)
        shapes[f"{layer}.mlp.dense_4h_to_h.weight"] = (width, HIDDEN)
    return _with_biases(shapes, "ln_", "layernorm", *(("dense", "query_key_value") if config.get("bias") else ()))


def _opt(config: Json) -> dict[str, tuple[int, ...]]:
    shapes: dict[str, tuple[int, ...]] = {"model.decoder.embed_tokens.weight": (WORDS, WIDTH)}
    shapes["model.decoder.embed_positions.weight"] = (int(str(config["max_position_embeddings"])) + 2, WIDTH)
    shapes["model.decoder.final_layer_norm.weight"] = (WIDTH,)
    for layer in (f"model.decoder.layers.{number}" for number in range(LAYERS)):
        shapes |= {f"{layer}.{name}_layer_norm.weight": (WIDTH,) for name in ("self_attn", "final")}
        shapes |= {f"{layer}.self_attn.{part}_proj.weight": (WIDTH, WIDTH) for part in ("q", "k", "v", "out")}
        shapes |= {f"{layer}.fc1.weight": (HIDDEN, WIDTH), f"{layer}.fc2.weight": (WIDTH, HIDDEN)}
    return _with_biases(shapes, "layer_norm", "_proj", "fc")


def _gpt_neox(config: Json) -> dict[str, tuple[int, ...]]:
    width = int(str(config["hidden_size"]))
    shapes: dict[str, tuple[int, ...]] = {"embed_out.weight": (WORDS, width)}
    shapes |= {"gpt_neox.embed_in.weight": (WORDS, width), "gpt_neox.final_layer_norm.weight": (width,)}
    for layer in (f"gpt_neox.layers.{number}" for number in range(LAYERS)):
        shapes |= {f"{layer}.{name}_layernorm.weight": (width,) for name in ("input", "post_attention")}
        shapes |= {f"{layer}.attention.query_key_value.weight": (3 * width, width)}
        shapes |= {f"{layer}.attention.dense.weight": (width, width)}
        shapes |= {f"{layer}.mlp.dense_h_to_4h.weight": (HIDDEN, width)}
        shapes |= {f"{layer}.mlp.dense_4h_to_h.weight": (width, HIDDEN)}
    return _with_biases(shapes, "norm", "dense", "query_key_value")


def _gpt(config: Json) -> dict[str, tuple[int, ...]]:
    neo = config["model_type"] == "gpt_neo"
    hidden = int(str(config.get("intermediate_size" if neo else "n_inner", 4 * WIDTH)))
    shapes: dict[str, tuple[int, ...]] = {"transformer.wte.weight": (WORDS, WIDTH)}
    shapes["transformer.wpe.weight"] = (int(str(config["max_position_embeddings" if neo else "n_positions"])), WIDTH)
    shapes |= {f"transformer.ln_f.{kind}": (WIDTH,) for kind in ("weight", "bias")}
    for layer in (f"transformer.h.{number}" for number in range(LAYERS)):
        shapes |= {f"{layer}.ln_{n}.{kind}": (WIDTH,) for n in (1, 2) for kind in ("weight", "bias")}
        linear = {"mlp.c_fc": (WIDTH, hidden), "mlp.c_proj": (hidden, WIDTH)}
        if neo:
            shapes |= {f"{layer}.attn.attention.{part}_proj.weight": (WIDTH, WIDTH) for part in "qkv"}
            linear["attn.attention.out_proj"] = (WIDTH, WIDTH)
        else:
            linear |= {"attn.c_attn": (WIDTH, 3 * WIDTH), "attn.c_proj": (WIDTH, WIDTH)}
        # GPT-2 stores matrices as [inputs, outputs], GPT-Neo as all others do.
        shapes |= {f"{layer}.{name}.weight": shape[::-1] if neo else shape for name, shape in linear.items()}
        shapes |= {f"{layer}.{name}.bias": shape[1:] for name, shape in linear.items()}
    return shapes


def save(folder: Path, config: Json, arrays: dict[str, Array] | None = None) -> Path:
    """A folder with both files."""
    folder.mkdir(parents=True, exist_ok=True)
    (folder / "config.json").write_text(json.dumps(config))
    save_file(tensors(config) if arrays is None else arrays, folder / "model.safetensors")
    return folder
