"""Which family a `config.json` is of."""

from __future__ import annotations

from tilewright.errors import CompileError
from tilewright.frontends.checkpoint.families import (
    GPT2,
    GPT_NEO,
    GPT_NEOX,
    LLAMA,
    MISTRAL,
    PHI,
    QWEN2,
    QWEN3,
    STABLELM,
    Family,
)
from tilewright.frontends.checkpoint.gemma import GEMMA, GEMMA2, GEMMA3
from tilewright.frontends.checkpoint.options import Options
from tilewright.frontends.checkpoint.other_families import FALCON, OPT, PHI3, SMOLLM3

FAMILIES = {
    "LlamaForCausalLM": LLAMA, "MistralForCausalLM": MISTRAL, "Qwen2ForCausalLM": QWEN2, "Qwen3ForCausalLM": QWEN3,
    "GPT2LMHeadModel": GPT2, "GPTNeoForCausalLM": GPT_NEO, "GPTNeoXForCausalLM": GPT_NEOX, "PhiForCausalLM": PHI,
    "StableLmForCausalLM": STABLELM, "GemmaForCausalLM": GEMMA, "Gemma2ForCausalLM": GEMMA2,
    "Gemma3ForCausalLM": GEMMA3, "Phi3ForCausalLM": PHI3, "SmolLM3ForCausalLM": SMOLLM3, "FalconForCausalLM": FALCON,
    "OPTForCausalLM": OPT,
}  # fmt: skip
"""By the architectures that files name."""

MODEL_TYPES = {
    "llama": "LlamaForCausalLM", "mistral": "MistralForCausalLM", "qwen2": "Qwen2ForCausalLM",
    "qwen3": "Qwen3ForCausalLM", "gpt2": "GPT2LMHeadModel", "gpt_neo": "GPTNeoForCausalLM",
    "gpt_neox": "GPTNeoXForCausalLM", "phi": "PhiForCausalLM", "stablelm": "StableLmForCausalLM",
    "gemma": "GemmaForCausalLM", "gemma2": "Gemma2ForCausalLM", "gemma3_text": "Gemma3ForCausalLM",
    "phi3": "Phi3ForCausalLM", "smollm3": "SmolLM3ForCausalLM", "falcon": "FalconForCausalLM", "opt": "OPTForCausalLM",
}  # fmt: skip
"""For files that name no architecture."""


def family_of(options: Options) -> Family:
    named = options.sequence("architectures")
    found = str(named[0]) if named else _of_model_type(options)
    if found in FAMILIES:
        return FAMILIES[found]
    experts = "Moe" in found or "Mixtral" in found or any("expert" in key for key in options.found)
    what = f"the architecture '{found}' is not supported" + (", nor is any mixture of experts" if experts else "")
    raise CompileError(options.where, what, f"supported: {', '.join(sorted(FAMILIES))}")


def _of_model_type(options: Options) -> str:
    kind = str(options.found.get("model_type"))
    return MODEL_TYPES.get(kind, kind)
