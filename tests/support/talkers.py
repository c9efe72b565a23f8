"""A tiny decoder with random weights and a tokenizer of bytes, as a folder in Hugging Face's format."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import numpy as np

from tests.frontends.checkpoint import small
from tilewright.language.text.byte_level import character_of

BEGIN, END = 256, 257
CONFIG: small.Json = small.LLAMA | {
    "vocab_size": 258, "bos_token_id": BEGIN, "eos_token_id": END, "tie_word_embeddings": True,
}  # fmt: skip


def tokenizer(begins: bool = True) -> dict[str, Any]:
    """Every byte is a token; texts begin with one more, or not."""
    special = {"single_word": False, "lstrip": False, "rstrip": False, "normalized": False, "special": True}
    names = {"<s>": BEGIN, "</s>": END}
    begin = [{"SpecialToken": {"id": "<s>", "type_id": 0}}] if begins else []
    return {
        "version": "1.0", "truncation": None, "padding": None, "normalizer": None,
        "added_tokens": [{"id": token, "content": text, **special} for text, token in names.items()],
        "pre_tokenizer": {"type": "ByteLevel", "add_prefix_space": False, "trim_offsets": True, "use_regex": True},
        "post_processor": {
            "type": "TemplateProcessing", "single": [*begin, {"Sequence": {"id": "A", "type_id": 0}}],
            "pair": [{"Sequence": {"id": "A", "type_id": 0}}, {"Sequence": {"id": "B", "type_id": 1}}],
            "special_tokens": {text: {"id": text, "ids": [token], "tokens": [text]} for text, token in names.items()},
        },
        "decoder": {"type": "ByteLevel", "add_prefix_space": True, "trim_offsets": True, "use_regex": True},
        "model": {
            "type": "BPE", "dropout": None, "unk_token": None, "continuing_subword_prefix": None,
            "end_of_word_suffix": None, "fuse_unk": False, "byte_fallback": False,
            "vocab": {character_of(byte): byte for byte in range(256)}, "merges": [],
        },
    }  # fmt: skip


def save(folder: Path, begins: bool = True, **changes: object) -> Path:
    """The whole folder."""
    config = CONFIG | changes
    random = np.random.default_rng(7)
    arrays = small.tensors(config)
    arrays["model.embed_tokens.weight"] = random.uniform(-2, 2, (config["vocab_size"], 16)).astype(np.float32)
    small.save(folder, config, arrays)
    (folder / "tokenizer.json").write_text(json.dumps(tokenizer(begins)))
    return folder


TEXT = "A fox met a hen by the well. 'What a fine day!' said the hen; the fox went home, and ate 12 plums. " * 12
"""To calibrate with."""
