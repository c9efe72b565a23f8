"""The tokenizer of a folder in Hugging Face's format, said in the keys of a GGUF file."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any

from tilewright.errors import CompileError
from tilewright.frontends.checkpoint.config import Config
from tilewright.frontends.checkpoint.hugging_face import read_json
from tilewright.language.conversation.template_files import GGUF_ENDS, GGUF_TEMPLATE, GGUF_TOKEN, read_talk
from tilewright.language.text import tokenizer_gguf, tokenizer_json
from tilewright.language.text.decoders import BYTE
from tilewright.language.text.tokenizer import Scheme, Tokenizer
from tilewright.language.text.tokenizer_gguf import (
    BYTES,
    CONTROL,
    CUTTINGS,
    NORMAL,
    PREFIX,
    UNKNOWN,
    UNUSED,
    USER_DEFINED,
    Cutting,
    words_by,
)
from tilewright.language.weights.gguf_writer import Key

FILE = "tokenizer.json"
TRIED = (
    "Once upon a time, in 1984 and 12345: it's THEY'LL don't  two   spaces\n\n\ttab\r\n  end \n"
    " caf\u00e9 cafe\u0301 na\u00efve \u00fcber \u4f60\u597d\uff0c\u4e16\u754c \u0440\u0443\u0441\u0441"
    " \u0e44\u0e17\u0e22 \U0001f600\U0001f680 x=y_z[3]+=1; // ??? !!! <b>\u00bd</b>  "
)
"""A text on which tokenizers that differ give different tokens."""


def tokenizer_keys(folder: Path, config: Config) -> dict[str, Key]:
    path = folder / FILE
    if not path.is_file():
        raise CompileError(str(folder), f"has no {FILE}, which becomes part of the file", "get the whole folder")
    file = read_json(path)
    tokenizer = tokenizer_json.of(file, str(path))
    talk = read_talk(folder, tokenizer)
    found = _Vocabulary(str(path), file, tokenizer, config.words).keys()
    # What the tokenizer puts around texts counts before what the network's file says.
    begins = [*tokenizer.prefix[:1], *(() if config.begin is None else (config.begin,))]
    ends = dict.fromkeys((*tokenizer.suffix[-1:], *config.ends, *talk.ends))
    named = [*zip(("bos",), begins, strict=False), *zip(GGUF_ENDS, ends, strict=False)]
    found |= {GGUF_TOKEN.format(name): token for name, token in named}
    _check(found, tokenizer, str(path))
    return found if talk.template is None else found | {GGUF_TEMPLATE: talk.template.source}


class _Vocabulary:
    """Tokens with what a file says of each."""

    def __init__(self, where: str, file: Mapping[str, Any], tokenizer: Tokenizer, words: int) -> None:
        self.where, self.file, self.tokenizer = where, file, tokenizer
        self.texts = {int(token): str(text) for text, token in file["model"]["vocab"].items()}
        self.texts |= {one.token: one.text for one in tokenizer.added}
        self.words = words
        self.is_special = {one.token: one.is_special for one in tokenizer.added}
        if max(self.texts) >= words:
            what = f"has token {max(self.texts)}, but the model's vocabulary has {words} tokens"
            raise CompileError(where, what, "the two are not of one model: get the folder again")

    def keys(self) -> dict[str, Key]:
        found: dict[str, Key] = {
            "tokens": [self.texts.get(token, f"[PAD{token}]") for token in range(self.words)],
            "token_type": [self._type(token) for token in range(self.words)],
            "add_bos_token": bool(self.tokenizer.prefix), "add_eos_token": bool(self.tokenizer.suffix),
        }  # fmt: skip
        found |= self._merges() if not self.tokenizer.characters else self._scores()
        return {f"{PREFIX}{name}": value for name, value in found.items()}

    def _type(self, token: int) -> int:
        if token not in self.texts:
            return UNUSED
        if token == self.tokenizer.unknown:
            return UNKNOWN
        if token in self.is_special:
            return CONTROL if self.is_special[token] else USER_DEFINED
        return BYTES if self.tokenizer.characters and BYTE.fullmatch(self.texts[token]) else NORMAL

    def _merges(self) -> dict[str, Key]:
        listed = self.file["model"]["merges"]
        name = next((name for name, one in CUTTINGS.items() if self._cuts_by(one)), None)
        if name is None:
            what = "cuts text into words in a way that files in GGUF have no name for"
            raise CompileError(self.where, what, f"supported are those of {', '.join(CUTTINGS)}")
        merges = [one if isinstance(one, str) else " ".join(one) for one in listed]
        return {"model": "gpt2", "pre": name, "merges": merges}

    def _cuts_by(self, cutting: Cutting) -> bool:
        return (
            self.tokenizer.words == words_by(cutting)
            and self.tokenizer.normaliser.nfc == cutting.normalised
            and bool(self.file["model"].get("ignore_merges")) == cutting.whole_words
        )

    def _scores(self) -> dict[str, Key]:
        """The earlier a token is merged the better; those that are no merges are never made."""
        ranks = dict[int, int]()
        for rank, token in self.tokenizer.merges.values():
            ranks[token] = min(rank, ranks.get(token, rank))
        last = len(self.tokenizer.merges)
        spaced = bool(self.tokenizer.normaliser.prefix) or self.tokenizer.words.scheme != Scheme.NEVER
        scores = [-float(ranks.get(token, last)) for token in range(self.words)]
        return {"model": "llama", "scores": scores, "add_space_prefix": spaced}


def _check(keys: Mapping[str, Key], wanted: Tokenizer, where: str) -> None:
    """What is read from the keys must give the same tokens."""
    found = tokenizer_gguf.of(keys, where)
    for special in (True, False):
        if wanted.encode(TRIED, special) != found.encode(TRIED, special):
            what = "has tokens that come out differently by the rules of a GGUF file"
            raise CompileError(where, what, "its merges or its words are of a kind that such files cannot say")
