"""A language model on the virtual Siracusa, many tokens at once and one by one: where the cycles go, by engine.

    python benchmarks/lm_modes.py [--quick] [--picture docs/lm_modes.svg] [--words 512] [--blocks 16,64] [--ways cores]

The model has the peer's layers. Its networks have neither embedding nor head: here they are included, with 512 words
so that L2 holds all weights whichever way is chosen; with `--words 32000` both come from L3 but for the weight memory.
`prefill` reads a block of a prompt into the caches and has no head; `decode` gives one token behind 64 others. Cycles
are those of a profiled run. Layers follow one another: while the NPU computes, cores may be in the next layer already,
and what they wait for it there is that layer's.
"""

from __future__ import annotations

import argparse
import sys
from collections import defaultdict
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from rich.console import Console
from rich.table import Table

sys.path.insert(0, str(Path(__file__).parent.parent))
from benchmarks.bar_charts import BarChart, Group, svg
from benchmarks.lm_model import HERTZ, WAYS, Model, feeds, peer_model, program

from tilewright.errors import CompileError
from tilewright.ir.graph import Graph
from tilewright.profiling.profile import Interval, LayerProfile, Moved, Profile

BLOCKS, CACHED, WORDS = (16, 64), 64, 512
QUICK_BLOCKS, QUICK_CACHED = (8,), 16
HEAD = ("logits", "best")
CLASSES: Mapping[str, tuple[str, ...]] = {
    "attention": ("attention",),
    "norms": ("norm",),
    "rotations": ("rotate",),
    "linear": ("linear", "matmul", "gemm"),
    "movement": (
        "gather", "writerows", "identity", "slice", "reshape", "transpose", "concat", "split", "expand", "squeeze",
    ),
    "element by element": ("add", "mul", "function", "lookup", "sigmoid", "gate", "quantizelinear", "requant"),
}  # fmt: skip
"""Parts of operators' names that tell their class, the first that fits."""
ORDER = ("linear", "attention", "norms", "rotations", "element by element", "movement", "head")
OTHER = "other"


@dataclass(frozen=True)
class Case:
    """One mode, one way to compute it."""

    mode: str
    tokens: int
    way: str
    cycles: Mapping[str, int]
    """By class of operators; nothing where the model does not fit."""
    npu: int = 0
    """Cycles in which the NPU was at work, beside whatever the cores did."""
    microjoules: float = 0.0

    @property
    def total(self) -> int:
        return sum(self.cycles.values())

    @property
    def without_head(self) -> int:
        return self.total - self.cycles.get("head", 0)


def class_of(layer: LayerProfile) -> str:
    """`QLinear` says no more than that an operator computes with integers."""
    if layer.name.partition(".")[0].rstrip("0123456789_") in HEAD:
        return "head"
    operator = layer.operator.lower().removeprefix("qlinear")
    return next((name for name, parts in CLASSES.items() if any(part in operator for part in parts)), OTHER)


def case(mode: str, tokens: int, way: str, profile: Profile) -> Case:
    found: dict[str, int] = defaultdict(int)
    for layer in profile.layers:
        found[class_of(layer)] += layer.cycles
    ordered = {name: found[name] for name in (*ORDER, OTHER) if found[name]}
    spent = profile.energy.microjoules if profile.energy else 0.0
    return Case(mode, tokens, way, ordered, _npu_cycles(profile), spent)


def _npu_cycles(profile: Profile) -> int:
    jobs: tuple[Interval, ...] = tuple(
        tile.kernel for layer in profile.layers if layer.mode == "offload" for tile in layer.tiles
    )
    return Moved(jobs).cycles


def modes(model: Model, blocks: Sequence[int], cached: int) -> Iterator[tuple[str, int, int, Graph]]:
    """What it is called, how many tokens it reads, how many came before them, and the network."""
    for block in blocks:
        yield f"prefill of {block}", block, 0, model.prefill(block)
    yield f"decode behind {cached}", 1, cached, model.decode_behind(cached)


def measure(model: Model, blocks: Sequence[int], cached: int, ways: Sequence[str]) -> Iterator[Case]:
    for mode, tokens, position, graph in modes(model, blocks, cached):
        for way in ways:
            try:
                profile = program(graph, WAYS[way]).profile(feeds(tokens, position)).profile
            except CompileError as error:
                print(f"{mode}, {way}: {error}")
                yield Case(mode, tokens, way, {})
                continue
            yield case(mode, tokens, way, profile)


# ---- tables and picture ---------------------------------------------------------------------------------------------


def print_tables(found: Sequence[Case], model: Model) -> None:
    for mode in dict.fromkeys(one.mode for one in found):
        Console(width=120).print(table([one for one in found if one.mode == mode], f"{mode} tokens, {model.name}"))


def table(found: Sequence[Case], title: str) -> Table:
    made = Table(title=title)
    made.add_column("cycles")
    for one in found:
        made.add_column(one.way, justify="right")
    classes = [name for name in (*ORDER, OTHER) if any(name in one.cycles for one in found)]
    for name in classes:
        made.add_row(name, *(_count(one.cycles.get(name, 0)) for one in found))
    made.add_section()
    made.add_row("all", *(_count(one.total) for one in found))
    made.add_row("without the head", *(_count(one.without_head) for one in found))
    made.add_row("NPU at work meanwhile", *(_count(one.npu) for one in found))
    made.add_row("cycles per token", *(_count(one.total // one.tokens) for one in found))
    made.add_row("tokens/s", *(f"{one.tokens * HERTZ / one.total:,.0f}" if one.total else "-" for one in found))
    made.add_row("uJ per token", *(f"{one.microjoules / one.tokens:.1f}" if one.total else "-" for one in found))
    made.add_row("speed-up", *(f"{found[0].total / one.total:.2f}x" if one.total else "-" for one in found))
    return made


def _count(cycles: int) -> str:
    return f"{cycles:,}" if cycles else "-"


def chart(found: Sequence[Case]) -> BarChart:
    groups = []
    for mode in dict.fromkeys(one.mode for one in found):
        fits = [one for one in found if one.mode == mode and one.total]
        bars = {one.way: {name: count / one.tokens for name, count in one.cycles.items()} for one in fits}
        groups += [Group(mode, bars)] if bars else []
    return BarChart("A language model on Siracusa: cycles per token (each group has its own scale)", groups)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--quick", action="store_true", help="a tiny model, in seconds")
    parser.add_argument("--picture", type=Path, help="also draw it into this file")
    parser.add_argument("--words", type=int, default=WORDS, help="of the vocabulary")
    parser.add_argument("--blocks", type=lambda text: [*map(int, filter(None, text.split(",")))])
    parser.add_argument("--ways", type=lambda text: text.split(";"), default=list(WAYS), help="with ; between them")
    options = parser.parse_args()
    if unknown := set(options.ways) - set(WAYS):
        parser.error(f"no way '{min(unknown)}'; there are {'; '.join(WAYS)}")
    model, cached = peer_model(options.quick, options.words), QUICK_CACHED if options.quick else CACHED
    blocks = (QUICK_BLOCKS if options.quick else BLOCKS) if options.blocks is None else options.blocks
    found = list(measure(model, blocks, cached, options.ways))
    print_tables(found, model)
    if options.picture:
        options.picture.write_text(svg(chart(found)))


if __name__ == "__main__":
    main()
