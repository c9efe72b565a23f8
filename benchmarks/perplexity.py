"""Perplexity of a language model that was turned into an ONNX graph, by the reference evaluator of our arithmetic.

    python perplexity.py [prefill.onnx ...] [--quantise 8 4] [--learn-rounding] [--stories 4] [--folder DIR]

Each line of the evaluation text is a story, encoded with the beginning in front and cut to the tokens that the graph
takes; what is averaged is the negative log likelihood of every next token. Without a graph it builds the float one from
the checkpoint, and quantises it to weights of the given bits, as `tilewright generate` does it. Ranges and roundings
come from the calibration text. A quantised graph is evaluated as the integer network that it stands for, and what it
still has in floats is counted.
"""

from __future__ import annotations

import argparse
import sys
from collections.abc import Iterator
from pathlib import Path

import numpy as np
from rich.console import Console
from rich.table import Table

sys.path.insert(0, str(Path(__file__).parent.parent))
from tests.support.networks import ROOT

from tilewright import pipeline
from tilewright.frontends.checkpoint.decoder import decoder_model
from tilewright.frontends.checkpoint.reading import read_checkpoint
from tilewright.ir.evaluate import evaluate
from tilewright.ir.graph import Graph
from tilewright.ir.types import Array
from tilewright.language.kv_scale_balance import levelled
from tilewright.language.preparing import Quantising, quantiser_options, samples
from tilewright.language.shared_words import share_words
from tilewright.language.text.tokenizer_file import load_tokenizer
from tilewright.ops.dequantizelinear import DequantizeLinear
from tilewright.ops.quantizelinear import QuantizeLinear
from tilewright.passes import apply
from tilewright.quantiser.quantise import quantise

TOKENS = 256
ENDS = (QuantizeLinear, DequantizeLinear)


def stories(folder: Path, tokens: int, count: int) -> list[list[int]]:
    tokenizer = load_tokenizer(folder / "stories260k")
    lines = (folder / "text" / "evaluation.txt").read_text(encoding="utf-8").splitlines()
    return [tokenizer.encode(line)[:tokens] for line in lines if line][: count or None]


def quantised(graph: Graph, folder: Path, bits: int, learned: bool) -> Graph:
    """As `tilewright generate --quantise` does it."""
    checkpoint = read_checkpoint(folder / "stories260k")
    text = (folder / "text" / "calibration.txt").read_text(encoding="utf-8")
    quantising = Quantising(text, bits, True if learned else None)
    pieces = samples(checkpoint.config, load_tokenizer(folder / "stories260k"), quantising, TOKENS)
    even = pipeline.import_model(decoder_model(levelled(checkpoint, graph, pieces), TOKENS))
    made = apply(quantise(even, pieces, quantiser_options(quantising)).graph, pipeline.QUANTISING)
    return share_words(made, quantising.learns_rounding)[0]


def beginnings(graph: Graph, count: int) -> dict[str, Array]:
    """Where texts begin, if a graph asks for it: at the first position."""
    return {name: np.zeros((count, 1), np.int32) for name in graph.inputs[1:]}


def likelihoods(graph: Graph, ids: list[int]) -> Array:
    """The negative log likelihood of each token of a story but the first."""
    name = graph.inputs[0]
    padded = np.zeros(graph.types[name].shape, graph.types[name].element)
    padded[0, : len(ids)] = ids
    first = {other: value[0] for other, value in beginnings(graph, 1).items()}
    logits = evaluate(graph, {name: padded} | first)[graph.outputs[0]][0].astype(np.float64)
    logits -= logits.max(-1, keepdims=True)
    logits -= np.log(np.exp(logits).sum(-1, keepdims=True))
    return -logits[np.arange(len(ids) - 1), ids[1:]]


def perplexity(graph: Graph, texts: list[list[int]]) -> tuple[float, int]:
    found = np.concatenate([likelihoods(graph, ids) for ids in texts])
    return float(np.exp(found.mean())), found.size


def floats_inside(graph: Graph) -> int:
    """Nodes that compute with floats, other than between floats and integers at the ends."""
    kinds = [node for node in graph.nodes if not isinstance(node.op, ENDS)]
    return sum(graph.types[node.key].dtype == "float32" for node in kinds)


def main() -> None:
    options = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    options.add_argument("models", nargs="*", type=Path)
    options.add_argument("--folder", type=Path, default=ROOT / "slm")
    options.add_argument("--stories", type=int, default=0, help="only so many of them")
    options.add_argument("--quantise", type=int, nargs="*", default=[], metavar="BITS", help="of weights")
    options.add_argument("--learn-rounding", action="store_true", help="also of weights with 8 bits")
    given = options.parse_args()
    table = Table(title="perplexity")
    for column in ("network", "tokens", "perplexity", "nodes in floats"):
        table.add_column(column, justify="left" if column == "network" else "right")
    for name, network in networks(given):
        graph = apply(network, pipeline.QUANTISING)
        length = graph.types[graph.inputs[0]].shape[1]
        found, tokens = perplexity(graph, stories(given.folder, length, given.stories))
        table.add_row(name, str(tokens), f"{found:.4f}", str(floats_inside(graph)))
    Console().print(table)


def networks(given: argparse.Namespace) -> Iterator[tuple[str, Graph]]:
    for path in given.models:
        yield path.name, pipeline.import_model(path)
    if not given.models:
        graph = pipeline.import_model(decoder_model(read_checkpoint(given.folder / "stories260k"), TOKENS))
        yield "float", graph
        for bits in given.quantise:
            yield f"{bits}-bit weights", quantised(graph, given.folder, bits, given.learn_rounding)


if __name__ == "__main__":
    main()
