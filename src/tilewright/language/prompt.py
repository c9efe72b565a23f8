"""A prompt as bytes, if a program can read it."""

from __future__ import annotations

from tilewright.errors import CompileError
from tilewright.language.arguments import of_kind
from tilewright.language.decoder import Facts
from tilewright.language.folder import text_bytes
from tilewright.language.text.tokenizer import Tokenizer


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
