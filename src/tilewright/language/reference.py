"""What a language model means: its networks computed with numpy, its sampler and its tokenizer in Python."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from tilewright.errors import CompileError
from tilewright.ir.at_sizes import at_sizes
from tilewright.ir.evaluate import evaluate, initial_states, states_after
from tilewright.ir.graph import Graph
from tilewright.ir.types import Array
from tilewright.language.caching import POSITION
from tilewright.language.decoder import TOKENS
from tilewright.language.folder import ModelC
from tilewright.language.sampler import Sampler
from tilewright.language.talking import Event, Read, Request, Said


class ReferenceSession:
    """Slow and plain: all programs give its tokens if they have integers only."""

    def __init__(self, model: ModelC) -> None:
        self.model = model
        self.decode = model.modes.decode.graph
        self.prefill = None if model.modes.prefill is None else model.modes.prefill.graph

    def talk(self, request: Request) -> Iterator[Event]:
        """What was read, then every token; `seconds` are 0."""
        model, tokens = self.model, self.model.tokenizer.encode(request.text)
        if not 0 < len(tokens) <= model.context:
            what = f"has {len(tokens)} tokens, the context holds {model.context}"
            raise CompileError("prompt", what, f"give 1 to {model.context} tokens, or compile with a longer context")
        sampler = Sampler(request.sampling, model.config.words)
        reading = _Reading(self, sampler)
        reading.prompt(tokens)
        yield Read(len(tokens), 0.0)
        before = model.tokenizer.decode_bytes(tokens)
        for _ in range(request.tokens):
            if len(tokens) >= model.context:
                return
            token = reading.best if model.greedy else sampler.next(reading.logits, model.scale)
            tokens.append(token)
            after = model.tokenizer.decode_bytes(tokens)
            yield Said(token, after[len(before) :], 0.0)
            if request.stops and token in model.ends:
                return
            before = after
            reading.token(token)


class _Reading:
    """Tokens read one after another, and the scores behind the last."""

    def __init__(self, session: ReferenceSession, sampler: Sampler) -> None:
        self.session, self.sampler = session, sampler
        self.states = initial_states(session.decode)
        self.held = 0
        self.logits: Array = np.zeros(0)
        self.best = 0

    def prompt(self, tokens: list[int]) -> None:
        """As the C does it: in blocks, of which the last is shorter, or is read one by one."""
        block, at = self.session.model.block, 0
        while self.session.prefill is not None and len(tokens) - at > block:
            self._run(self.session.prefill, tokens[at : at + block])
            at += block
        together = block if self.session.prefill is None else 1
        for start in range(at, len(tokens), together):
            self._scored(tokens[start : start + together])

    def token(self, token: int) -> None:
        self._scored([token])

    def _scored(self, tokens: list[int]) -> None:
        if self.held + len(tokens) > self.session.model.context:
            return
        graph = self.session.decode
        if self.session.prefill is None:
            graph = at_sizes(graph, {TOKENS: len(tokens)})
        values = self._run(graph, tokens)
        self.logits, self.best = values[graph.outputs[0]].reshape(-1), int(values[graph.outputs[-1]].reshape(-1)[0])

    def _run(self, graph: Graph, tokens: list[int]) -> dict[str, Array]:
        ids = {"ids": np.array([tokens], np.int32), POSITION: np.array([self.held], np.int32)}
        values = evaluate(graph, {name: ids[name] for name in graph.inputs}, self.states)
        self.states = states_after(graph, values)
        self.held += len(tokens)
        for token in tokens:
            self.sampler.saw(token)
        return values
