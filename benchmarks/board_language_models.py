"""Estimated tokens per second of a language model on boards: a step of decoding as a network with its caches as states.

`generate` itself has no boards among its targets.

    python benchmarks/board_language_models.py MODEL [--boards NAME ...] [--context N] [--tokens N]

MODEL is a folder or a GGUF file; weights in blocks stay so. A text is read token by token, and each step is
held to the reference; what is printed is the mean of these steps.
"""

from __future__ import annotations

import argparse
import sys
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path

import numpy as np

sys.path.insert(0, str(Path(__file__).parent.parent))
import tilewright as tw
from tilewright import pipeline
from tilewright.ir.evaluate import evaluate, states_after
from tilewright.ir.graph import Graph
from tilewright.ir.types import Array
from tilewright.language.preparing import prepare
from tilewright.language.reading import read_decoder, tokenizer_of
from tilewright.language.text.tokenizer_file import load_tokenizer
from tilewright.pipeline import Compiled
from tilewright.program import Program
from tilewright.run.simulated import SocRun
from tilewright.target.settings import Settings

BOARDS = ("esp32-p4", "rp2350-riscv", "rp2350-arm", "nucleo-h7a3zi")
FIRST, STEP, WORDS = 3, 7, 89
LEAST = 1e-9
"""Tokens that are read: some of the first words, in no order that matters."""


def decode_graph(model: Path, context: int) -> Graph:
    decoder = read_decoder(model).with_blocks("q8")
    return prepare(decoder, load_tokenizer(tokenizer_of(model)), context, 1).decode


def _feeds(graph: Graph, position: int) -> dict[str, Array]:
    values = {"ids": FIRST + STEP * position % WORDS, "position": position}
    return {name: np.full(graph.types[name].shape, values[name], graph.types[name].element) for name in graph.inputs}


def _report(graph: Graph, board: str, tokens: int) -> None:
    compiled = Compiled(*pipeline.stages(graph, board, "decode", Settings()))
    program = Program(compiled, "decode", None, 0.0)
    done = program.build_soc().run_steps([_feeds(graph, position) for position in range(tokens)])
    cycles = sum(one.cycles for one in done) / tokens
    clock = compiled.schedule.target.runner.clock_mhz or 1.0
    taken = program.analysis
    memory = f"RAM {taken.planned_ram_bytes:,}, constants {taken.constant_bytes:,} bytes"
    print(
        f"{board}: {clock * 1e6 / cycles:.1f} tokens/s, {cycles:,.0f} cycles a token at {clock:g} MHz; {memory}; "
        f"off by {_error(graph, done):.1e}",
        flush=True,
    )


def _error(graph: Graph, done: Sequence[SocRun]) -> float:
    """The largest difference from the reference of a step's outputs, of their largest element."""
    worst = 0.0
    for position, one in enumerate(done):
        values = evaluate(graph, _feeds(graph, position))
        for name, found in one.outputs.items():
            wanted = values[name].astype(np.float64)
            worst = max(worst, float(np.abs(found - wanted).max() / max(np.abs(wanted).max(), LEAST)))
        kept = states_after(graph, values)
        graph = replace(graph, states=tuple(replace(state, initial=kept[state.name]) for state in graph.states))
    return worst


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("model", type=Path)
    parser.add_argument("--boards", nargs="*", default=list(BOARDS))
    parser.add_argument("--context", type=int, default=256)
    parser.add_argument("--tokens", type=int, default=4)
    options = parser.parse_args()
    graph = decode_graph(options.model, options.context)
    for board in options.boards:
        try:
            _report(graph, board, options.tokens)
        except tw.CompileError as error:
            print(f"{board}: {error}", flush=True)


if __name__ == "__main__":
    main()
