"""Requests, from JSON to what a model is asked."""

from __future__ import annotations

from typing import Any

from tilewright.errors import CompileError
from tilewright.language.conversation.speaking import Asked
from tilewright.language.conversation.talker import Words
from tilewright.records import dataclass
from tilewright.serving.fields import Fields
from tilewright.serving.refusals import RequestRefused

USUAL_TOKENS = 16
"""Of a completion, where nobody says how many; an answer may fill the context."""


@dataclass(frozen=True)
class Served:
    """The model as requests see it."""

    name: str
    words: Words
    context: int


@dataclass(frozen=True)
class Request:
    prompt: tuple[int, ...]
    asked: Asked
    stops: tuple[str, ...]
    is_chat: bool
    streams: bool
    includes_usage: bool


def chat_request(body: bytes, served: Served) -> Request:
    fields = Fields(body)
    messages = fields.needed("messages")
    limit = fields.count("max_completion_tokens", "max_tokens")
    return _request(fields, served, lambda: served.words.prompt(messages), limit, True)


def completion_request(body: bytes, served: Served) -> Request:
    fields = Fields(body)
    prompt = fields.get("prompt", (str, list), "a text, or a list of tokens", "")
    limit = fields.count("max_tokens") or USUAL_TOKENS
    return _request(fields, served, lambda: _tokens(prompt, served.words), limit, False)


def _request(fields: Fields, served: Served, prompt: Any, limit: int | None, is_chat: bool) -> Request:
    name = fields.get("model", str, "the model's name", served.name)
    if name != served.name:
        raise RequestRefused(f"there is no model {name!r}: this is {served.name!r}", "model", "model_not_found", 404)
    sampling, stops, schema = fields.sampling(), fields.stops(), fields.schema()
    streams, includes_usage = fields.streams()
    fields.finish()
    tokens = _checked(prompt, "messages" if is_chat else "prompt", served)
    ends = served.words.answer_ends if is_chat else served.words.ends
    grammar = None
    if schema is not None:
        grammar = _said(lambda: served.words.json_text(schema), "response_format")
    most = served.context if limit is None else limit
    return Request(tuple(tokens), Asked(most, sampling, ends, grammar), stops, is_chat, streams, includes_usage)


def _checked(prompt: Any, param: str, served: Served) -> list[int]:
    tokens: list[int] = _said(prompt, param)
    if len(tokens) >= served.context:
        what = (
            f"the prompt has {len(tokens)} tokens; a context of {served.context} holds {served.context - 1} and one new"
        )
        raise RequestRefused(what, param, "context_length_exceeded")
    if not tokens:
        # A text begins with the model's BOS token, if there is one; a list is taken as it is.
        raise RequestRefused("the prompt is empty: give a text, or one token or more", param)
    return tokens


def _said(what: Any, param: str) -> Any:
    try:
        return what()
    except CompileError as error:
        raise RequestRefused.of(error, param) from None


def _tokens(prompt: str | list[Any], words: Words) -> list[int]:
    if isinstance(prompt, list) and len(prompt) == 1 and isinstance(prompt[0], str | list):
        return _tokens(prompt[0], words)
    if isinstance(prompt, str):
        return words.tokenizer.encode(prompt)
    known = words.tokenizer.vocabulary
    if not all(isinstance(one, int) and not isinstance(one, bool) and 0 <= one < known for one in prompt):
        raise RequestRefused(f"prompt is a list, but not of tokens from 0 to {known - 1}, nor of one text", "prompt")
    return list(prompt)
