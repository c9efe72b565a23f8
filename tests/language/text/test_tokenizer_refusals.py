"""What a tokenizer's file has that is not known is refused by name; files that are none are refused too."""

from __future__ import annotations

import json
import struct
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from tests.support.tokenizers_made import made, ours, package
from tilewright.errors import CompileError
from tilewright.language.text import tokenizer_bin, tokenizer_json
from tilewright.language.text.tokenizer_file import load_tokenizer

Change = Callable[[dict[str, Any]], object]


def put(path: str, value: object) -> Change:
    """Set one value of a file, named by its keys."""

    def change(file: dict[str, Any]) -> None:
        *keys, last = path.split("/")
        for key in keys:
            file = file[int(key)] if key.isdigit() else file[key]
        file[last] = value

    return change


CASES: dict[str, tuple[Change, str]] = {
    "unigram": (
        put("model", {"type": "Unigram", "vocab": []}),
        "its model is of the kind Unigram, which is not supported",
    ),
    "word piece": (put("model", {"type": "WordPiece", "vocab": {}}), "its model is of the kind WordPiece"),
    "no model": (put("model", None), "has no 'model'"),
    "no vocabulary": (put("model/vocab", None), "has no 'vocab'"),
    "suffix": (put("model/end_of_word_suffix", "</w>"), "its BPE has end_of_word_suffix '</w>'"),
    "dropout": (put("model/dropout", 0.1), "its BPE has dropout 0.1"),
    "merge": (put("model/merges", [["a", "nowhere"]]), "its merge 0 ['a', 'nowhere'] is of tokens that"),
    "unknown token": (put("model/unk_token", "<none>"), "its unknown token '<none>' is not in the vocabulary"),
    "normaliser": (put("normalizer", {"type": "Lowercase"}), "its normalizer is of the kind Lowercase"),
    "replace": (
        put("normalizer", {"type": "Replace", "pattern": {"Regex": "\\s"}, "content": " "}),
        'its normalizer {"type": "Replace", "pattern": {"Regex"',
    ),
    "order": (
        put("normalizer", {"type": "Sequence", "normalizers": [{"type": "Prepend", "prepend": "x"}, {"type": "NFC"}]}),
        "its normalizer is of the kind NFC at a place where that is not supported",
    ),
    "words": (put("pre_tokenizer", {"type": "BertPreTokenizer"}), 'its pre_tokenizer {"type": "BertPreTokenizer"}'),
    "pattern": (
        put("pre_tokenizer", {"type": "Split", "pattern": {"Regex": "\\b\\w"}, "behavior": "Isolated"}),
        r"the pattern '\\b\\w' has at its character 3 something that is not supported",
    ),
    "behaviour": (
        put("pre_tokenizer", {"type": "Split", "pattern": {"String": "a"}, "behavior": "Contiguous"}),
        "is not supported with this behaviour",
    ),
    "decoder": (put("decoder", {"type": "WordPiece"}), 'its decoder {"type": "WordPiece"} is not supported'),
    "no decoder": (put("decoder", None), "it has no decoder"),
    "processor": (put("post_processor", {"type": "Odd"}), "its post_processor is of the kind Odd"),
    "single word": (put("added_tokens/0/single_word", True), "counts as a whole word only"),
    "gaps": (put("added_tokens/0/id", 10**7), "tokens have numbers up to 10000000"),
}


@pytest.mark.parametrize("case", CASES)
def test_what_is_not_known_is_refused_by_name(case: str) -> None:
    package()
    change, what = CASES[case]
    file = json.loads(made("gpt2"))
    change(file)
    with pytest.raises(CompileError) as refused:
        tokenizer_json.read(json.dumps(file).encode(), "tokenizer.json")
    assert what in refused.value.what
    assert refused.value.where == "tokenizer.json"
    assert refused.value.hint


def test_bytes_must_be_complete() -> None:
    package()
    file = json.loads(made("sentence piece"))
    vocabulary = file["model"]["vocab"]
    vocabulary["other"] = vocabulary.pop("<0x41>")
    with pytest.raises(CompileError, match="falls back to bytes, of which the vocabulary has 255 of 256"):
        tokenizer_json.read(json.dumps(file).encode(), "tokenizer.json")


@pytest.mark.parametrize(
    "data", [b"", b"{", b"[]", b"3", b"\xff\xfe", b'{"model": {"merges": [1], "vocab": {"a": "b"}}}']
)
def test_files_that_are_no_tokenizer(data: bytes) -> None:
    with pytest.raises(CompileError) as refused:
        tokenizer_json.read(data, "tokenizer.json")
    assert "tokenizer.json" in str(refused.value)


def test_files_that_are_not_there(tmp_path: Path) -> None:
    with pytest.raises(CompileError, match=r"has no tokenizer\.json or tokenizer\.bin"):
        load_tokenizer(tmp_path)
    with pytest.raises(CompileError, match="cannot be read: No such file or directory"):
        load_tokenizer(tmp_path / "tokenizer.json")


def test_text_that_is_no_unicode_text() -> None:
    package()
    with pytest.raises(CompileError, match=r"prompt: its character 3 of 4 is not valid Unicode: '\\udcff'"):
        ours("gpt2").encode("ab\udcffc")
    assert ours("gpt2").decode_bytes(ours("gpt2").encode(b"ab\xffc")) == b"ab\xffc"


@pytest.mark.parametrize(
    ("data", "what"),
    [
        (b"", "has 0 tokens, too few for the 256 bytes"),
        (b"\4\0\0\0" + struct.pack("<fi", 0, 3) + b"ab", "is truncated or damaged at byte 15 of 14"),
        (b"\4\0\0\0" + struct.pack("<fi", 0, -3), "is truncated or damaged"),
        (b"\4\0\0\0abc", "is truncated or damaged"),
    ],
)
def test_broken_files_of_scores(data: bytes, what: str) -> None:
    with pytest.raises(CompileError, match=what):
        tokenizer_bin.read(data, "tokenizer.bin")
