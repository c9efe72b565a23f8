"""Tokenizers inside of GGUF files give the tokens of the same ones in `tokenizer.json`."""

from __future__ import annotations

import json
import re
from collections.abc import Mapping
from pathlib import Path

import pytest

from tests.support.gguf_made import Key, gguf
from tests.support.tokenizers_made import TEXTS, made, theirs
from tilewright.errors import CompileError
from tilewright.language.text.tokenizer import Tokenizer
from tilewright.language.text.tokenizer_file import load_tokenizer

NORMAL, UNKNOWN, CONTROL, BYTES = 1, 2, 3, 6
PLAIN = [text for text in TEXTS if not re.search(r"tool|<\|end\|>|<mask>", text)]
"""Texts without tokens that files in GGUF cannot say all of."""
CUTTINGS = {"gpt2": "gpt-2", "gpt2 by digits": "smollm", "llama3 whole words": "llama-bpe", "qwen2": "qwen2"}


def keys(name: str, pre: str = "") -> dict[str, Key]:
    model = json.loads(made(name))["model"]
    texts = sorted(model["vocab"], key=model["vocab"].__getitem__)
    known = {"<unk>": UNKNOWN, "<s>": CONTROL, "</s>": CONTROL}
    types = [known.get(text, BYTES if re.fullmatch("<0x..>", text) else NORMAL) for text in texts]
    found: dict[str, Key] = {"tokens": texts, "token_type": types, "bos_token_id": 1, "eos_token_id": 2}
    if pre:
        found |= {"model": "gpt2", "pre": pre, "merges": [" ".join(merge) for merge in model["merges"]]}
        found["add_bos_token"] = False
    else:
        found |= {"model": "llama", "scores": _scores(texts, model["merges"]), "add_eos_token": True}
    return {f"tokenizer.ggml.{key}": value for key, value in found.items()}


def _scores(texts: list[str], merges: list[list[str]]) -> list[float]:
    """The earlier a token is made, the better it is."""
    ranks: dict[str, float] = {}
    for rank, pair in enumerate(merges):
        ranks.setdefault("".join(pair), float(-rank))
    return [ranks.get(text, -1e9) for text in texts]


def loaded(folder: Path, said: Mapping[str, Key]) -> Tokenizer:
    path = folder / "model.gguf"
    path.write_bytes(gguf(said, {}))
    return load_tokenizer(path)


@pytest.mark.parametrize("name", CUTTINGS)
def test_byte_pairs(name: str, tmp_path: Path) -> None:
    found = loaded(tmp_path, keys(name, CUTTINGS[name]))
    for text in PLAIN:
        wanted = theirs(name).encode(text).ids
        assert found.encode(text) == wanted, text
        assert found.decode(wanted) == theirs(name).decode(wanted)


def test_scores(tmp_path: Path) -> None:
    name = "sentence piece"
    found = loaded(tmp_path, keys(name))
    for text in PLAIN:
        wanted = theirs(name).encode(text).ids
        assert found.encode(text) == wanted, text
        assert found.decode(wanted) == theirs(name).decode(wanted)


def test_what_stands_around_texts(tmp_path: Path) -> None:
    said = keys("gpt2", "gpt-2") | {"tokenizer.ggml.add_bos_token": True}
    plain = loaded(tmp_path, keys("gpt2", "gpt-2")).encode("a b")
    assert loaded(tmp_path, said).encode("a b") == [1, *plain]
    scored = keys("sentence piece")
    del scored["tokenizer.ggml.add_eos_token"]
    assert loaded(tmp_path, scored).encode("a")[-1] != 2


@pytest.mark.parametrize(
    ("changes", "said"),
    [
        ({"model": "bert"}, "its tokenizer is of the kind 'bert', which is not supported"),
        ({"model": None}, "has no tokenizer"),
        ({"pre": "default"}, "does not say how text is cut into words: tokenizer.ggml.pre is 'default'"),
        ({"pre": None}, "does not say how text is cut into words: tokenizer.ggml.pre is None"),
        ({"token_type": [1, 1]}, "tokens and 2 types of tokens"),
        ({"tokens": [1, 2]}, "tokenizer.ggml.tokens is not a list of str"),
        ({"merges": ["never seen"]}, "its merge 0 'never seen' is of tokens that the vocabulary does not have"),
        ({"add_bos_token": True, "bos_token_id": 10**6}, "bos_token_id is 1000000 of"),
        ({"model": "llama"}, "tokens and 0 scores"),
    ],
)
def test_tokenizers_that_are_refused(changes: dict[str, Key | None], said: str, tmp_path: Path) -> None:
    given = keys("gpt2", "gpt-2")
    for name, value in changes.items():
        key = f"tokenizer.ggml.{name}"
        if value is None:
            del given[key]
        else:
            given[key] = value
    with pytest.raises(CompileError, match=re.escape(said)):
        loaded(tmp_path, given)
