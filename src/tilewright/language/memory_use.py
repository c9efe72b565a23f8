"""Bytes that a language model takes, by memory; and whether its caches can be there at all."""

from __future__ import annotations

import re
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import replace
from functools import cached_property
from pathlib import Path

from tilewright.errors import CompileError
from tilewright.language.decoder import Facts
from tilewright.language.folder import ModelC, program_bytes
from tilewright.language.text.tokenizer import Tokenizer
from tilewright.language.text.tokenizer_tables import tokenizer_files
from tilewright.planner.cluster.capacity import capacity
from tilewright.records import dataclass
from tilewright.sim.program.elf import allocated_ranges, read_elf
from tilewright.target.settings import Settings
from tilewright.target.target import Target

WORDS_READ = "ids"
"""The input of both networks that says which words are looked up."""
DECLARED = re.compile(r"static const u?int(\d+)_t \w+\[(\d+)\]")
FLASH, RAM = "flash", "RAM"
"""Of a target that leaves it to the caller where things are."""


# ---- before it is compiled ------------------------------------------------------------------------------------------


@dataclass(frozen=True)
class Needs:
    """What a model needs of the memory that caches live in, whatever its networks are like."""

    config: Facts
    tokenizer: Tokenizer
    bytes_each: int
    """Of an element in the caches."""
    scores: int
    """How many there are at once."""

    @staticmethod
    def of(config: Facts, tokenizer: Tokenizer, is_quantised: bool, is_greedy: bool) -> Needs:
        scores = 0 if is_greedy else config.words
        return Needs(config, tokenizer, 1 if is_quantised else 4, scores)

    @cached_property
    def tables(self) -> int:
        """Bytes of the tokenizer's tables."""
        return table_bytes(self.tokenizer)

    def caches(self, context: int) -> int:
        """Keys and values of all layers."""
        return 2 * self.config.layers * self.config.kv_heads * self.config.head * self.bytes_each * context

    def around(self, context: int) -> int:
        """Besides the networks: text, tokens, scores, and the tokenizer."""
        return program_bytes(context, self.scores, self.tokenizer.normaliser.nfc) + self.tables

    def total(self, context: int) -> int:
        return self.caches(context) + self.around(context)

    def most_tokens(self, room: int) -> int:
        """The longest context for which there is room."""
        each = (self.total(1 << 20) - self.total(0)) / (1 << 20)
        return max(int((room - self.total(0)) / each), 0)


def table_bytes(tokenizer: Tokenizer) -> int:
    """Of the tokenizer's tables."""
    texts = "".join(text for name, text in tokenizer_files(tokenizer, "model").items() if name.endswith("tokenizer.c"))
    arrays = sum(int(bits) // 8 * int(count) for bits, count in DECLARED.findall(texts))
    return arrays + sum(map(len, tokenizer.pieces))


def check_context(needs: Needs, context: int, target: Target, settings: Settings) -> None:
    """Refuse a context whose caches alone are more than the memory that they and the program live in."""
    home = target.home_memory
    if not home.reserved:
        return
    total, needed = capacity(target, home, settings), needs.total(context) + home.reserved
    if needed <= total:
        return
    what = (
        f"{needed} bytes of {home.name} are needed ({needs.caches(context)} for keys and values, "
        f"{needs.around(context)} for text, tokens and the tokenizer, {home.reserved} for the program), "
        f"{total} are there"
    )
    most, fewer = needs.most_tokens(total - home.reserved), ", or --quantise" if needs.bytes_each > 1 else ""
    hint = f"choose a context of at most {most} tokens{fewer}" if most else f"choose another target{fewer}"
    raise CompileError(f"context of {context} tokens on {target.name}", what, hint)


def with_room(settings: Settings, target: Target, needs: Needs, context: int) -> Settings:
    """The settings that leave the program around the networks its bytes of the memory that both live in."""
    home = target.home_memory
    if not home.reserved:
        return settings
    left = capacity(target, home, settings) - needs.around(context)
    sizes = tuple((name, left if name == home.symbol else size) for name, size in settings.memories)
    return replace(settings, l2=left, memories=sizes)


OVERFLOW = re.compile(r"will not fit in region '(\w+)': overflowed by (\d+) bytes")


@contextmanager
def explained(target: Target, has_floats: bool) -> Iterator[None]:
    """What does not fit a memory, with what is to be done about a language model."""
    try:
        yield
    except CompileError as error:
        names = {memory.name for memory in target.memories}
        linked = OVERFLOW.search(error.what)
        where, what = (f"{linked[1]}", f"the program is {linked[2]} bytes too large") if linked else error.args[:2]
        if re.split(r"[ ,]", where)[0] not in names:
            raise
        smaller = "--quantise, or " if has_floats else "fewer --weight-bits, or "
        hint = f"{smaller}a shorter --context, a smaller --block or model"
        raise CompileError(f"{where} on {target.name}" if linked else where, what, hint) from None


# ---- once it is compiled --------------------------------------------------------------------------------------------


def used_bytes(model: ModelC, elf: Path | None) -> dict[str, int]:
    """By memory: all of a program for a chip, code included; elsewhere what the model's C declares."""
    if elf is None:
        needs = Needs.of(model.config, model.tokenizer, model.scale is not None, model.greedy)
        return {FLASH: weight_bytes(model) + needs.tables, RAM: model.modes.arena_bytes + needs.around(model.context)}
    writers = list(model.modes.writers.values())
    memories, ranges = writers[0].memories, allocated_ranges(read_elf(elf))
    regions = {memory.name: memory for memory in writers[0].schedule.target.platform.memories}
    found = {}
    for memory in memories.memories:
        region = regions[memory.symbol]
        inside = [(first, end) for first, end in ranges if region.base <= first < region.base + region.size]
        found[memory.name] = sum(end - first for first, end in inside) if region.is_mapped else 0
    for memory in memories.behind:
        constants = ((writer.schedule.graph.constants, writer.stored(memory)) for writer in writers)
        stored = sum(known[name].nbytes for known, names in constants for name in names)
        found[memory.name] = stored + max(writer.arena_bytes(memory) for writer in writers)
    return found


def weight_bytes(model: ModelC) -> int:
    """Constants of both networks, each once."""
    writers = model.modes.writers.values()
    return sum(writer.schedule.graph.constants[name].nbytes for writer in writers for name in writer.constants)


def rows_twice(model: ModelC) -> int:
    """Of a table of words that are the head's weights too, which are packed in another way there."""
    graph = model.modes.decode.schedule.graph
    tables = {node.inputs[0] for node in graph.nodes if node.inputs[1:2] == (WORDS_READ,)} & graph.constants.keys()
    alone = [name for name in tables if len(graph.consumers[name]) == 1]
    return sum(graph.types[name].bytes for name in alone) if model.is_tied else 0


def kept_bytes(model: ModelC) -> int:
    """Keys and values."""
    graph = model.modes.decode.schedule.graph
    return sum(graph.types[state.before].bytes for state in graph.states)
