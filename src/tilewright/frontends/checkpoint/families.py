"""The families of decoders that are known: what their `config.json` says, and how their weights are called."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace

from tilewright.errors import CompileError
from tilewright.frontends.checkpoint.config import FEED_FORWARD, PROJECTIONS, Config, Rotary
from tilewright.frontends.checkpoint.options import Options

ACTIVATIONS = {
    "silu": "silu", "swish": "silu", "gelu": "gelu", "gelu_new": "gelu_tanh", "gelu_pytorch_tanh": "gelu_tanh",
    "relu": "relu",
}  # fmt: skip

SCALINGS = {"default": "", "linear": "linear", "llama3": "llama3"}
"""Of angles, by their names in files."""

QKV = ("query", "key", "value")

OLD = ("rope_theta", "partial_rotary_factor")
"""How older files call the base of angles, and the share of a head that is turned."""


@dataclass(frozen=True)
class Family:
    config: Callable[[Options], Config]
    names: Mapping[str, str]
    """Parts by our names -> their names; those of a layer without its number."""
    layer: str
    """What is before the names of a layer's parts, but for its number."""
    turned: frozenset[str] = frozenset()
    """Parts of which matrices are [inputs, outputs]."""
    joined: Mapping[str, tuple[int, int]] = field(default_factory=dict)
    """Parts that are one of several in a tensor: which, and of how many."""
    by_head: bool = False
    """Whether such parts alternate head by head."""
    prefix: str = ""
    """That all names but the head's may lack."""
    ignored: tuple[str, ...] = ()
    """Ends of names of tensors that are no weights."""


# ---- Llama and what is like it ------------------------------------------------------------------------------------


def _llama(options: Options) -> Config:
    attention = PROJECTIONS if options.flag("attention_bias", False) else ()
    feed_forward = FEED_FORWARD if options.flag("mlp_bias", False) else ()
    heads = options.size("num_attention_heads")
    return _like_llama(
        options, "Llama", frozenset({*attention, *feed_forward}), options.size("num_key_value_heads", heads)
    )


def _mistral(options: Options) -> Config:
    window = None
    options.kinds("layer_types", ("full_attention", "sliding_attention"))
    if "sliding_window" not in options.found:
        window = 4096  # What the family's own library takes where nothing is said.
    elif options.has("sliding_window"):
        window = options.size("sliding_window")
    return _like_llama(options, "Mistral", frozenset(), options.size("num_key_value_heads", 8), window=window)


def _qwen2(options: Options) -> Config:
    groups = options.size("num_key_value_heads", 32)
    return _like_llama(options, "Qwen2", frozenset(QKV), groups, window=_qwen_window(options))


def _qwen3(options: Options) -> Config:
    biases = frozenset(PROJECTIONS if options.flag("attention_bias", False) else ())
    groups, window = options.size("num_key_value_heads", 32), _qwen_window(options)
    return _like_llama(options, "Qwen3", biases, groups, window=window, qk_norm=True, head=128)


def _qwen_window(options: Options) -> int | None:
    """How far layers look back, if some do not see all."""
    options.has("max_window_layers")
    local = "sliding_attention" in options.kinds("layer_types", ("full_attention", "sliding_attention"))
    if not options.flag("use_sliding_window", False) and not local:
        options.has("sliding_window")
        return None
    return options.size("sliding_window", 4096)


def _like_llama(
    options: Options, family: str, biases: frozenset[str], groups: int, *, window: int | None = None,
    qk_norm: bool = False, head: int = 0,
) -> Config:  # fmt: skip
    width, heads, context = (
        options.size(key) for key in ("hidden_size", "num_attention_heads", "max_position_embeddings")
    )
    head = options.size("head_dim", head or _even_share(options, width, heads))
    return Config(
        family, width, options.size("intermediate_size"), options.size("num_hidden_layers"), heads, groups, head,
        options.size("vocab_size"), context, options.number("rms_norm_eps"), rotary=_rotary(options, head),
        activation=options.choice("hidden_act", ACTIVATIONS, "silu"), biases=biases, qk_norm=qk_norm,
        tied=options.flag("tie_word_embeddings", False), window=_shorter(window, context), begin=_begin(options),
        ends=options.tokens("eos_token_id"),
    )  # fmt: skip


def _rotary(options: Options, head: int, share: float | None = None, old: Sequence[str] = OLD) -> Rotary:
    """Older files have `rope_theta` and `rope_scaling`, newer ones `rope_parameters` with all of it.

    `share` is that of a head's elements that the family turns if nothing is said; None: all of them, always.
    """
    given = options.inner(options.one_of("rope_parameters", "rope_scaling"))
    kind = given.choice(given.one_of("rope_type", "type"), SCALINGS, "default")
    base, part = old
    outer = options.number(base, Rotary.theta)
    theta = given.number("rope_theta", outer)
    options.check(theta == outer or not options.has(base), f"{base} is {outer}, and {theta} elsewhere")
    turned = _turned(options, given, part, head, share)
    found = Rotary(theta)
    if kind == "linear":
        found = Rotary(theta, kind, given.number("factor"))
        given.has("original_max_position_embeddings")
    if kind == "llama3":
        factor, low, high = (given.number(key) for key in ("factor", "low_freq_factor", "high_freq_factor"))
        given.check(low < high, f"low_freq_factor {low} is not below high_freq_factor {high}")
        found = Rotary(theta, kind, factor, low, high, given.size("original_max_position_embeddings"))
    given.finish()
    return replace(found, turned=turned)


def _turned(options: Options, given: Options, part: str, head: int, share: float | None) -> int:
    """Elements of a head that are turned; 0 for all."""
    if share is None:
        options.fixed(part, 1.0)
        given.fixed("partial_rotary_factor", 1.0)
        return 0
    share = given.number("partial_rotary_factor", options.number(part, share))
    options.check(share <= 1.0, f"{part} {share} is more than a whole head")
    return 0 if share == 1.0 else int(share * head)


LLAMA_NAMES = {
    "embedding": "model.embed_tokens", "norm": "model.norm", "head": "lm_head", "norm1": "input_layernorm",
    "norm2": "post_attention_layernorm", "attention.query": "self_attn.q_proj", "attention.key": "self_attn.k_proj",
    "attention.value": "self_attn.v_proj", "attention.output": "self_attn.o_proj",
    "attention.query.norm": "self_attn.q_norm", "attention.key.norm": "self_attn.k_norm", "ffn.gate": "mlp.gate_proj",
    "ffn.up": "mlp.up_proj", "ffn.down": "mlp.down_proj",
}  # fmt: skip


def _named_as_llama(config: Callable[[Options], Config]) -> Family:
    return Family(config, LLAMA_NAMES, "model.layers", ignored=("rotary_emb.inv_freq",))


# ---- heads that are turned in part --------------------------------------------------------------------------------


def _stablelm(options: Options) -> Config:
    for key, only in (("use_parallel_residual", False), ("qk_layernorm", False)):
        options.fixed(key, only)
    biases = frozenset(QKV if options.flag("use_qkv_bias", False) else ())
    return _in_part(options, "StableLM", biases, options.size("num_key_value_heads"), 0.25, gated=True)


def _phi(options: Options) -> Config:
    options.fixed("qk_layernorm", False)
    biases = frozenset((*PROJECTIONS, "up", "down", "head"))
    groups = options.size("num_key_value_heads", options.size("num_attention_heads"))
    return _in_part(options, "Phi", biases, groups, 0.5, parallel=True, one_norm=True, activation="gelu_new")


def _gpt_neox(options: Options) -> Config:
    biases = frozenset((*(PROJECTIONS if options.flag("attention_bias", True) else ()), "up", "down"))
    parallel, heads = options.flag("use_parallel_residual", True), options.size("num_attention_heads")
    old = ("rotary_emb_base", "rotary_pct")
    return _in_part(options, "GPT-NeoX", biases, heads, 0.25, parallel=parallel, activation="gelu", old=old)


def _in_part(
    options: Options, family: str, biases: frozenset[str], groups: int, share: float, *, gated: bool = False,
    parallel: bool = False, one_norm: bool = False, activation: str = "silu", old: Sequence[str] = OLD,
) -> Config:  # fmt: skip
    width, heads, context = (
        options.size(key) for key in ("hidden_size", "num_attention_heads", "max_position_embeddings")
    )
    head = _even_share(options, width, heads)
    return Config(
        family, width, options.size("intermediate_size"), options.size("num_hidden_layers"), heads, groups, head,
        options.size("vocab_size"), context, options.number("layer_norm_eps", 1e-5), norm="layer",
        rotary=_rotary(options, head, share, old), activation=options.choice("hidden_act", ACTIVATIONS, activation),
        gated=gated, biases=biases, parallel=parallel, one_norm=one_norm,
        tied=options.flag("tie_word_embeddings", False), begin=_begin(options), ends=options.tokens("eos_token_id"),
    )  # fmt: skip


PHI = Family(
    _phi,
    LLAMA_NAMES
    | {"norm": "model.final_layernorm", "attention.output": "self_attn.dense", "ffn.up": "mlp.fc1"}
    | {"ffn.down": "mlp.fc2"},
    "model.layers",
)

GPT_NEOX = Family(
    _gpt_neox,
    {
        "embedding": "gpt_neox.embed_in", "norm": "gpt_neox.final_layer_norm", "head": "embed_out",
        "norm1": "input_layernorm", "norm2": "post_attention_layernorm", "attention.output": "attention.dense",
        "ffn.up": "mlp.dense_h_to_4h", "ffn.down": "mlp.dense_4h_to_h",
    }
    | {f"attention.{part}": "attention.query_key_value" for part in QKV},
    "gpt_neox.layers",
    joined={f"attention.{part}": (at, len(QKV)) for at, part in enumerate(QKV)},
    by_head=True,
    prefix="gpt_neox.",
    ignored=("attention.bias", "attention.masked_bias", "rotary_emb.inv_freq"),
)  # fmt: skip


# ---- GPT-2 and GPT-Neo --------------------------------------------------------------------------------------------


def _gpt2(options: Options) -> Config:
    for key, only in (("scale_attn_by_inverse_layer_idx", False), ("add_cross_attention", False)):
        options.fixed(key, only)
    width, heads = options.size("n_embd"), options.size("n_head")
    biases = frozenset((*PROJECTIONS, "up", "down"))
    sizes = options.size("n_inner", 4 * width), options.size("n_layer"), heads
    return _like_gpt(options, "GPT-2", width, sizes, options.size("n_positions"), biases,
                     scaled=options.flag("scale_attn_weights", True))  # fmt: skip


def _gpt_neo(options: Options) -> Config:
    width, heads = options.size("hidden_size"), options.size("num_heads")
    biases, context = frozenset(("output", "up", "down")), options.size("max_position_embeddings")
    sizes = options.size("intermediate_size", 4 * width), options.size("num_layers"), heads
    window = options.size("window_size", 256) if _has_local_layers(options) else None
    return _like_gpt(options, "GPT-Neo", width, sizes, context, biases, scaled=False, window=window)


def _has_local_layers(options: Options) -> bool:
    """Layers are said one by one, or as kinds with how often they are repeated; every second is if nothing is said."""
    options.has("window_size")
    said = {kind for key in ("attention_layers", "attention_types") for kind in options.kinds(key, ("global", "local"))}
    return not said or "local" in said


def _like_gpt(
    options: Options, family: str, width: int, sizes: tuple[int, int, int], context: int, biases: frozenset[str], *,
    scaled: bool, window: int | None = None,
) -> Config:  # fmt: skip
    hidden, layers, heads = sizes
    return Config(
        family, width, hidden, layers, heads, heads, _even_share(options, width, heads), options.size("vocab_size"),
        context, options.number("layer_norm_epsilon", 1e-5), norm="layer", rotary=None,
        activation=options.choice("activation_function", ACTIVATIONS, "gelu_new"), gated=False, biases=biases,
        scaled=scaled, tied=options.flag("tie_word_embeddings", True), window=_shorter(window, context),
        begin=_begin(options), ends=options.tokens("eos_token_id"),
    )  # fmt: skip


GPT_NAMES = {
    "embedding": "transformer.wte", "position_embedding": "transformer.wpe", "norm": "transformer.ln_f",
    "head": "lm_head", "norm1": "ln_1", "norm2": "ln_2", "ffn.up": "mlp.c_fc", "ffn.down": "mlp.c_proj",
}  # fmt: skip

GPT2 = Family(
    _gpt2,
    GPT_NAMES | {f"attention.{part}": "attn.c_attn" for part in QKV} | {"attention.output": "attn.c_proj"},
    "transformer.h",
    turned=frozenset({*(f"attention.{part}" for part in PROJECTIONS), "ffn.up", "ffn.down"}),
    joined={f"attention.{part}": (at, len(QKV)) for at, part in enumerate(QKV)},
    prefix="transformer.",
    ignored=("attn.bias", "attn.masked_bias"),
)

GPT_NEO = Family(
    _gpt_neo,
    GPT_NAMES
    | {f"attention.{part}": f"attn.attention.{part[0]}_proj" for part in QKV}
    | {"attention.output": "attn.attention.out_proj"},
    "transformer.h",
    prefix="transformer.",
    ignored=("attn.attention.bias", "attn.attention.masked_bias"),
)


# ---- what all have ------------------------------------------------------------------------------------------------


def _even_share(options: Options, width: int, heads: int) -> int:
    """Elements of a head where nothing is said of them."""
    if width % heads and not options.has("head_dim"):
        what = f"a width of {width} is no multiple of {heads} heads"
        raise CompileError(options.where, what, "check the sizes, or give head_dim where the family has one")
    return max(width // heads, 1)


def _begin(options: Options) -> int | None:
    return next(iter(options.tokens("bos_token_id")), None)


def _shorter(window: int | None, context: int) -> int | None:
    return window if window is not None and window < context else None


FAMILIES = {
    "LlamaForCausalLM": _named_as_llama(_llama), "MistralForCausalLM": _named_as_llama(_mistral),
    "Qwen2ForCausalLM": _named_as_llama(_qwen2), "Qwen3ForCausalLM": _named_as_llama(_qwen3),
    "GPT2LMHeadModel": GPT2, "GPTNeoForCausalLM": GPT_NEO, "GPTNeoXForCausalLM": GPT_NEOX, "PhiForCausalLM": PHI,
    "StableLmForCausalLM": _named_as_llama(_stablelm),
}  # fmt: skip
"""By the architectures that files name."""

MODEL_TYPES = {
    "llama": "LlamaForCausalLM", "mistral": "MistralForCausalLM", "qwen2": "Qwen2ForCausalLM",
    "qwen3": "Qwen3ForCausalLM", "gpt2": "GPT2LMHeadModel", "gpt_neo": "GPTNeoForCausalLM",
    "gpt_neox": "GPTNeoXForCausalLM", "phi": "PhiForCausalLM", "stablelm": "StableLmForCausalLM",
}  # fmt: skip
"""For files that name no architecture."""


def family_of(options: Options) -> Family:
    named = options.sequence("architectures")
    found = str(named[0]) if named else _of_model_type(options)
    if found in FAMILIES:
        return FAMILIES[found]
    raise CompileError(
        options.where, f"the architecture '{found}' is not supported", f"supported: {', '.join(sorted(FAMILIES))}"
    )


def _of_model_type(options: Options) -> str:
    kind = str(options.found.get("model_type"))
    return MODEL_TYPES.get(kind, kind)
