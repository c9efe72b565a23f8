"""The families of decoders that are known: what their `config.json` says, and how their weights are called."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence

from tilewright.errors import CompileError
from tilewright.frontends.checkpoint.config import FEED_FORWARD, PROJECTIONS, Config, Rotary
from tilewright.frontends.checkpoint.options import Options
from tilewright.frontends.checkpoint.rope_options import OLD, read_rotary
from tilewright.records import dataclass

ACTIVATIONS = {
    "silu": "silu", "swish": "silu", "gelu": "gelu", "gelu_new": "gelu_tanh", "gelu_pytorch_tanh": "gelu_tanh",
    "relu": "relu",
}  # fmt: skip

QKV = ("query", "key", "value")
TOGETHER = tuple(f"attention.{part}" for part in QKV)
LAYER_TYPES = ("full_attention", "sliding_attention")

MOST_LAYERS = 4096
"""That are told apart."""
MOST_RUNS = 1024
"""Repetitions of kinds of layers that a file may say."""


@dataclass(frozen=True)
class Family:
    config: Callable[[Options], Config]
    names: Mapping[str, str | tuple[str, ...]]
    """Parts by our names -> their names, or one of several; those of a layer without its number."""
    layer: str
    """What is before the names of a layer's parts, but for its number."""
    turned: frozenset[str] = frozenset()
    """Parts of which matrices are [inputs, outputs]."""
    joined: Sequence[tuple[str, ...]] = ()
    """Parts that are in one tensor, one behind another."""
    by_head: bool = False
    """Whether queries, keys and values that are together alternate: those of one head of keys after another."""
    prefix: str = ""
    """That all names but the head's may lack."""
    ignored: tuple[str, ...] = ()
    """Ends of names of tensors that are no weights."""
    norm_offset: float = 0.0
    """What is to be added to the weights of norms."""
    skipped_positions: int = 0
    """Rows before those of learned positions."""


# ---- Llama and what is like it ------------------------------------------------------------------------------------


def _llama(options: Options) -> Config:
    attention = PROJECTIONS if options.flag("attention_bias", False) else ()
    feed_forward = FEED_FORWARD if options.flag("mlp_bias", False) else ()
    heads = options.size("num_attention_heads")
    return like_llama(
        options, "Llama", frozenset({*attention, *feed_forward}), options.size("num_key_value_heads", heads)
    )


def _mistral(options: Options) -> Config:
    window = None
    if "sliding_window" not in options.found:
        window = 4096  # What the family's own library takes where nothing is said.
    elif options.has("sliding_window"):
        window = options.size("sliding_window")
    groups, local = options.size("num_key_value_heads", 8), layer_types(options) or (True,)
    return like_llama(options, "Mistral", frozenset(), groups, window=window, local=local)


def _qwen2(options: Options) -> Config:
    groups = options.size("num_key_value_heads", 32)
    window, local = _qwen_window(options)
    return like_llama(options, "Qwen2", frozenset(QKV), groups, window=window, local=local)


def _qwen3(options: Options) -> Config:
    biases = frozenset(PROJECTIONS if options.flag("attention_bias", False) else ())
    groups, (window, local) = options.size("num_key_value_heads", 32), _qwen_window(options)
    return like_llama(options, "Qwen3", biases, groups, window=window, local=local, qk_norm=True, head=128)


def _qwen_window(options: Options) -> tuple[int | None, tuple[bool, ...]]:
    """How far local layers look back, and which are: the first ones are not, if nothing is said of each."""
    first, layers = options.size("max_window_layers", 28), options.size("num_hidden_layers")
    listed = layer_types(options)
    is_local = options.flag("use_sliding_window", False)
    options.has("sliding_window")
    if not is_local and not any(listed):
        return None, (True,)
    local = listed or tuple(number >= first for number in range(min(layers, MOST_LAYERS)))
    return (options.size("sliding_window", 4096), local) if any(local) else (None, (True,))


def layer_types(options: Options) -> tuple[bool, ...]:
    """Which layers are local, where each is named; empty: none is."""
    options.kinds("layer_types", LAYER_TYPES)
    found = tuple(one == LAYER_TYPES[1] for one in options.sequence("layer_types"))
    layers = options.size("num_hidden_layers")
    options.check(len(found) in (0, layers), f"layer_types names {len(found)} of {layers} layers")
    return found


def like_llama(
    options: Options, family: str, biases: frozenset[str], groups: int, *, window: int | None = None,
    local: tuple[bool, ...] = (True,), qk_norm: bool = False, head: int = 0, tied: bool = False,
    theta: float = Rotary.theta, share: float | None = None,
) -> Config:  # fmt: skip
    width, heads, context = (
        options.size(key) for key in ("hidden_size", "num_attention_heads", "max_position_embeddings")
    )
    head = options.size("head_dim", head or even_share(options, width, heads))
    return Config(
        family, width, options.size("intermediate_size"), options.size("num_hidden_layers"), heads, groups, head,
        options.size("vocab_size"), context, options.number("rms_norm_eps"),
        rotary=read_rotary(options, head, share, theta=theta),
        activation=options.choice("hidden_act", ACTIVATIONS, "silu"), biases=biases, qk_norm=qk_norm,
        tied=options.flag("tie_word_embeddings", tied), window=shorter(window, context), local=local,
        begin=begin(options), ends=options.tokens("eos_token_id"),
    )  # fmt: skip


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
    head = even_share(options, width, heads)
    return Config(
        family, width, options.size("intermediate_size"), options.size("num_hidden_layers"), heads, groups, head,
        options.size("vocab_size"), context, options.number("layer_norm_eps", 1e-5), norm="layer",
        rotary=read_rotary(options, head, share, old), activation=options.choice("hidden_act", ACTIVATIONS, activation),
        gated=gated, biases=biases, parallel=parallel, one_norm=one_norm,
        tied=options.flag("tie_word_embeddings", False), begin=begin(options), ends=options.tokens("eos_token_id"),
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
    joined=(TOGETHER,),
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
                     score_scale=None if options.flag("scale_attn_weights", True) else 1.0)  # fmt: skip


def _gpt_neo(options: Options) -> Config:
    width, heads = options.size("hidden_size"), options.size("num_heads")
    biases, context = frozenset(("output", "up", "down")), options.size("max_position_embeddings")
    sizes = options.size("intermediate_size", 4 * width), options.size("num_layers"), heads
    local = _local_layers(options)
    window = options.size("window_size", 256) if any(local) else None
    return _like_gpt(options, "GPT-Neo", width, sizes, context, biases, score_scale=1.0, window=window, local=local)


def _local_layers(options: Options) -> tuple[bool, ...]:
    """Layers are said one by one, or as kinds with how often they are repeated; every second is if nothing is said."""
    options.has("window_size")
    kinds = ("global", "local")
    options.kinds("attention_types", kinds)
    listed = [str(one) for one in options.sequence("attention_layers")]
    options.kinds("attention_layers", kinds)
    for run in options.sequence("attention_types") if not listed else ():
        listed += _repeated(options, run)
    return tuple(one == "local" for one in listed) or (False, True)


def _repeated(options: Options, run: object) -> list[str]:
    """Kinds of layers as often as a pair says."""
    if isinstance(run, list) and len(run) == 2:
        kinds, count = run
        if isinstance(kinds, list) and isinstance(count, int) and 0 < count <= MOST_RUNS:
            return [str(one) for one in kinds] * count
    what = f"attention_types has {run!r}, no kinds of layers with how often they are repeated"
    raise CompileError(options.where, what, "check the file")


def _like_gpt(
    options: Options, family: str, width: int, sizes: tuple[int, int, int], context: int, biases: frozenset[str], *,
    score_scale: float | None, window: int | None = None, local: tuple[bool, ...] = (True,),
) -> Config:  # fmt: skip
    hidden, layers, heads = sizes
    return Config(
        family, width, hidden, layers, heads, heads, even_share(options, width, heads), options.size("vocab_size"),
        context, options.number("layer_norm_epsilon", 1e-5), norm="layer", rotary=None,
        activation=options.choice("activation_function", ACTIVATIONS, "gelu_new"), gated=False, biases=biases,
        score_scale=score_scale, tied=options.flag("tie_word_embeddings", True), window=shorter(window, context),
        local=local, begin=begin(options), ends=options.tokens("eos_token_id"),
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
    joined=(TOGETHER,),
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


def even_share(options: Options, width: int, heads: int) -> int:
    """Elements of a head where nothing is said of them."""
    if width % heads and not options.has("head_dim"):
        what = f"a width of {width} is no multiple of {heads} heads"
        raise CompileError(options.where, what, "check the sizes, or give head_dim where the family has one")
    return max(width // heads, 1)


def begin(options: Options) -> int | None:
    return next(iter(options.tokens("bos_token_id")), None)


def shorter(window: int | None, context: int) -> int | None:
    return window if window is not None and window < context else None


LLAMA, MISTRAL, QWEN2, QWEN3, STABLELM = map(_named_as_llama, (_llama, _mistral, _qwen2, _qwen3, _stablelm))
