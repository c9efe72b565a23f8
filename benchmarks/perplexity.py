"""Perplexity of a language model that was turned into an ONNX graph, by the reference evaluator of our arithmetic.

    python perplexity.py prefill.onnx [more.onnx ...] [--stories 4] [--folder DIR]

Each line of the evaluation text is a story, encoded with the beginning in front and cut to the tokens that the graph
takes; what is averaged is the negative log likelihood of every next token. Without a graph it builds the float one from
the checkpoint. A quantised graph is evaluated as the integer network that it stands for, and what it still has in
floats is counted.
"""

from __future__ import annotations

import argparse
import sys
from pathlib import Path

import numpy as np
from rich.console import Console
from rich.table import Table

sys.path.insert(0, str(Path(__file__).parent.parent))
sys.path.insert(0, str(Path(__file__).parent.parent / "examples"))
from tests.support.networks import ROOT

from bpe_tokenizer import Tokenizer
from llama_checkpoint import build
from tilewright import pipeline
from tilewright.ir.evaluate import evaluate
from tilewright.ir.graph import Graph
from tilewright.ir.types import Array
from tilewright.ops.dequantizelinear import DequantizeLinear
from tilewright.ops.quantizelinear import QuantizeLinear
from tilewright.passes import apply

TOKENS = 256
ENDS = (QuantizeLinear, DequantizeLinear)


def stories(folder: Path, tokens: int, count: int) -> list[list[int]]:
    tokenizer = Tokenizer(folder / "stories260k" / "tokenizer.json")
    lines = (folder / "text" / "evaluation.txt").read_text(encoding="utf-8").splitlines()
    return [tokenizer.encode(line)[:tokens] for line in lines if line][: count or None]


def likelihoods(graph: Graph, ids: list[int]) -> Array:
    """The negative log likelihood of each token of a story but the first."""
    (name,) = graph.inputs
    padded = np.zeros(graph.types[name].shape, np.int64)
    padded[0, : len(ids)] = ids
    logits = evaluate(graph, {name: padded})[graph.outputs[0]][0].astype(np.float64)
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
    given = options.parse_args()
    sources = given.models or [build(given.folder / "stories260k", TOKENS)]
    table = Table(title="perplexity")
    for column in ("network", "tokens", "perplexity", "nodes in floats"):
        table.add_column(column, justify="left" if column == "network" else "right")
    for source in sources:
        graph = apply(pipeline.import_model(source), pipeline.QUANTISING)
        length = graph.types[graph.inputs[0]].shape[1]
        found, tokens = perplexity(graph, stories(given.folder, length, given.stories))
        name = source.name if isinstance(source, Path) else "float"
        table.add_row(name, str(tokens), f"{found:.4f}", str(floats_inside(graph)))
    Console().print(table)


if __name__ == "__main__":
    main()
