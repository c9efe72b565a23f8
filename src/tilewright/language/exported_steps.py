"""Whether a decoder that goes token by token gives the scores of the graphs that it was made of.

The graphs are computed as they are: some tokens, and one more behind their keys and values.
"""

from __future__ import annotations

import numpy as np

from tilewright import pipeline
from tilewright.errors import CompileError
from tilewright.frontends.past_key_values.fixing import Exported, fixed
from tilewright.frontends.past_key_values.signature import IDS
from tilewright.ir.evaluate import evaluate, initial_states, states_after
from tilewright.ir.graph import Graph
from tilewright.ir.types import Array
from tilewright.language.caching import POSITION
from tilewright.language.position_tables import TOKENS

BEFORE = 3
"""Tokens that are read at once; one more follows."""
TOLERANCE = 1e-2
"""Of the largest score: floats of 16 bits lose some of it."""


def check_steps(first: Exported, later: Exported, decode: Graph) -> None:
    """Refuse a pair whose graphs do not belong together, or that was not understood."""
    words = decode.types[decode.outputs[0]].shape[-1]
    ids = np.random.default_rng(0).integers(0, words, (1, BEFORE + 1)).astype(np.int32)
    wanted = _as_exported(first, later, ids)
    found = _token_by_token(decode, ids)
    for number, (want, got) in enumerate(zip(wanted, found, strict=True)):
        error = float(np.abs(want - got).max())
        if not error <= TOLERANCE * max(float(np.abs(want).max()), 1e-6):
            which, what = (first, "one by one") if number < BEFORE else (later, "behind those of the past")
            raise CompileError(
                which.where, f"logits of token {number + 1}, read {what}, differ by {error:.3g} of "
                f"{np.abs(want).max():.3g}", "both graphs must be exports of one model with the same weights",
            )  # fmt: skip


def _as_exported(first: Exported, later: Exported, ids: Array) -> list[Array]:
    """Scores of some tokens, and of the one behind them."""
    has_past = later.signature.has_past
    at_once = BEFORE if has_past else BEFORE + 1
    values, graph = _computed(first, {IDS: ids[:, :at_once]}, at_once, 0)
    scores = [*values[graph.outputs[0]][0].astype(np.float32)]
    if not has_past:
        return scores
    results = dict(zip(graph.output_names, graph.outputs, strict=True))
    kept = {one.name: values[results[one.present]] for one in later.signature.past if one.present in results}
    missing = [one.present for one in later.signature.past if one.present not in results]
    if missing:
        raise CompileError(
            first.where, f"has no output '{missing[0]}', which {later.where} needs for later tokens",
            "export both with their keys and values",
        )  # fmt: skip
    values, graph = _computed(later, {IDS: ids[:, BEFORE:], **kept}, 1, BEFORE)
    return [*scores, values[graph.outputs[0]][0, -1].astype(np.float32)]


def _computed(exported: Exported, feeds: dict[str, Array], tokens: int, past: int) -> tuple[dict[str, Array], Graph]:
    model = fixed(exported, tokens, past, presents=not past, is_later=past > 0)
    graph = pipeline.import_model(model.proto, shapes=model.shapes, bind=model.bind)
    typed = {name: feeds[name].astype(graph.types[name].element) for name in graph.inputs}
    return evaluate(graph, typed), graph


def _token_by_token(decode: Graph, ids: Array) -> list[Array]:
    states, found = initial_states(decode), []
    for place in range(ids.shape[1]):
        feeds = {TOKENS: ids[:, place : place + 1], POSITION: np.array([place], np.int32)}
        values = evaluate(decode, {name: feeds[name] for name in decode.inputs}, states)
        states = states_after(decode, values)
        found.append(values[decode.outputs[0]].reshape(-1))
    return found
