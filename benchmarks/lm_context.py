"""Tokens/s and uJ/token of language models against the tokens that are cached, on the virtual Siracusa.

    python benchmarks/lm_context.py [--quick] [--picture docs/lm_context.svg] [--models peer,stories] [--greedy]

Decode steps with head and the choice of the most likely token, on NPU and weight memory: a model of the peer's size
with random weights, and stories260k where it is stored. A figure is the mean of up to nine steps around its number of
cached tokens. Simulated tokens/s are the speed of the virtual SoC itself, per second of this machine's processor time.
"""

from __future__ import annotations

import argparse
import statistics
import sys
import time
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

from rich.console import Console
from rich.table import Table

sys.path.insert(0, str(Path(__file__).parent.parent))
from benchmarks.line_charts import Chart, Panel, svg
from benchmarks.lm_model import Cost, Model, decode_costs, feeds, peer_model, program, stories_model

CACHED = (16, 32, 64, 128, 255)
QUICK_CACHED = (4, 16, 63)
COMPARED, REACH = 64, 4
PEER_SPEED, PEER_ENERGY = 340.0, 490.0
"""Tokens/s and uJ/token of its model on its chip, from its publication."""
STORIES_CONTEXT = 256
MODELS = ("peer", "stories")


@dataclass(frozen=True)
class Measured:
    model: Model
    cached: Sequence[int]
    costs: Sequence[Cost]
    """Behind so many cached tokens."""
    simulated: float
    """Tokens per second of processor time on this machine."""

    @property
    def growth(self) -> float:
        """Time with the fewest cached tokens as a part of that with the most."""
        return self.costs[0].cycles / self.costs[-1].cycles


def measure(model: Model, cached: Sequence[int], greedy: bool = False) -> Measured:
    """All tokens of a text are read, one by one."""
    made, tokens = program(model.decode(greedy)), cached[-1] + 1
    made.build_soc().build(feeds(1, 0))
    start = time.process_time()
    costs = decode_costs(made, tokens)
    seconds = time.process_time() - start
    return Measured(model, cached, [around(costs, behind) for behind in cached], tokens / seconds)


def around(costs: Sequence[Cost], behind: int) -> Cost:
    """The mean of steps before and after one, as many of each: where in the vocabulary a word is found takes time."""
    reach = min(REACH, behind, len(costs) - 1 - behind)
    near = costs[behind - reach : behind + reach + 1]
    return Cost(statistics.mean(one.cycles for one in near), statistics.mean(one.microjoules for one in near))


def models(names: Sequence[str], quick: bool) -> Iterator[Model]:
    if "peer" in names:
        yield peer_model(quick)
    stories = stories_model(STORIES_CONTEXT) if "stories" in names and not quick else None
    if stories is not None:
        yield stories


# ---- tables and picture ---------------------------------------------------------------------------------------------


def print_tables(found: Sequence[Measured]) -> None:
    made = Table(title="decoding on Siracusa")
    for heading in ("model", "cached tokens", "cycles", "tokens/s", "uJ/token"):
        made.add_column(heading, justify="left" if heading == "model" else "right")
    for one in found:
        for cached, cost in zip(one.cached, one.costs, strict=True):
            figures = f"{cost.cycles:,.0f}", f"{cost.per_second:,.0f}", f"{cost.microjoules:.1f}"
            made.add_row(one.model.name, str(cached), *figures)
    console = Console(width=120)
    console.print(made)
    for one in found:
        fewest, most = one.cached[0], one.cached[-1]
        growth = f"{fewest} cached tokens take {one.growth:.2f} of the time of {most}"
        console.print(f"{one.model.name}: {growth}; {one.simulated:.1f} simulated tokens/s")


def print_comparison(found: Measured) -> None:
    """The whole model against the peer's."""
    cost = found.costs[list(found.cached).index(COMPARED)]
    made = Table(title=f"whole model, {found.model.parameters / 1e6:.1f} M parameters, behind {COMPARED} tokens")
    for heading in ("", "tokens/s", "uJ/token"):
        made.add_column(heading, justify="right" if heading else "left")
    made.add_row("peer, silicon", f"{PEER_SPEED:.0f}", f"{PEER_ENERGY:.0f}")
    made.add_row("here, virtual SoC", f"{cost.per_second:,.0f}", f"{cost.microjoules:.0f}")
    made.add_row("ratio", f"{cost.per_second / PEER_SPEED:.2f}x", f"{PEER_ENERGY / cost.microjoules:.2f}x")
    Console(width=120).print(made)


def chart(found: Sequence[Measured]) -> Chart:
    speeds = {one.model.name: [cost.per_second for cost in one.costs] for one in found}
    energies = {one.model.name: [cost.microjoules for cost in one.costs] for one in found}
    panels = [Panel("tokens/s", speeds), Panel("uJ per token", energies)]
    return Chart("Decoding on Siracusa against cached tokens", [str(cached) for cached in found[0].cached], panels)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--quick", action="store_true", help="a tiny model, in seconds")
    parser.add_argument("--models", type=lambda text: text.split(","), default=list(MODELS))
    parser.add_argument("--greedy", action="store_true", help="the head keeps no scores")
    parser.add_argument("--picture", type=Path, help="also draw it into this file")
    options = parser.parse_args()
    cached = QUICK_CACHED if options.quick else CACHED
    found = [measure(model, cached, options.greedy) for model in models(options.models, options.quick)]
    if not found:
        parser.error(f"no model to measure; there are {', '.join(MODELS)}")
    print_tables(found)
    if "peer" in options.models and not options.quick:
        print_comparison(found[0])
    if options.picture:
        options.picture.write_text(svg(chart(found)))


if __name__ == "__main__":
    main()
