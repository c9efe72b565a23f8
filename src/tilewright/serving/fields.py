"""Fields of a request's JSON object: each is read with its type, and what nobody knows is refused."""

from __future__ import annotations

import json
import secrets
from collections.abc import Mapping
from typing import Any

from tilewright.errors import CompileError
from tilewright.language.sampler import Sampling
from tilewright.language.text.stop_words import stop_words
from tilewright.serving.refusals import RequestRefused

IGNORED = frozenset({
    "user", "store", "metadata", "service_tier", "parallel_tool_calls", "tool_choice", "function_call",
    "safety_identifier", "prompt_cache_key", "cache_prompt",
})  # fmt: skip
"""What says nothing about the text."""
ONLY: Mapping[str, tuple[Any, ...]] = {
    "n": (1,), "best_of": (1,), "logprobs": (False, 0), "top_logprobs": (0,), "logit_bias": ({},), "echo": (False,),
    "suffix": ("",), "presence_penalty": (0,), "frequency_penalty": (0,), "tools": ([],), "functions": ([],),
    "modalities": (["text"],), "audio": (), "prediction": (), "web_search_options": (), "reasoning_effort": (),
    "verbosity": (),
}  # fmt: skip
"""Fields of the protocol of which only these values, or none, are supported."""


class Fields:
    def __init__(self, body: bytes) -> None:
        try:
            found = json.loads(body)
        except (ValueError, RecursionError) as error:
            raise RequestRefused(f"the body is no JSON: {error}") from None
        if not isinstance(found, dict):
            raise RequestRefused(f"the body is a JSON {type(found).__name__}, not an object")
        self.found: dict[str, Any] = {key: value for key, value in found.items() if value is not None}
        self.read = set[str]()

    def get(self, name: str, kind: type | tuple[type, ...], wanted: str, default: Any = None) -> Any:
        self.read.add(name)
        value = self.found.get(name, default)
        is_flag = isinstance(value, bool) and kind is not bool
        if value is not default and (is_flag or not isinstance(value, kind)):
            raise RequestRefused(f"{name} is of type {type(value).__name__}: give {wanted}", name)
        return value

    def needed(self, name: str) -> Any:
        self.read.add(name)
        if name not in self.found:
            raise RequestRefused(f"{name} is missing", name)
        return self.found[name]

    def flag(self, name: str) -> bool:
        return bool(self.get(name, bool, "true or false", False))

    def count(self, *names: str) -> int | None:
        """Of tokens, under one of several names; of two that are given, the first counts."""
        given = {name: self.get(name, int, "a whole number") for name in names}
        for name, value in given.items():
            if value is not None and value < 1:
                raise RequestRefused(f"{name} is {value}: give 1 or more", name)
        return next((value for value in given.values() if value is not None), None)

    def sampling(self) -> Sampling:
        """As OpenAI has it, and what others have added; without a seed, another one every time."""
        number = (int, float)
        given = {
            "temperature": self.get("temperature", number, "a number", 1.0),
            "top_p": self.get("top_p", number, "a number", 1.0),
            "top_k": max(self.get("top_k", int, "a whole number", 0), 0),
            "min_p": self.get("min_p", number, "a number", 0.0),
            "penalty": self.get("repetition_penalty", number, "a number", 1.0),
            "seed": self.get("seed", int, "a whole number", secrets.randbits(63)) % 2**64,
        }
        try:
            return Sampling(**given)
        except CompileError as error:
            raise RequestRefused.of(error, error.where.replace(" ", "_")) from None

    def stops(self) -> tuple[str, ...]:
        self.read.add("stop")
        try:
            return stop_words(self.found.get("stop"))
        except CompileError as error:
            raise RequestRefused.of(error, "stop") from None

    def schema(self) -> Any:
        """The schema of a `response_format`; None where the text is free."""
        form = self.get("response_format", dict, "an object with a type", {})
        kind = form.get("type", "text")
        if kind == "text":
            return None
        if kind == "json_object":
            return {"type": "object"}
        inner = form.get("json_schema")
        if kind != "json_schema" or not isinstance(inner, dict) or "schema" not in inner:
            what = f"response_format of type {kind!r} is not supported, or has no json_schema.schema"
            raise RequestRefused(f"{what}: supported are text, json_object and json_schema", "response_format")
        return inner["schema"]

    def streams(self) -> tuple[bool, bool]:
        """Whether the answer comes in pieces, and whether usage comes with them."""
        options = self.get("stream_options", dict, "an object", {})
        return self.flag("stream"), options.get("include_usage") is True

    def finish(self) -> None:
        """Refuse what changes an answer and is not supported, and what is not known at all."""
        for name, value in self.found.items():
            if name in ONLY and value not in ONLY[name]:
                raise RequestRefused(f"{name} {json.dumps(value)[:80]} is not supported", name, "unsupported_value")
            if name not in self.read | IGNORED | ONLY.keys():
                # A name may be long, or no text that can be sent back.
                shown = ascii(name)[1:-1][:80]
                raise RequestRefused(f"unknown field: {shown}", shown, "unknown_parameter")
