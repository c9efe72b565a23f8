"""How fast a language model talked, what it spent and where."""

from __future__ import annotations

from collections.abc import Sequence

from rich.console import Console
from rich.table import Table
from rich.text import Text

from tilewright.language.generation import CONTEXT, END, Generation, Weights
from tilewright.language.step_profile import Share
from tilewright.report.console import fitting_table, name_text, print_titled
from tilewright.report.energy import not_counted
from tilewright.report.numbers import size

HEADINGS = ("operator", "engine", "layers", "cycles", "share", "uJ")
MOST = 10
"""Operators that are shown, those that take longest."""


def print_generation(target: Console, title: str, given: Generation, spent: Sequence[Share]) -> None:
    """Below the text."""
    target.print()
    target.print(name_text(title, "bold"), soft_wrap=True)
    grid = Table.grid(padding=(0, 1))
    grid.add_column(style="bold", no_wrap=True)
    grid.add_column(overflow="fold")
    for name, text in _rows(given):
        grid.add_row(f" {name}", text)
    target.print(grid)
    if spent:
        _print_shares(target, spent)


def _rows(given: Generation) -> list[tuple[str, str | Text]]:
    rows: list[tuple[str, str | Text]] = [
        ("prompt", _speed(given.prompt_tokens, given.prefill_tokens_per_second, given.prefill_cycles_per_token)),
        ("text", _speed(given.tokens, given.tokens_per_second, given.cycles_per_token)),
    ]
    if given.microjoules_per_token is not None:
        read = f"{given.prefill_microjoules_per_token:.3g} uJ/token of the prompt"
        said = not_counted(given.read.energy) if given.read.energy else ""
        rows.append(("energy", f"{given.microjoules_per_token:.3g} uJ/token, {read}{said}"))
    clock = f"{given.target} at {given.hertz / 1e6:.0f} MHz" if given.hertz else given.target
    rows.append(("target", clock if given.read.cycles is None else f"{clock}, {_simulated(given)}"))
    rows.append(("memory", ", ".join(f"{name} {size(used)}" for name, used in given.bytes.items() if used)))
    rows.append(("weights", _weights(given.weights)))
    return rows + [("note", Text(note, "yellow")) for note in _notes(given)]


def _weights(found: Weights) -> str:
    again = {"in the layout of prefill": found.second_of_prefill, "as embedding rows": found.second_of_words}
    twice = [f"{size(bytes_)} {reader}" for reader, bytes_ in again.items() if bytes_]
    return f"{size(found.total)}, " + (f"of which copies: {', '.join(twice)}" if twice else "each once")


def _speed(tokens: int, rate: float | None, cycles: float | None) -> str:
    said = f"{tokens} token{'s' if tokens != 1 else ''}"
    speed = f", {rate:,.0f} tokens/s" if rate is not None else ""
    return said + speed + (f", {cycles:,.0f} cycles/token" if cycles is not None else "")


def _simulated(given: Generation) -> str:
    tokens = given.prompt_tokens + given.tokens
    return f"{tokens / given.wall_seconds:.3g} tokens simulated per second" if given.wall_seconds else "simulated"


def _notes(given: Generation) -> list[str]:
    if given.stopped == CONTEXT:
        return [f"the context of {given.context} tokens is full: the text stops there"]
    return ["the model ended the text"] if given.stopped == END else []


def _print_shares(target: Console, spent: Sequence[Share]) -> None:
    rows = [_cells(one) for one in spent[:MOST]]
    target.print()
    table = fitting_table(target.width, HEADINGS, rows, "operator", ("uJ", "layers", "engine"))
    print_titled(target, "where the time of a token goes (measured, in the middle of the text)", table)


def _cells(one: Share) -> list[str | Text]:
    energy = "" if one.microjoules is None else f"{one.microjoules:.3g}"
    return [one.operator, one.engine, str(one.layers), f"{one.cycles:,}", f"{one.share:.1%}", energy]
