"""How `tokenizer.json` says that text is cut into words before merges."""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import Any

from tilewright.errors import Refusal
from tilewright.language.text.patterns import Pattern, literal, parse
from tilewright.language.text.tokenizer import Behaviour, Scheme, Split, Words

KNOWN = "ByteLevel, Split, Digits, Metaspace (as the only or the first one) and Sequences of them"

GPT2 = r"'s|'t|'re|'ve|'m|'ll|'d| ?\p{L}+| ?\p{N}+| ?[^\s\p{L}\p{N}]+|\s+(?!\S)|\s+"
"""The words of byte-level tokenizers, where they name no pattern of their own."""

BEHAVIOURS = {
    "Isolated": Behaviour.ISOLATED, "Removed": Behaviour.REMOVED, "MergedWithPrevious": Behaviour.MERGED_WITH_PREVIOUS,
    "MergedWithNext": Behaviour.MERGED_WITH_NEXT,
}  # fmt: skip

SCHEMES = {"never": Scheme.NEVER, "first": Scheme.FIRST, "always": Scheme.ALWAYS}

Step = Mapping[str, Any]


def words_of(part: Step | None) -> tuple[Words, bool]:
    """The words, and whether they are bytes."""
    words, is_byte_level, is_first = Words(), False, True
    for step in _steps(part):
        if is_byte_level:
            raise _unsupported(step, "behind ByteLevel")
        words, is_byte_level = _with(words, step, is_first), step.get("type") == "ByteLevel"
        is_first = False
    return words, is_byte_level


def _steps(part: Step | None) -> list[Step]:
    if part is None:
        return []
    return [step for one in part["pretokenizers"] for step in _steps(one)] if part.get("type") == "Sequence" else [part]


def _with(words: Words, step: Step, is_first: bool) -> Words:
    kind = step.get("type")
    if kind == "Split":
        return _and(words, _split(step))
    if kind == "Digits":
        return _and(words, Split(parse(r"\p{N}" if step.get("individual_digits") else r"\p{N}+")))
    if kind == "ByteLevel":
        return _byte_level(words, step, is_first)
    if kind == "Metaspace" and is_first:
        return _metaspace(step)
    raise _unsupported(step, "there" if kind == "Metaspace" else "")


def _and(words: Words, *splits: Split) -> Words:
    return Words(words.scheme, words.prefix, words.space, (*words.splits, *splits))


def _split(step: Step) -> Split:
    behaviour = BEHAVIOURS.get(step.get("behavior", ""))
    if behaviour is None or step.get("invert"):
        raise _unsupported(step, "with this behaviour")
    pattern = step["pattern"]
    found: Pattern = literal(pattern["String"]) if "String" in pattern else parse(pattern["Regex"])
    return Split(found, behaviour)


def _byte_level(words: Words, step: Step, is_first: bool) -> Words:
    splits = (Split(parse(GPT2)),) if step.get("use_regex", True) else ()
    if not step.get("add_prefix_space", True):
        return _and(words, *splits)
    if not is_first:
        raise _unsupported(step, "with add_prefix_space behind others")
    return Words(Scheme.ALWAYS, " ", "", splits)


def _metaspace(step: Step) -> Words:
    mark = step["replacement"]
    # Files from before there were schemes say yes or no.
    scheme = step.get("prepend_scheme", "always" if step.get("add_prefix_space", True) else "never")
    if scheme not in SCHEMES or len(mark) != 1:
        raise _unsupported(step, "")
    splits = (Split(literal(mark), Behaviour.MERGED_WITH_NEXT),) if step.get("split", True) else ()
    return Words(SCHEMES[scheme], mark, mark, splits)


def _unsupported(step: Step, where: str) -> Refusal:
    return Refusal(f"its pre_tokenizer {json.dumps(step)} is not supported {where}".rstrip(), f"supported are {KNOWN}")
