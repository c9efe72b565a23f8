"""Writes small English stories: python make_text.py --seed 1 --bytes 50000 > stories.txt

The stories are drawn from the grammar beside this file, which is plain text: tables of who and what can be in a story
(`words.txt`), sentences that plots share (`sentences.txt`) and the plots themselves (`plots_*.txt`). In them

    (one|two)        is one of the alternatives,
    [hero]           somebody or something of the plot's cast; [hero.his], [thing.adj] one of its attributes,
    <thanks>         one alternative of a rule.

An attribute is drawn once per story and then stays, so that a red ball is still red at the end. A name or an attribute
that starts with a capital gives its value with a capital. Same seed, same text: only `Random.random` is used, whose
sequence Python promises to keep.
"""

from __future__ import annotations

import argparse
import re
import sys
from collections.abc import Iterator
from dataclasses import dataclass, field
from functools import cache
from pathlib import Path
from random import Random
from typing import NamedTuple, TypeVar

GRAMMAR = Path(__file__).parent / "grammar"
PRONOUNS = {
    "f": {"he": "she", "him": "her", "his": "her", "self": "herself"},
    "m": {"he": "he", "him": "him", "his": "his", "self": "himself"},
    "n": {"he": "it", "him": "it", "his": "its", "self": "itself"},
}
VOWEL_AHEAD = re.compile(r"\b([Aa]) (?=[aeiouAEIOU])")
TOKENS = re.compile(r"[(|)]|\[[^]]*\]|<[^>]*>|[^(|)\[<]+")
SELDOM = "~"
PARAGRAPH = "/"
Drawn = TypeVar("Drawn")


class Choice(NamedTuple):
    alternatives: list[list]


class Slot(NamedTuple):
    who: str
    attribute: str
    capital: bool


class Rule(NamedTuple):
    name: str


class Line(NamedTuple):
    condition: str
    """The table or the sex that somebody must be of, or nothing."""
    parts: list


@dataclass
class Plot:
    name: str
    cast: dict[str, list[tuple[str, list[str]]]] = field(default_factory=dict)
    """For each part the tables that it can come from, each with the kinds that will do (all, if there are none)."""
    beats: list[tuple[bool, list]] = field(default_factory=list)


@dataclass
class Grammar:
    tables: dict[str, list[dict[str, str]]] = field(default_factory=dict)
    rules: dict[str, list[Line]] = field(default_factory=dict)
    plots: list[Plot] = field(default_factory=list)


@dataclass
class Entity:
    """Somebody or something in one story, with what is known of it so far."""

    table: str
    known: dict[str, str]


# Reading the grammar


def parse(text: str) -> list:
    """The parts of a text: strings, choices, slots and rules."""
    tokens = TOKENS.findall(text)
    parts, rest = _sequence(tokens, 0)
    if rest != len(tokens):
        raise ValueError(f"unbalanced brackets in: {text}")
    return parts


def _sequence(tokens: list[str], at: int) -> tuple[list, int]:
    parts: list = []
    while at < len(tokens) and tokens[at] not in "|)":
        part, at = _choice(tokens, at + 1) if tokens[at] == "(" else (_leaf(tokens[at]), at + 1)
        parts.append(part)
    return parts, at


def _choice(tokens: list[str], at: int) -> tuple[Choice, int]:
    alternatives = []
    while True:
        parts, at = _sequence(tokens, at)
        alternatives.append(parts)
        if at == len(tokens):
            raise ValueError(f"a bracket is not closed in: {''.join(tokens)}")
        if tokens[at] == ")":
            return Choice(alternatives), at + 1
        at += 1


def _leaf(token: str) -> str | Slot | Rule:
    if token.startswith("<"):
        return Rule(token[1:-1])
    if not token.startswith("["):
        return token
    who, _, attribute = token[1:-1].partition(".")
    return Slot(who.lower(), attribute.lower(), (attribute or who)[0].isupper())


@cache
def load(folder: Path = GRAMMAR) -> Grammar:
    grammar = Grammar()
    for path in sorted(folder.glob("*.txt")):
        for block in path.read_text(encoding="utf-8").split("\n\n"):
            _add(grammar, [line for line in block.splitlines() if line and not line.startswith("#")])
    return grammar


def _add(grammar: Grammar, lines: list[str]) -> None:
    if not lines:
        return
    kind, _, head = lines[0].partition(" ")
    if kind == "table":
        name, *columns = (cell.strip() for cell in head.split("|"))
        rows = ([cell.strip() for cell in line.split("|")] for line in lines[1:])
        grammar.tables[name] = [dict(zip(columns, row, strict=True)) for row in rows]
    elif kind == "rule":
        grammar.rules[head] = [_line(line) for line in lines[1:]]
    elif kind == "plot":
        grammar.plots.append(_plot(head, lines[1:]))
    else:
        raise ValueError(f"a block starts with `table`, `rule` or `plot`, not with: {lines[0]}")


def _line(text: str) -> Line:
    if not text.startswith("@"):
        return Line("", parse(text))
    condition, _, rest = text[1:].partition(" ")
    return Line(condition, parse(rest))


def _plot(name: str, lines: list[str]) -> Plot:
    plot = Plot(name)
    for part in lines[0].removeprefix("cast ").split():
        role, _, tables = part.partition("=")
        plot.cast[role] = [_source(table) for table in tables.split(",")]
    for line in lines[1:]:
        plot.beats.append((line.startswith(SELDOM), ["\n"] if line == PARAGRAPH else parse(line.lstrip(SELDOM) + " ")))
    return plot


def _source(text: str) -> tuple[str, list[str]]:
    table, _, kinds = text.partition(":")
    return table, [kind.replace("_", " ") for kind in kinds.split("/") if kind]


# Telling a story


class Teller:
    """Draws one story: the cast first, then beat by beat."""

    def __init__(self, grammar: Grammar, random: Random) -> None:
        self.grammar = grammar
        self.random = random
        self.cast: dict[str, Entity] = {}

    def draw(self, options: list[Drawn]) -> Drawn:
        return options[int(self.random.random() * len(options))]

    def tell(self) -> str:
        plot = self.draw(self.grammar.plots)
        for role, sources in plot.cast.items():
            self.cast[role] = self.invite(*self.draw(sources))
        beats = [parts for seldom, parts in plot.beats if not seldom or self.random.random() < 0.5]
        return tidy("".join(self.write(parts) for parts in beats))

    def invite(self, table: str, kinds: list[str]) -> Entity:
        """Somebody of the table who is not in the story yet."""
        rows = self.grammar.tables[table]
        if kinds and table != "critter":
            rows = [row for row in rows if next(iter(row.values())) in kinds]
        taken = [entity.known["is"] for entity in self.cast.values()]
        row = self.draw([row for row in rows if _name(row) not in taken])
        known = {column: self.draw(cell.split(", ")) for column, cell in row.items()}
        if kinds and table == "critter":
            known["kid"] = self.draw(kinds)
        return Entity(table, {**known, "is": _name(row), **PRONOUNS[row.get("sex", "n")]})

    def write(self, parts: list) -> str:
        return "".join(part if isinstance(part, str) else self.fill(part) for part in parts)

    def fill(self, part: Choice | Slot | Rule) -> str:
        if isinstance(part, Choice):
            return self.write(self.draw(part.alternatives))
        if isinstance(part, Rule):
            return self.write(self.of_rule(part.name, self.cast.get("hero")))
        value = self.attribute(self.cast[part.who], part.attribute or "is")
        return value[0].upper() + value[1:] if part.capital else value

    def of_rule(self, name: str, entity: Entity | None) -> list:
        facts = ["", entity.table, entity.known.get("sex", "n")] if entity else [""]
        return self.draw([line.parts for line in self.grammar.rules[name] if line.condition in facts])

    def attribute(self, entity: Entity, name: str) -> str:
        if name not in entity.known:
            entity.known[name] = self.new_attribute(entity, name)
        return entity.known[name]

    def new_attribute(self, entity: Entity, name: str) -> str:
        """Drawn from the rule of that name, and preferably not what somebody else in the story has."""
        rule = f"{entity.table}.{name}" if f"{entity.table}.{name}" in self.grammar.rules else name
        others = [other.known.get(name) for other in self.cast.values()]
        for _ in range(5):
            value = self.write(self.of_rule(rule, entity))
            if value not in others:
                break
        return value


def _name(row: dict[str, str]) -> str:
    return row.get("name", next(iter(row.values())))


def tidy(text: str) -> str:
    """The text with single blanks, `an` before vowels and capitals where a sentence starts."""
    text = VOWEL_AHEAD.sub(r"\1n ", text)
    text = re.sub(r" +", " ", text)
    text = re.sub(r" ?\n ?", "\n", text).strip()
    return re.sub(r"(^|\n|[.!?] |\.\" )([a-z])", lambda match: match[1] + match[2].upper(), text)


def stories(seed: int) -> Iterator[str]:
    """Stories without end, the same for the same seed."""
    random = Random(seed)
    grammar = load()
    while True:
        yield Teller(grammar, random).tell()


def text_of(seed: int, size: int) -> str:
    """Stories with empty lines between them: as many as it takes to reach the size in bytes."""
    told: list[str] = []
    written = 0
    for story in stories(seed):
        told.append(story + "\n")
        written += len(story) + 2
        if written >= size:
            break
    return "\n".join(told)


def main() -> None:
    parser = argparse.ArgumentParser(description="Writes small English stories to standard output.")
    parser.add_argument("--seed", type=int, default=1, help="same seed, same stories")
    parser.add_argument("--bytes", type=int, default=50_000, help="stop after the story that reaches this size")
    given = parser.parse_args()
    sys.stdout.write(text_of(given.seed, given.bytes))


if __name__ == "__main__":
    main()
