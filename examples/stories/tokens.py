"""A small byte-pair tokenizer, built as SentencePiece builds them, so that any byte can be encoded."""

from __future__ import annotations

import json
from collections.abc import Iterable

from tokenizers import Regex, Tokenizer
from tokenizers.models import BPE
from tokenizers.normalizers import Prepend, Replace
from tokenizers.normalizers import Sequence as Normalizers
from tokenizers.pre_tokenizers import Sequence as Splits
from tokenizers.pre_tokenizers import Split
from tokenizers.trainers import BpeTrainer

UNKNOWN, BEGIN, END = "<unk>", "<s>", "</s>"
SPECIAL = [UNKNOWN, BEGIN, END]
BYTES = [f"<0x{byte:02X}>" for byte in range(256)]
WORD = "▁?[A-Za-z]+|▁?[^A-Za-z▁]+|▁"
"""What merges may join: letters with the blank before them, or signs with the blank before them."""


def train_tokenizer(texts: Iterable[str], words: int) -> Tokenizer:
    tokenizer = Tokenizer(BPE(unk_token=UNKNOWN))
    tokenizer.normalizer = Normalizers([Prepend("▁"), Replace(" ", "▁")])
    # A line's end is no part of a merge, it stays a byte.
    tokenizer.pre_tokenizer = Splits([Split("\n", "removed"), Split(Regex(WORD), "isolated")])
    trainer = BpeTrainer(vocab_size=words, special_tokens=SPECIAL + BYTES, show_progress=False)
    tokenizer.train_from_iterator(texts, trainer)
    return with_bytes(json.loads(tokenizer.to_str()))


def with_bytes(built: dict) -> Tokenizer:
    """The trained one with bytes as a fallback; merges alone keep words apart, so nothing splits the text any more."""
    built["model"].update(byte_fallback=True, fuse_unk=True)
    built["added_tokens"] = [token for token in built["added_tokens"] if token["content"] in SPECIAL]
    built["pre_tokenizer"] = None
    begin = {"id": BEGIN, "ids": [SPECIAL.index(BEGIN)], "tokens": [BEGIN]}
    built["post_processor"] = {
        "type": "TemplateProcessing",
        "single": [{"SpecialToken": {"id": BEGIN, "type_id": 0}}, {"Sequence": {"id": "A", "type_id": 0}}],
        "pair": [{"Sequence": {"id": "A", "type_id": 0}}, {"Sequence": {"id": "B", "type_id": 1}}],
        "special_tokens": {BEGIN: begin},
    }
    blank = {"type": "Replace", "pattern": {"String": "▁"}, "content": " "}
    strip = {"type": "Strip", "content": " ", "start": 1, "stop": 0}
    built["decoder"] = {"type": "Sequence", "decoders": [blank, {"type": "ByteFallback"}, {"type": "Fuse"}, strip]}
    return Tokenizer.from_str(json.dumps(built))
