"""Perplexity of a trained model whose weights are rounded to blocks of few bits, in three ways.

    python benchmarks/block_weights.py [--formats q4_0 q8_0] [--folder DIR]

`plain` is what the package `gguf` makes of a matrix (largest weight, nearest level), `searched` our scales without a
text, `calibrated` our rounding with 16,000 tokens of the calibration text. All three have the same formats for the same
tensors. Each line of the evaluation text is a story, encoded with the beginning in front and cut to 256 tokens.
"""

from __future__ import annotations

import argparse
import sys
from collections.abc import Sequence
from pathlib import Path

import gguf
import numpy as np
from rich.console import Console
from rich.table import Table

sys.path.insert(0, str(Path(__file__).parent.parent))
from tests.support.networks import ROOT

from tilewright.frontends.checkpoint.config import Checkpoint
from tilewright.frontends.checkpoint.gguf_blocks import FORMATS
from tilewright.frontends.checkpoint.reading import read_checkpoint
from tilewright.ir.types import Array
from tilewright.language.text.tokenizer_file import load_tokenizer
from tilewright.language.weights.perplexity import perplexity, pieces_of
from tilewright.language.weights.rounding import NUMBERS, Choice, Rounding

TOKENS, CALIBRATION = 256, 16_000
NAMES = ("q8_0", "q5_1", "q5_0", "q4_1", "q4_0")


def plain(checkpoint: Checkpoint, choice: Choice) -> Checkpoint:
    found = {}
    for name, value in checkpoint.floats().items():
        kind = gguf.GGMLQuantizationType(NUMBERS[choice.format(name, value.shape, checkpoint.config)])
        found[name] = gguf.quants.dequantize(gguf.quants.quantize(value, kind), kind).reshape(value.shape)
    return Checkpoint(checkpoint.config, found)


def ours(checkpoint: Checkpoint, choice: Choice, pieces: Sequence[Array]) -> Checkpoint:
    rounding, found = Rounding(checkpoint, choice, pieces), {}
    for name, rows in rounding.weights():
        shape = checkpoint.weights[name].shape
        found[name] = FORMATS[rounding.kind(name, shape)].values(rows).reshape(shape)
    return Checkpoint(checkpoint.config, found)


def main() -> None:
    options = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    options.add_argument("--formats", nargs="*", default=NAMES)
    options.add_argument("--folder", type=Path, default=ROOT / "slm")
    given = options.parse_args()
    checkpoint, tokenizer = (read(given.folder / "stories260k") for read in (read_checkpoint, load_tokenizer))
    text, new = ((given.folder / "text" / f"{name}.txt").read_text() for name in ("calibration", "evaluation"))
    pieces = pieces_of(text, tokenizer, checkpoint.config, CALIBRATION, by_lines=True)
    stories = [np.array(tokenizer.encode(line)[:TOKENS]) for line in new.splitlines() if line]
    table = Table(title=f"perplexity (float {perplexity(checkpoint, stories).value:.4f})")
    for column in ("weights", "plain", "searched", "calibrated"):
        table.add_column(column, justify="left" if column == "weights" else "right")
    for name in given.formats:
        choice = Choice(name, name)
        made = plain(checkpoint, choice), ours(checkpoint, choice, []), ours(checkpoint, choice, pieces)
        table.add_row(name, *(f"{perplexity(one, stories).value:.4f}" for one in made))
    Console().print(table)


if __name__ == "__main__":
    main()
