"""A context without a network: scores of the next token are a hash of the tokens before it. And words to talk to it."""

from __future__ import annotations

import json
from collections.abc import Sequence

import numpy as np

from tests.support import talkers
from tilewright.errors import CompileError
from tilewright.ir.types import Array
from tilewright.language.conversation.memory import Memory
from tilewright.language.conversation.talker import Talker, Words
from tilewright.language.conversation.template import ChatTemplate
from tilewright.language.conversation.template_files import Talk
from tilewright.language.sampler import Sampler, Sampling
from tilewright.language.text import tokenizer_json
from tilewright.language.text.tokenizer import Tokenizer

TOKENIZER: Tokenizer = tokenizer_json.read(json.dumps(talkers.tokenizer()).encode(), "bytes")
TEMPLATE = "{{ bos_token }}{% for m in messages %}[{{ m.role }}]{{ m.content }}{{ eos_token }}{% endfor %}[assistant]"
SPECIALS = {"bos_token": "<s>", "eos_token": "</s>"}


class Parrot:
    """A session: prints only letters, and remembers how it was read."""

    words = TOKENIZER.vocabulary

    def __init__(self, context: int = 400) -> None:
        self.context = context
        self.tokens: list[int] = []
        self.calls: list[tuple[int, int]] = []
        self.sampler = Sampler(Sampling(), self.words)
        self.is_closed = False

    @property
    def length(self) -> int:
        return len(self.tokens)

    def reset(self) -> None:
        self.tokens = []

    def keep(self, length: int) -> None:
        assert length <= self.length
        del self.tokens[length:]

    def read(self, tokens: Sequence[int]) -> None:
        if not 0 < len(tokens) <= self.context - self.length:
            raise CompileError("prompt", "does not fit", "shorter")
        self.calls.append((self.length, len(tokens)))
        self.tokens += tokens
        for token in tokens:
            self.sampler.saw(token)

    def scores(self) -> Array:
        found = np.full(self.words, -20, np.float32)
        random = np.random.default_rng(self.tokens)
        found[ord("a") : ord("z") + 1] = random.normal(0, 1, 26)
        return found

    def sample(self, sampling: Sampling, seen: Sequence[int] = ()) -> None:
        self.sampler = Sampler(sampling, self.words)
        for token in seen:
            self.sampler.saw(token)

    def choose(self) -> int:
        return self.sampler.next(self.scores())

    def save(self) -> bytes:
        return json.dumps(self.tokens).encode()

    def restore(self, state: bytes) -> None:
        self.tokens = json.loads(state)

    def close(self) -> None:
        self.is_closed = True


def words(template: str | None = TEMPLATE, tokenizer: Tokenizer = TOKENIZER) -> Words:
    found = None if template is None else ChatTemplate(template, "parrot", SPECIALS)
    return Words(tokenizer, Talk(found, ()), "parrot")


def talker(chunk: int = 0, context: int = 400, template: str | None = TEMPLATE) -> Talker:
    return Talker(words(template), Memory(Parrot(context), chunk))


def said(role: str, content: object) -> dict[str, object]:
    return {"role": role, "content": content}
