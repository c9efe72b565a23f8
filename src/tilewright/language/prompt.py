"""Texts and sizes that are given for a model, if a program can have them."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

from tilewright.errors import CompileError
from tilewright.language.arguments import of_kind, path_of, text_of
from tilewright.language.text.tokenizer import Tokenizer

if TYPE_CHECKING:
    from tilewright.language.decoder import Facts

LONGEST_CONTEXT = 512
"""Tokens that are remembered where nobody says how many, if the model was trained for so many."""
CALIBRATION = "calibration.txt"
"""The text beside a model that it is quantised on where no other is given."""
TEXT_BYTES_PER_TOKEN = 8
"""Of the longest text that a program reads at once."""


def usual_context(facts: Facts) -> int:
    """Where nobody says how many tokens are to be remembered."""
    return min(facts.longest, LONGEST_CONTEXT)


def check_sizes(facts: Facts, context: int, block: int) -> None:
    known = facts.context
    if not 2 <= context <= known:
        what = f"is not within the {known} tokens that the model was trained for"
        raise CompileError(f"context {context}", what, f"choose 2 to {known}")
    if not 1 <= block <= context:
        what, hint = f"a context of {context} tokens holds no such block", f"choose 1 to {context}"
        raise CompileError(f"block {block}", what, hint)


def text_bytes(context: int) -> int:
    return TEXT_BYTES_PER_TOKEN * context


def calibration(model: Path, given: str | Path | bool) -> str:
    """The text that a model is quantised on."""
    if isinstance(given, str) and (len(given) > 255 or "\n" in given):
        return given
    if given is not True:
        return text_of(path_of(given, "quantise"))
    path = _beside(model) / CALIBRATION
    if not path.exists():
        raise CompileError(str(path), "is not there", "write such a text there, or name another: --quantise FILE.txt")
    return text_of(path)


def _beside(model: Path) -> Path:
    from tilewright.language.reading import files_beside  # who has a text of one's own need not load all readers

    return files_beside(model)


def prompt_bytes(prompt: str | bytes, tokenizer: Tokenizer, config: Facts, context: int) -> bytes:
    """Raises `CompileError` for what is no UTF-8, has no tokens, or leaves no room in the context."""
    text = _utf8(prompt)
    tokens, longest = tokenizer.encode(text), text_bytes(context)
    if not tokens:
        raise CompileError(
            "prompt", "is empty, and this model has no BOS token to start with", "give at least one word"
        )
    if max(tokens) >= config.words:
        what = f"has token {max(tokens)}, but the model's vocabulary has {config.words} tokens"
        raise CompileError("prompt", what, "is it this model's tokenizer?")
    if len(tokens) >= context:
        what = f"has {len(tokens)} tokens; a context of {context} holds {context - 1} and one new token"
        raise CompileError("prompt", what, _longer(config, len(tokens) + 1))
    if len(text) > longest:
        what = f"has {len(text)} bytes; with a context of {context} tokens a text may have {longest}"
        raise CompileError("prompt", what, _longer(config, -(-len(text) * context // longest)))
    return text


def _longer(config: Facts, needed: int) -> str:
    return f"choose a context of {needed} or more" if needed <= config.longest else "give a shorter one"


def _utf8(prompt: str | bytes) -> bytes:
    of_kind(prompt, "prompt", (str, bytes), "a text")
    try:
        # Words of a command line that are no UTF-8 come as lone surrogates.
        text = prompt.encode("utf-8", "surrogateescape") if isinstance(prompt, str) else prompt
        text.decode("utf-8")
    except UnicodeEncodeError as error:
        what = f"its character {error.start + 1} of {len(prompt)} is not valid Unicode: {error.object[error.start]!a}"
        raise CompileError("prompt", what, "give text in UTF-8") from None
    except UnicodeDecodeError as error:
        what = f"is not UTF-8: byte {error.start + 1} of {len(text)} is {text[error.start]:#04x}"
        raise CompileError("prompt", what, "give text in UTF-8") from None
    return text
