"""A decoder that was exported to ONNX with its keys and values as inputs and outputs, in one graph or in two."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path

from tilewright.errors import CompileError
from tilewright.frontends.past_key_values.files import INNER, find_files
from tilewright.frontends.past_key_values.fixing import Exported
from tilewright.frontends.past_key_values.settings import read_settings
from tilewright.ir.graph import Graph
from tilewright.ir.types import Array
from tilewright.language.exported_steps import check_steps
from tilewright.language.position_tables import TOKENS, TooManyTokens, attentions, lifted, of_tokens
from tilewright.language.preparing import in_modes, with_one_attention
from tilewright.records import dataclass

PROBE = 61
"""Tokens of the graph that is looked at first: no size that decoders have."""
SHORTEST = 8
ANY = 2**16
"""The longest context where neither a file nor the graph says how many tokens a model was trained for."""


@dataclass(frozen=True)
class ExportedFacts:
    family: str
    layers: int
    width: int
    kv_heads: int
    head: int
    words: int
    context: int
    begin: int | None
    ends: tuple[int, ...]

    @property
    def longest(self) -> int:
        return self.context


@dataclass(frozen=True)
class ExportedDecoder:
    exported: Exported
    facts: ExportedFacts
    probe: Graph
    """Of a few tokens: what it is like."""
    turns: bool = False
    """Nobody says; so samples are taken from all over the context."""

    @property
    def parameters(self) -> int:
        return self.exported.parameters

    @property
    def windows(self) -> Sequence[int | None]:
        return ()

    def graph(self, tokens: int, positions: int) -> Graph:
        return lifted(self.exported, tokens, positions)

    def levelled(self, graph: Graph, samples: Mapping[str, Array]) -> ExportedDecoder:
        return self

    @property
    def has_short_weights(self) -> bool:
        return False

    def with_blocks(self, activations: str | None) -> ExportedDecoder:
        return self


def read_exported(path: Path) -> ExportedDecoder:
    """A file, or a folder of them; both graphs of a pair must be of one model."""
    files = find_files(path)
    first = Exported.read(files.first)
    later = Exported.read(files.later) if files.later is not None else first
    if files.later is not None and not later.signature.has_past:
        raise CompileError(later.where, "has no inputs past_key_values", "the graph for later tokens needs them")
    settings = read_settings(beside(path))
    context = _context(first, settings.context)
    probe = lifted(first, *_probed(context))
    keys = attentions(first.where, probe)
    if len({kind.shape for kind in keys}) > 1:
        shapes = ", ".join(dict.fromkeys(str(kind) for kind in keys))
        raise CompileError(first.where, f"keys of its layers differ: {shapes}", "layers must be alike")
    _check_layers(later, len(keys))
    _, _, groups, head = keys[0].shape
    facts = ExportedFacts(
        settings.family, len(keys), _width(probe), groups, head, probe.types[probe.outputs[0]].shape[-1],
        context, settings.begin, settings.ends,
    )  # fmt: skip
    _check_words(facts, str(beside(path)))
    tokens, positions = _probed(context)
    fused = with_one_attention(lambda count: probe if count == tokens else lifted(first, count, positions), tokens)
    check_steps(first, later, in_modes(fused, tokens, 2).decode)
    return ExportedDecoder(first, facts, probe)


def _context(exported: Exported, said: int | None) -> int:
    """What files say, or the rows of a table of positions, of which the first may be for something else."""
    rows = exported.positions()
    if rows is None or (said is not None and said < rows):
        return ANY if said is None else said
    try:
        of_tokens(exported, rows)
    except TooManyTokens as found:
        return found.most
    return rows


def _probed(context: int) -> tuple[int, int]:
    """Tokens of the probe, and of a longer one."""
    tokens = min(PROBE, context - 1)
    if tokens < SHORTEST:
        raise CompileError(f"context of {context} tokens", "is too short to analyse the graph", "is it a decoder?")
    return tokens, tokens + 1


def beside(path: Path) -> Path:
    """The folder with the tokenizer and other files."""
    folder = path if path.is_dir() else path.parent
    return folder.parent if folder.name == INNER and not (folder / "tokenizer.json").is_file() else folder


def _check_layers(later: Exported, layers: int) -> None:
    """Each attention has its keys and values, apart or together."""
    count = len(later.signature.past)
    if later.signature.has_past and count not in (layers, 2 * layers):
        raise CompileError(
            later.where, f"has {count} inputs with keys or values, but {layers} attentions",
            "two for each are expected, or one that holds both",
        )  # fmt: skip


def _check_words(facts: ExportedFacts, where: str) -> None:
    for token in (facts.begin, *facts.ends):
        if token is not None and token >= facts.words:
            what = f"token {token} is a BOS or EOS token, but the graph has logits for {facts.words} tokens"
            raise CompileError(where, what, "check bos_token_id and eos_token_id: are the files of one model?")


def _width(probe: Graph) -> int:
    """Elements that a word becomes."""
    readers = probe.consumers.get(TOKENS, ())
    while readers and len(probe.types[readers[0].key].shape) < 3:
        readers = probe.consumers.get(readers[0].key, ())
    return probe.types[readers[0].key].shape[-1] if readers else 0
