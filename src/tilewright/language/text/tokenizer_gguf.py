"""Tokenizers inside of GGUF files: byte pairs with merges (`gpt2`), or tokens with scores (`llama`).

The former are said in the words of `tokenizer.json`: the file names the way in which text is cut into words.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from tilewright.errors import CompileError
from tilewright.frontends.checkpoint.gguf_file import read_gguf
from tilewright.frontends.checkpoint.options import Options
from tilewright.language.text import tokenizer_json
from tilewright.language.text.decoders import BYTE
from tilewright.language.text.splitting import GPT2, words_of
from tilewright.language.text.tokenizer import NONE, AddedToken, Normaliser, Tokenizer, Words
from tilewright.language.text.tokenizer_bin import merges_by_score
from tilewright.language.text.word_bounds import MARK, bounded
from tilewright.records import dataclass

PREFIX = "tokenizer.ggml."
NORMAL, UNKNOWN, CONTROL, USER_DEFINED, UNUSED, BYTES = 1, 2, 3, 4, 5, 6
"""Types of tokens."""
ANOTHER = "name the model's own tokenizer.json as the tokenizer"


@dataclass(frozen=True)
class Cutting:
    """How text becomes words, where merges are listed."""

    pattern: str
    digits_alone: bool = False
    whole_words: bool = False
    """Whether words that are tokens need no merges."""
    begins: bool = False
    """Whether texts begin with the token for that, where the file does not say so."""
    normalised: bool = False
    """Whether characters that are written in two ways are made the same (NFC)."""


CONTRACTED = r"(?i:'s|'t|'re|'ve|'m|'ll|'d)|[^\r\n\p{L}\p{N}]?\p{L}+|"
REST = r"| ?[^\s\p{L}\p{N}]+[\r\n]*|\s*[\r\n]+|\s+(?!\S)|\s+"
PLAIN, DIGITS = Cutting(GPT2), Cutting(GPT2, digits_alone=True)
LLAMA3 = Cutting(rf"{CONTRACTED}\p{{N}}{{1,3}}{REST}", whole_words=True, begins=True)
QWEN2 = Cutting(rf"{CONTRACTED}\p{{N}}{REST}", normalised=True)
CUTTINGS = {
    **dict.fromkeys(("gpt-2", "phi-2", "mpt", "olmo", "jais"), PLAIN),
    **dict.fromkeys(("smollm", "starcoder", "refact", "codeshell", "command-r"), DIGITS),
    **dict.fromkeys(("llama-bpe", "llama3", "llama-v3"), LLAMA3),
    **dict.fromkeys(("qwen2", "deepseek-r1-qwen"), QWEN2),
}
"""By the names that files give them."""


def read(path: Path) -> Tokenizer:
    """The tokenizer of a file; CompileError where it has none, or one of a kind that is not known."""
    return of(read_gguf(path).keys, str(path))


def of(keys: Mapping[str, object], where: str) -> Tokenizer:
    """The tokenizer that the keys of a file speak of."""
    told = Options(where, {key: value for key, value in keys.items() if key.startswith(PREFIX)})
    known = {"gpt2": _of_merges, "llama": _of_scores}
    kind = told.found.get(f"{PREFIX}model")
    if kind not in known:
        what = f"its tokenizer is of the kind {kind!r}, which is not supported" if kind else "has no tokenizer"
        raise CompileError(where, what, f"supported: {', '.join(known)}; or {ANOTHER}")
    return known[str(kind)](_Tokens.of(told))


@dataclass(frozen=True)
class _Tokens:
    told: Options
    texts: tuple[str, ...]
    types: tuple[int, ...]

    @classmethod
    def of(cls, told: Options) -> _Tokens:
        texts = tuple(_each(told, "tokens", str))
        types = tuple(_each(told, "token_type", int)) or (NORMAL,) * len(texts)
        told.check(bool(texts), f"has no list {PREFIX}tokens")
        told.check(len(types) == len(texts), f"has {len(texts)} tokens and {len(types)} types of tokens")
        return cls(told, texts, types)

    def of_type(self, *types: int) -> list[int]:
        return [token for token, kind in enumerate(self.types) if kind in types]

    @property
    def vocabulary(self) -> dict[str, int]:
        """Tokens that text becomes by merges; of equal texts the first."""
        return {self.texts[token]: token for token in reversed(self.of_type(NORMAL))}

    @property
    def added(self) -> list[int]:
        """Tokens that are looked for in a text before anything else."""
        return self.of_type(UNKNOWN, CONTROL, USER_DEFINED)

    def is_special(self, token: int) -> bool:
        """Whether it stands for no text."""
        return self.types[token] != USER_DEFINED

    def around(self, begins: bool) -> tuple[tuple[int, ...], tuple[int, ...]]:
        """Tokens before and behind every text."""
        before = self._special("bos") if self.told.flag(f"{PREFIX}add_bos_token", begins) else ()
        behind = self._special("eos") if self.told.flag(f"{PREFIX}add_eos_token", False) else ()
        return before, behind

    def _special(self, name: str) -> tuple[int, ...]:
        found = self.told.tokens(f"{PREFIX}{name}_token_id")
        for token in found:
            self.told.check(token < len(self.texts), f"{name}_token_id is {token} of {len(self.texts)} tokens")
        return found


def _each(told: Options, name: str, kind: type[Any]) -> Sequence[Any]:
    found = told.sequence(f"{PREFIX}{name}")
    told.check(all(isinstance(one, kind) for one in found), f"{PREFIX}{name} is not a list of {kind.__name__}")
    return found


# ---- merges -------------------------------------------------------------------------------------------------------


def _of_merges(tokens: _Tokens) -> Tokenizer:
    told = tokens.told
    name = told.found.get(f"{PREFIX}pre")
    cutting = CUTTINGS.get(str(name))
    if cutting is None:
        what = f"does not say how text is cut into words: {PREFIX}pre is {name!r}"
        raise CompileError(told.where, what, f"supported: {', '.join(CUTTINGS)}; or {ANOTHER}")
    merges = _each(told, "merges", str)
    before, behind = tokens.around(cutting.begins)
    template = [*({"SpecialToken": {"id": str(one)}} for one in before), {"Sequence": {"id": "A"}},
                *({"SpecialToken": {"id": str(one)}} for one in behind)]  # fmt: skip
    file = {
        "model": {
            "type": "BPE", "vocab": tokens.vocabulary, "merges": list(merges), "ignore_merges": cutting.whole_words,
        },
        "normalizer": {"type": "NFC"} if cutting.normalised else None,
        "pre_tokenizer": {"type": "Sequence", "pretokenizers": _cuts(cutting)},
        "decoder": {"type": "ByteLevel"},
        "added_tokens": [
            {"id": token, "content": tokens.texts[token], "special": tokens.is_special(token)}
            for token in tokens.added
        ],
        "post_processor": {
            "type": "TemplateProcessing", "single": template,
            "special_tokens": {str(one): {"ids": [one]} for one in (*before, *behind)},
        },
    }  # fmt: skip
    return tokenizer_json.of(file, told.where)


def words_by(cutting: Cutting) -> Words:
    """The words that text is cut into."""
    return words_of({"type": "Sequence", "pretokenizers": _cuts(cutting)})[0]


def _cuts(cutting: Cutting) -> list[Mapping[str, object]]:
    digits: list[Mapping[str, object]] = [{"type": "Digits", "individual_digits": True}] if cutting.digits_alone else []
    split = {"type": "Split", "pattern": {"Regex": cutting.pattern}, "behavior": "Isolated"}
    return [*digits, split, {"type": "ByteLevel", "add_prefix_space": False, "use_regex": False}]


# ---- scores -------------------------------------------------------------------------------------------------------


def _of_scores(tokens: _Tokens) -> Tokenizer:
    told, vocabulary = tokens.told, tokens.vocabulary
    scores = [float(one) for one in _each(told, "scores", float)]
    told.check(len(scores) == len(tokens.texts), f"has {len(tokens.texts)} tokens and {len(scores)} scores")
    bytes_ = {tokens.texts[token]: token for token in tokens.of_type(BYTES)}
    names = [f"<0x{byte:02X}>" for byte in range(256)]
    told.check(not bytes_ or all(name in bytes_ for name in names), f"has tokens for {len(bytes_)} of 256 bytes")
    before, behind = tokens.around(True)
    is_spaced = told.flag(f"{PREFIX}add_space_prefix", True)
    tokenizer = Tokenizer(
        pieces=tuple(_piece(text, kind) for text, kind in zip(tokens.texts, tokens.types, strict=True)),
        characters={text: token for text, token in vocabulary.items() if len(text) == 1},
        bytes_=tuple(bytes_[name] for name in names) if bytes_ else (),
        merges=merges_by_score(vocabulary, scores),
        unknown=next(iter(tokens.of_type(UNKNOWN)), NONE),
        fuses_unknown=True,
        added=tuple(AddedToken(token, tokens.texts[token], tokens.is_special(token)) for token in tokens.added),
        normaliser=Normaliser(prefix=MARK if is_spaced else "", space=MARK),
        prefix=before,
        suffix=behind,
        dropped_spaces=int(is_spaced),
        byte_runs=frozenset(bytes_.values()),
    )
    return bounded(tokenizer, vocabulary)


def _piece(text: str, kind: int) -> bytes:
    byte = BYTE.fullmatch(text) if kind == BYTES else None
    if byte:
        return bytes([int(byte[1], 16)])
    return text.replace(MARK, " ").encode("utf-8", "surrogateescape")
