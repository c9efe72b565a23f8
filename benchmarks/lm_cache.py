"""Generating with caches of keys and values, and without: seconds and millijoules of a text on the virtual Siracusa.

    python benchmarks/lm_cache.py [--quick] [--picture docs/lm_cache.svg]

With a cache each token is one decode step, and all of them are run. Without, every step computes the whole text again,
with a network made for just that length and with the head for the last token alone: measured at several lengths, and a
parabola through them. NPU and weight memory are in use, and the model is of the peer's size, head included.
"""

from __future__ import annotations

import argparse
import sys
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np
from rich.console import Console
from rich.table import Table

sys.path.insert(0, str(Path(__file__).parent.parent))
from benchmarks.line_charts import Chart, Panel, svg
from benchmarks.lm_model import HERTZ, Cost, Model, cost, decode_costs, feeds, peer_model, program

from tilewright.ir.types import Array

LENGTHS = (1, 16, 64, 128, 256)
QUICK_LENGTHS = (1, 16, 32)
PARABOLA = 2
PEER = {"with cache": (0.75, 125.0), "without cache": (17.6, 3193.0)}
"""Seconds and millijoules of 256 steps of its model on its chip."""
WITH, WITHOUT = PEER


@dataclass(frozen=True)
class Measured:
    """What a token costs as the last one of so many."""

    costs: Mapping[int, Cost]
    degree: int
    """Of the curve through them; 1 for lines from one to the next."""

    @property
    def lengths(self) -> list[int]:
        return list(self.costs)

    def cycles(self, lengths: Sequence[int]) -> Array:
        return self._between(lengths, [one.cycles for one in self.costs.values()])

    def microjoules(self, lengths: Sequence[int]) -> Array:
        return self._between(lengths, [one.microjoules for one in self.costs.values()])

    def _between(self, lengths: Sequence[int], values: Sequence[float]) -> Array:
        if self.degree == 1:
            return np.interp(lengths, self.lengths, values)
        curve = np.polyfit(self.lengths, values, min(self.degree, len(values) - 1))
        return np.polyval(curve, lengths)

    def total(self, tokens: int) -> tuple[float, float]:
        """Seconds and millijoules of so many tokens, one behind the other."""
        lengths = range(1, tokens + 1)
        return float(self.cycles(lengths).sum()) / HERTZ, float(self.microjoules(lengths).sum()) / 1e3

    @property
    def worst_fit(self) -> float:
        """How far the curve is from what was measured, as a fraction of the most expensive token."""
        values = np.array([one.cycles for one in self.costs.values()])
        return float(np.abs(self.cycles(self.lengths) - values).max() / values.max())


def with_cache(model: Model, tokens: int) -> Measured:
    found = decode_costs(program(model.decode()), tokens)
    return Measured({1 + cached: one for cached, one in enumerate(found)}, 1)


def without_cache(model: Model, lengths: Sequence[int]) -> Measured:
    found = {length: cost(program(model.without_cache(length)).run(feeds(length, 0))) for length in lengths}
    return Measured(found, PARABOLA)


# ---- tables and picture ---------------------------------------------------------------------------------------------


def print_tables(found: Mapping[str, Measured], lengths: Sequence[int], name: str, compare: bool) -> None:
    console, tokens = Console(width=120), lengths[-1]
    for way, one in found.items():
        console.print(step_table(way, one, lengths))
    made = Table(title=f"{tokens} tokens, {name}")
    for heading in ("", "seconds", "mJ", "peer, seconds", "peer, mJ", "peer / ours, time", "energy"):
        made.add_column(heading, justify="right" if heading else "left")
    for way, one in found.items():
        seconds, millijoules = one.total(tokens)
        peer = PEER[way] if compare else (0.0, 0.0)
        ratios = f"{peer[0] / seconds:.1f}", f"{peer[1] / millijoules:.1f}"
        theirs = (f"{peer[0]:.2f}", f"{peer[1]:,.0f}", *ratios) if compare else ("-",) * 4
        made.add_row(way, f"{seconds:.3f}", f"{millijoules:.1f}", *theirs)
    times, energies = zip(*(one.total(tokens) for one in found.values()), strict=True)
    console.print(made)
    console.print(f"without a cache: {times[1] / times[0]:.1f}x the time, {energies[1] / energies[0]:.1f}x the energy")
    console.print(
        f"the parabola is within {100 * found[WITHOUT].worst_fit:.2f} % of the longest text at all lengths measured"
    )


def step_table(way: str, found: Measured, lengths: Sequence[int]) -> Table:
    made = Table(title=f"one token {way}")
    for heading in ("tokens with it", "cycles", "ms", "uJ"):
        made.add_column(heading, justify="right")
    for length in lengths:
        one = found.costs[length]
        made.add_row(str(length), f"{one.cycles:,.0f}", f"{1e3 * one.seconds:.3f}", f"{one.microjoules:,.1f}")
    return made


def chart(found: Mapping[str, Measured], lengths: Sequence[int]) -> Chart:
    times = {way: [1e3 * one.costs[length].seconds for length in lengths] for way, one in found.items()}
    energies = {way: [one.costs[length].microjoules for length in lengths] for way, one in found.items()}
    panels = [Panel("ms per token", times), Panel("uJ per token", energies)]
    return Chart("A token against the tokens of its text, on Siracusa", [str(length) for length in lengths], panels)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--quick", action="store_true", help="a tiny model, in seconds")
    parser.add_argument("--picture", type=Path, help="also draw it into this file")
    options = parser.parse_args()
    model, lengths = peer_model(options.quick), QUICK_LENGTHS if options.quick else LENGTHS
    found = {WITH: with_cache(model, lengths[-1]), WITHOUT: without_cache(model, lengths)}
    print_tables(found, lengths, model.name, not options.quick)
    if options.picture:
        options.picture.write_text(svg(chart(found, lengths)))


if __name__ == "__main__":
    main()
