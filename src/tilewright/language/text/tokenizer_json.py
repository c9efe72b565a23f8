"""Tokenizers in Hugging Face's `tokenizer.json`: what of them is known, and a refusal that names what is not."""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace
from typing import Any, TypeVar

from tilewright.errors import CompileError, Refusal
from tilewright.language.text.byte_level import bytes_of, character_of
from tilewright.language.text.decoders import Decoding, decoding
from tilewright.language.text.splitting import words_of
from tilewright.language.text.tokenizer import NONE, AddedToken, Normaliser, Start, Tokenizer, merged
from tilewright.language.text.word_bounds import bounded

Json = Mapping[str, Any]
Kind = TypeVar("Kind")

MODELS = ("BPE",)
NORMALISERS = ("NFC", "Prepend", "Replace", "Sequence")
PROCESSORS = ("ByteLevel", "TemplateProcessing", "BertProcessing", "RobertaProcessing", "Sequence")


def read(data: bytes, where: str) -> Tokenizer:
    """A tokenizer of the file's bytes; CompileError where it is of a kind that is not known."""
    try:
        file = json.loads(data)
    except (ValueError, RecursionError) as error:
        raise _no_tokenizer(where, error) from None
    return of(file, where)


def of(file: Json, where: str) -> Tokenizer:
    """A tokenizer of what such a file holds."""
    try:
        return _tokenizer(file)
    except Refusal as refusal:
        raise refusal.at(where) from None
    except (ValueError, KeyError, TypeError, AttributeError, RecursionError) as error:
        raise _no_tokenizer(where, error) from None


def _no_tokenizer(where: str, error: Exception) -> CompileError:
    what = f"is not a tokenizer.json: {type(error).__name__}: {error}"
    return CompileError(where, what, "save it again with Tokenizer.save of the package tokenizers")


def _tokenizer(file: Json) -> Tokenizer:
    model = _model(_expected(file, "model", dict))
    vocabulary = {str(text): int(token) for text, token in model["vocab"].items()}
    words, is_byte_level = words_of(file.get("pre_tokenizer"))
    decoder = decoding(file.get("decoder"))
    normaliser = _normaliser(file.get("normalizer"))
    added = tuple(map(_added, file.get("added_tokens") or ()))
    shown = {one.token: normaliser(one.text) if one.is_normalised else one.text for one in added}
    prefix, suffix = _template(file.get("post_processor"))
    raw = Tokenizer(
        pieces=_pieces({token: text for text, token in vocabulary.items()} | shown, decoder),
        characters={} if is_byte_level else _characters(vocabulary),
        bytes_=_byte_level_tokens(vocabulary, model) if is_byte_level else _fallback_tokens(vocabulary, model),
        merges=_merges(model["merges"], vocabulary),
        unknown=_unknown(model, vocabulary),
        fuses_unknown=bool(model.get("fuse_unk")),
        added=added,
        normaliser=normaliser,
        words=words,
        prefix=prefix,
        suffix=suffix,
        start=decoder.start,
        dropped_spaces=decoder.dropped_spaces,
        byte_runs=decoder.byte_tokens(vocabulary),
    )
    _check(raw)
    if model.get("ignore_merges"):
        return _with_whole_words(raw, vocabulary, is_byte_level)
    return bounded(raw, vocabulary)


def _expected(file: Json, name: str, kind: type[Kind]) -> Kind:
    value = file.get(name)
    if not isinstance(value, kind):
        raise Refusal(f"has no {name!r}, which a tokenizer.json has", "name the tokenizer.json of the model")
    return value


def _model(model: Json) -> Json:
    kind = model.get("type", "BPE" if "merges" in model else "none")
    if kind not in MODELS:
        raise Refusal(
            f"its model is of the kind {kind}, which is not supported",
            "supported is BPE, of bytes or of characters; convert the tokenizer to it",
        )
    for name in ("continuing_subword_prefix", "end_of_word_suffix", "dropout"):
        if model.get(name):
            raise Refusal(f"its BPE has {name} {model[name]!r}, which is not supported", f"save it without {name}")
    _expected(model, "vocab", dict)
    _expected(model, "merges", list)
    return model


def _merges(
    listed: Iterable[str | Sequence[str]], vocabulary: Mapping[str, int]
) -> dict[tuple[int, int], tuple[int, int]]:
    found = {}
    for rank, merge in enumerate(listed):
        pair = merge.split(" ") if isinstance(merge, str) else merge
        if len(pair) != 2 or any(text not in vocabulary for text in (*pair, "".join(pair))):
            raise Refusal(f"its merge {rank} {merge!r} is of tokens that the vocabulary does not have", "save it again")
        left, right = pair
        found[vocabulary[left], vocabulary[right]] = (rank, vocabulary[left + right])
    return found


def _characters(vocabulary: Mapping[str, int]) -> dict[str, int]:
    return {text: token for text, token in vocabulary.items() if len(text) == 1}


def _byte_level_tokens(vocabulary: Mapping[str, int], model: Json) -> tuple[int, ...]:
    found = tuple(vocabulary.get(character_of(byte), NONE) for byte in range(256))
    if NONE in found and model.get("unk_token") is not None:
        raise Refusal(
            f"its vocabulary has {256 - found.count(NONE)} of 256 bytes and a token for unknown ones",
            "train it with the alphabet of ByteLevel, or without unk_token",
        )
    return found


def _fallback_tokens(vocabulary: Mapping[str, int], model: Json) -> tuple[int, ...]:
    if not model.get("byte_fallback"):
        return ()
    found = [vocabulary[name] for name in (f"<0x{byte:02X}>" for byte in range(256)) if name in vocabulary]
    if len(found) not in (0, 256):
        raise Refusal(
            f"its BPE falls back to bytes, of which the vocabulary has {len(found)} of 256",
            "give the vocabulary all of <0x00> to <0xFF>, or byte_fallback false",
        )
    return tuple(found)


def _unknown(model: Json, vocabulary: Mapping[str, int]) -> int:
    name = model.get("unk_token")
    if name is None:
        return NONE
    if name not in vocabulary:
        raise Refusal(f"its unknown token {name!r} is not in the vocabulary", "save it again")
    return vocabulary[name]


def _added(one: Json) -> AddedToken:
    if one.get("single_word"):
        raise Refusal(
            f"its added token {one['content']!r} counts as a whole word only, which is not supported",
            "save it with single_word false",
        )
    return AddedToken(
        int(one["id"]), str(one["content"]), bool(one.get("special")), bool(one.get("normalized")),
        bool(one.get("lstrip")), bool(one.get("rstrip")),
    )  # fmt: skip


def _pieces(texts: Mapping[int, str], decoder: Decoding) -> tuple[bytes, ...]:
    if not texts or min(texts) < 0 or max(texts) > 4 * len(texts) + 1024:
        raise Refusal(f"its {len(texts)} tokens have numbers up to {max(texts, default=0)}", "number them without gaps")
    return tuple(decoder.piece(texts[token]) if token in texts else b"" for token in range(max(texts) + 1))


def _check(tokenizer: Tokenizer) -> None:
    spaced = [one.text for one in tokenizer.added if " " in one.text and not one.is_special]
    if tokenizer.start == Start.FIRST_TOKEN and spaced:
        raise Refusal(
            f"its decoder is Metaspace and its added token {spaced[0]!r} has a space", "make the token special"
        )


def _with_whole_words(tokenizer: Tokenizer, vocabulary: Mapping[str, int], is_byte_level: bool) -> Tokenizer:
    """Only words that merges do not lead to need to be known as a whole."""
    words = {text: token for text, token in vocabulary.items() if text}
    if is_byte_level:
        raw = ((bytes_of(text), token) for text, token in words.items())
        words = {text.decode("utf-8", "surrogateescape"): token for text, token in raw if text is not None}
    kept = {
        word: token
        for word, token in words.items()
        if merged(list(tokenizer.symbols(word)), tokenizer.merges) != [token]
    }
    return replace(tokenizer, whole_words=kept)


def _normaliser(part: Json | None) -> Normaliser:
    """NFC, a prefix and a character for spaces, each at most once and in this order."""
    found, seen = Normaliser(), ""
    for step in _steps(part, "normalizers"):
        name = step.get("type")
        if name not in NORMALISERS or NORMALISERS.index(name) < (NORMALISERS.index(seen) + 1 if seen else 0):
            raise _unsupported("normalizer", step, NORMALISERS)
        found, seen = _normalising(found, step), str(name)
    return found


def _normalising(found: Normaliser, step: Json) -> Normaliser:
    if step["type"] == "NFC":
        return Normaliser(nfc=True)
    if step["type"] == "Prepend" and len(step["prepend"]) == 1:
        return Normaliser(found.nfc, step["prepend"])
    is_space = step["type"] == "Replace" and step["pattern"] == {"String": " "}
    if is_space and len(step["content"]) == 1:
        return Normaliser(found.nfc, found.prefix, step["content"])
    raise Refusal(
        f"its normalizer {json.dumps(step)} is not supported",
        "supported are NFC, Prepend of one character, and Replace of a space by one character",
    )


def _template(part: Json | None) -> tuple[tuple[int, ...], tuple[int, ...]]:
    """The tokens before and behind a text."""
    before: tuple[int, ...] = ()
    behind: tuple[int, ...] = ()
    for step in _steps(part, "processors"):
        if step.get("type") not in PROCESSORS:
            raise _unsupported("post_processor", step, PROCESSORS)
        first, last = _around(step)
        before, behind = first + before, behind + last
    return before, behind


def _around(step: Json) -> tuple[tuple[int, ...], tuple[int, ...]]:
    if step["type"] == "ByteLevel":
        return (), ()
    if step["type"] != "TemplateProcessing":
        return (int(step["cls"][1]),), (int(step["sep"][1]),)
    parts = [next(iter(one.items())) for one in step["single"]]
    places = [i for i, (kind, _) in enumerate(parts) if kind == "Sequence"]
    if len(places) != 1:
        raise Refusal(f"its post_processor has the text {len(places)} times in a template", "have it there once")
    ids = [() if kind == "Sequence" else tuple(step["special_tokens"][one["id"]]["ids"]) for kind, one in parts]
    return tuple(sum(ids[: places[0]], ())), tuple(sum(ids[places[0] :], ()))


def _steps(part: Json | None, name: str) -> list[Json]:
    """A part, or the steps of a sequence of them."""
    if part is None:
        return []
    return [step for one in part[name] for step in _steps(one, name)] if part.get("type") == "Sequence" else [part]


def _unsupported(what: str, step: Json, known: Sequence[str]) -> Refusal:
    return Refusal(
        f"its {what} is of the kind {step.get('type')} at a place where that is not supported",
        f"supported are {', '.join(known)}, in this order",
    )
