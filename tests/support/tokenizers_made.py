"""Tokenizers of all kinds, trained by the package `tokenizers` on the project's own pages; and texts for them."""

from __future__ import annotations

import json
from collections.abc import Callable
from functools import cache
from pathlib import Path
from typing import Any

import pytest

from tilewright.language.text import tokenizer_json
from tilewright.language.text.splitting import GPT2
from tilewright.language.text.tokenizer import Tokenizer

DOCS = Path(__file__).parents[2] / "docs"

LLAMA3 = (
    r"(?i:'s|'t|'re|'ve|'m|'ll|'d)|[^\r\n\p{L}\p{N}]?\p{L}+|\p{N}{1,3}| ?[^\s\p{L}\p{N}]+[\r\n]*"
    r"|\s*[\r\n]+|\s+(?!\S)|\s+"
)
UPPER, LOWER = r"[\p{Lu}\p{Lt}\p{Lm}\p{Lo}\p{M}]", r"[\p{Ll}\p{Lm}\p{Lo}\p{M}]"
O200K = (
    rf"[^\r\n\p{{L}}\p{{N}}]?{UPPER}*{LOWER}+(?i:'s|'t|'re|'ve|'m|'ll|'d)?"
    rf"|[^\r\n\p{{L}}\p{{N}}]?{UPPER}+{LOWER}*(?i:'s|'t|'re|'ve|'m|'ll|'d)?"
    r"|\p{N}{1,3}| ?[^\s\p{L}\p{N}]+[\r\n/]*|\s*[\r\n]+|\s+(?!\S)|\s+"
)
DEEPSEEK = (
    r"[!\"#$%&'()*+,\-./:;<=>?@\[\\\]^_`{|}~][A-Za-z]+|[^\r\n\p{L}\p{P}\p{S}]?[\p{L}\p{M}]+"
    r"| ?[\p{P}\p{S}]+[\r\n]*|\s*[\r\n]+|\s+(?!\S)|\s+"
)
QWEN2 = LLAMA3.replace("{1,3}", "")

TEXTS = [
    "", " ", "  ", "\n", "a", " a", "a ", "  two  spaces   three ", "Once upon a time, there was a little girl.",
    "I'm you're he'd they've we'll it's 'S 'LL 'Re don't CAN'T it'\u017f rock 'n' roll '' ''' 's",
    "0 1 12 123 1234 12345 1,234.56 3.14e-10 \u0661\u0662\u0663\u0664 \u00bd \u2167 2nd x86_64",
    "\U0001f600\U0001f468\u200d\U0001f469\u200d\U0001f467 \U0001f1e9\U0001f1ea \u2764\ufe0f ok\U0001f44d\U0001f3fd!",
    "e\u0301 a\u030a\u0323 n\u0303 \u1e69 s\u0323\u0307 s\u0307\u0323"
    " \u0958 \ufb2c \u0344 \u1f82 \u212b \u1100\u1161\u11a8 \uac00\u11a8 \uac01 \u0301x",
    "\u65e5\u672c\u8a9e\u306e\u6587\u7ae0\u3002"
    " \u4e2d\u6587\u5b57\u7b26\uff0c\u5168\u89d2\u3000\u7a7a\u683c \ud55c\uad6d\uc5b4"
    " \u0e20\u0e32\u0e29\u0e32\u0e44\u0e17\u0e22",
    "\u0645\u0631\u062d\u0628\u0627 \u0628\u0627\u0644\u0639\u0627\u0644\u0645"
    " \u05e9\u05dc\u05d5\u05dd \u202eright\u202c to left",
    "\x00\x01\x1b[31m\x7f \x1c\x1d\x1e\x1f \x85 \xa0 \u2028\u2029 \ufeff \ufffd \u200b\u2003\u3000 \u180e",
    "\n\n\n", " \n \n ", "a\r\nb\r\n\r\n c\t\td \t e\n\n   f \v\f",
    "tabs\t\t\tand   \n\n  newlines   ", "x  \n", "x   y",
    "abcdefghij" * 60, "_" * 300, "\U0001f600" * 90, "a b " * 90, " " * 300 + "x", "\n " * 100,
    "<s>hello</s>", "<s>", "</s></s>", "a<s> b </s> c", " <unk> <s", "<|end|> a <|end|>\n b  <|end|>",
    "x <mask>y", "x   <mask> y",
    "a tool and toolbox TOOL", "\u2581already\u2581there \u2581\u2581 \u2581", "<0x41> <0x0A>", "\u0120\u010a",
    "def f(x):\n    return x ** 2  # comment\n\n\nclass A:\n\tpass\n", "https://example.org/a?b=c&d=%20#e",
    "\U00013460\U000105c0 \U00010d40 \u0897", "\U0010ffff\U000e0001 \ue000 \ufdd0",
]  # fmt: skip
"""ASCII, contractions, digits, emoji, combining marks, scripts of all directions, controls, runs, added tokens."""


@cache
def package() -> Any:
    return pytest.importorskip("tokenizers")


@cache
def corpus() -> list[str]:
    pages = [path.read_text() for path in sorted(DOCS.glob("*.md"))[:12]]
    return [*pages, *(text for text in TEXTS if len(text) < 250)]


def added() -> list[Any]:
    """Tokens that are looked for in a text first, in all their kinds."""
    token = package().AddedToken
    return [
        token("<|end|>", special=True, normalized=False, rstrip=True),
        token("<mask>", special=True, normalized=False, lstrip=True),
        token("tool", special=False, normalized=True),
        token("toolbox", special=False, normalized=True),
    ]


def _trained(tokenizer: Any, trainer: Any) -> str:
    tokenizer.train_from_iterator(corpus(), trainer)
    tokenizer.add_tokens(added())
    file = json.loads(tokenizer.to_str())
    # The trainer takes bytes for special tokens only.
    file["added_tokens"] = [one for one in file["added_tokens"] if not one["content"].startswith("<0x")]
    return json.dumps(file)


def _trainer(size: int, byte_level: bool) -> Any:
    t = package()
    alphabet = t.pre_tokenizers.ByteLevel.alphabet() if byte_level else []
    names = ["<unk>", "<s>", "</s>"] + ([] if byte_level else [f"<0x{byte:02X}>" for byte in range(256)])
    return t.trainers.BpeTrainer(vocab_size=size, special_tokens=names, initial_alphabet=alphabet, show_progress=False)


def byte_level(pattern: str | None = None, prefix: bool = False, nfc: bool = False, digits: bool = False) -> str:
    t = package()
    tokenizer = t.Tokenizer(t.models.BPE())
    before = t.pre_tokenizers
    steps = [before.Digits(individual_digits=True)] if digits else []
    steps += [before.Split(t.Regex(pattern), "isolated")] if pattern else []
    steps += [before.ByteLevel(add_prefix_space=prefix, use_regex=pattern is None)]
    tokenizer.pre_tokenizer = before.Sequence(steps) if len(steps) > 1 else steps[0]
    tokenizer.normalizer = t.normalizers.NFC() if nfc else None
    tokenizer.decoder = t.decoders.ByteLevel()
    tokenizer.post_processor = t.processors.ByteLevel(trim_offsets=False)
    return _trained(tokenizer, _trainer(900, True))


def ignoring_merges() -> str:
    """As Llama 3 has it: words that are tokens are found whole, even where merges lead elsewhere."""
    file = json.loads(byte_level(LLAMA3))
    vocabulary, model = file["model"]["vocab"], file["model"]
    model["ignore_merges"] = True
    keep = [merge for i, merge in enumerate(model["merges"]) if i % 7]
    model["merges"] = [merge for merge in keep if all(part in vocabulary for part in merge)]
    return json.dumps(file)


def sentence_piece(byte_fallback: bool = True, unknown: bool = True, fuse: bool = True) -> str:
    t = package()
    tokenizer = t.Tokenizer(
        t.models.BPE(byte_fallback=byte_fallback, unk_token="<unk>" if unknown else None, fuse_unk=fuse)
    )
    n, d = t.normalizers, t.decoders
    tokenizer.normalizer = n.Sequence([n.Prepend("\u2581"), n.Replace(" ", "\u2581")])
    # Words are cut for the training only.
    tokenizer.pre_tokenizer = t.pre_tokenizers.Split("\u2581", "merged_with_next")
    tokenizer.decoder = d.Sequence([d.Replace("\u2581", " "), d.ByteFallback(), d.Fuse(), d.Strip(" ", 1, 0)])
    tokenizer.post_processor = t.processors.TemplateProcessing(
        single="<s> $A </s>", special_tokens=[("<s>", 1), ("</s>", 2)]
    )
    file = json.loads(_trained(tokenizer, _trainer(900, False)))
    return json.dumps({**file, "pre_tokenizer": None})


def gemma() -> str:
    """Spaces are replaced first, so that the words that the file has are never found."""
    space = {"String": " "}
    return json.dumps(
        {
            **json.loads(sentence_piece()),
            "normalizer": {"type": "Replace", "pattern": space, "content": "\u2581"},
            "pre_tokenizer": {"type": "Split", "pattern": space, "behavior": "MergedWithPrevious", "invert": False},
        }
    )


def crossing() -> str:
    """Tokens that go on behind a space: the whole text is one word."""
    file = json.loads(sentence_piece())
    vocabulary = file["model"]["vocab"]
    for one in file["added_tokens"]:
        one["id"] += one["id"] >= len(vocabulary)
    vocabulary["e\u2581"] = len(vocabulary)
    file["model"]["merges"].insert(0, ["e", "\u2581"])
    return json.dumps(file)


def metaspace(scheme: str, split: bool = True) -> str:
    t = package()
    tokenizer = t.Tokenizer(t.models.BPE(unk_token="<unk>", fuse_unk=False))
    tokenizer.pre_tokenizer = t.pre_tokenizers.Metaspace(prepend_scheme=scheme, split=True)
    tokenizer.decoder = t.decoders.Metaspace(prepend_scheme=scheme, split=True)
    file = json.loads(_trained(tokenizer, _trainer(800, False)))
    file["pre_tokenizer"]["split"] = split
    return json.dumps(file)


def split_by(pattern: str, behaviour: str) -> str:
    t = package()
    tokenizer = t.Tokenizer(t.models.BPE(unk_token="<unk>", fuse_unk=True))
    tokenizer.pre_tokenizer = t.pre_tokenizers.Split(t.Regex(pattern), behaviour)
    tokenizer.decoder = t.decoders.Fuse()
    return _trained(tokenizer, _trainer(700, False))


MADE: dict[str, Callable[[], str]] = {
    "gpt2": byte_level,
    "gpt2 with a space in front": lambda: byte_level(prefix=True),
    "gpt2 by digits": lambda: byte_level(digits=True),
    "llama3": lambda: byte_level(LLAMA3),
    "llama3 whole words": ignoring_merges,
    "qwen2": lambda: byte_level(QWEN2, nfc=True),
    "o200k": lambda: byte_level(O200K),
    "deepseek": lambda: byte_level(DEEPSEEK),
    "gpt2 by name": lambda: byte_level(GPT2),
    "sentence piece": sentence_piece,
    "sentence piece without bytes": lambda: sentence_piece(byte_fallback=False),
    "sentence piece, unknown apart": lambda: sentence_piece(byte_fallback=False, fuse=False),
    "sentence piece, nothing unknown": lambda: sentence_piece(byte_fallback=False, unknown=False),
    "sentence piece across words": crossing,
    "gemma": gemma,
    "metaspace always": lambda: metaspace("always"),
    "metaspace first": lambda: metaspace("first"),
    "metaspace never": lambda: metaspace("never"),
    "metaspace unsplit": lambda: metaspace("first", split=False),
    "removed": lambda: split_by(r"\s+", "removed"),
    "with previous": lambda: split_by(r"[,.]|\n", "merged_with_previous"),
    "with next": lambda: split_by(r" +|-", "merged_with_next"),
}


@cache
def made(name: str) -> str:
    return MADE[name]()


@cache
def ours(name: str) -> Tokenizer:
    return tokenizer_json.read(made(name).encode(), name)


@cache
def theirs(name: str) -> Any:
    return package().Tokenizer.from_str(made(name))
