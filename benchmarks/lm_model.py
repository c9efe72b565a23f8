"""Decoders that the studies of language models measure, in integers, as the graphs of each way to run them.

The peer's model has 8 layers, 64 wide, 16 heads of 4, 256 between the products of a feed-forward layer, and 32,000
words in and out. Nobody has trained it: its weights are random. Cycles depend on values a little, most of all on how
far into the vocabulary the most likely word is: texts are read token by token, and no cache is left empty.
"""

from __future__ import annotations

import sys
import time
from collections.abc import Mapping
from dataclasses import dataclass, replace
from pathlib import Path

import numpy as np

sys.path.insert(0, str(Path(__file__).parent.parent))
from tests.support.networks import ROOT

from tilewright import pipeline, targets
from tilewright.frontends.checkpoint.config import Checkpoint, Config, shapes
from tilewright.frontends.checkpoint.decoder import decoder_model
from tilewright.frontends.checkpoint.reading import read_checkpoint
from tilewright.ir.at_sizes import at_sizes
from tilewright.ir.evaluate import evaluate, states_after
from tilewright.ir.graph import Graph, Node, rebuild
from tilewright.ir.types import Array
from tilewright.language.caching import with_cache, without_outputs
from tilewright.language.decoder import TOKENS, of_any_tokens
from tilewright.language.greedy_head import Finding
from tilewright.language.preparing import (
    LOGITS,
    Quantising,
    in_modes,
    quantiser_options,
    with_best,
    with_one_attention,
)
from tilewright.ops.dequantizelinear import DequantizeLinear
from tilewright.ops.slice import of_ranges
from tilewright.pipeline import Compiled
from tilewright.program import Program
from tilewright.quantiser.quantise import quantise
from tilewright.run.result import Result
from tilewright.target.mapping import only_engines
from tilewright.target.settings import Settings

PEER = Config("llama", 64, 256, 8, 16, 16, 4, 32_000, 256, 1e-5)
QUICK = Config("llama", 32, 64, 2, 4, 4, 8, 96, 64, 1e-5)
"""As small as it may be: for trying a study, not for its figures."""
STORIES = ROOT / "slm" / "stories260k"
HERTZ = 360e6
"""The clock of the peer's chip, and of the energy model."""
TARGET = "siracusa"
CALIBRATION_TOKENS, SAMPLES = 13, 4
"""A number of tokens that no other axis of these models has, and how many texts of them ranges come from."""
WORDS, STRIDE = 89, 7
"""Of the texts that are read: these have so many different words, in no order that matters."""
PLANNING_SECONDS = 5.0
WAYS: Mapping[str, Settings] = {
    "cores": Settings(engines=("cluster",), weight_memory=False, time_limit=PLANNING_SECONDS),
    "NPU, weights in L1": Settings(weight_memory=False, time_limit=PLANNING_SECONDS),
    "NPU + weight memory": Settings(time_limit=PLANNING_SECONDS),
}
CORES, STREAMED, RESIDENT = WAYS


@dataclass(frozen=True)
class Cost:
    """Of one call."""

    cycles: float
    microjoules: float

    @property
    def seconds(self) -> float:
        return self.cycles / HERTZ

    @property
    def per_second(self) -> float:
        return HERTZ / self.cycles


# ---- models ---------------------------------------------------------------------------------------------------------


@dataclass(frozen=True)
class Model:
    name: str
    config: Config
    graph: Graph
    """In integers, of any number of tokens at once, without a cache."""
    context: int
    """Tokens that caches have room for."""

    def decode(self, greedy: bool = False, way: str = RESIDENT) -> Graph:
        """One token, with caches; gives scores and the most likely token, or the latter alone."""
        found = only_engines(targets.find(TARGET), WAYS[way].engines)
        return in_modes(self.graph, self.context, 1, Finding.by(found) if greedy else None).decode

    def decode_behind(self, cached: int) -> Graph:
        """The same with so many tokens read already."""
        prefill, graph = self.prefill(cached), self.decode()
        kept = states_after(prefill, evaluate(prefill, feeds(cached, 0)))
        return replace(graph, states=tuple(replace(state, initial=kept[state.name]) for state in graph.states))

    def prefill(self, block: int) -> Graph:
        """A block of a prompt, with caches; gives nothing else."""
        return without_outputs(with_cache(self._of_tokens(block), self.context))

    def without_cache(self, tokens: int) -> Graph:
        """A whole text; gives scores and the most likely token of what follows it."""
        return with_best(_for_last_token(self._of_tokens(tokens)))

    def _of_tokens(self, tokens: int) -> Graph:
        return at_sizes(self.graph, {TOKENS: tokens})

    @property
    def parameters(self) -> int:
        return sum(int(np.prod(shape)) for _, shape in shapes(self.config))


def peer_model(quick: bool = False, words: int = PEER.words) -> Model:
    """Of the peer's size, with so many words; or a tiny one."""
    config = QUICK if quick else replace(PEER, words=words)
    name = f"{config.layers} layers, {config.words:,} words"
    return _quantised(name, random_checkpoint(config), config.context)


def stories_model(context: int) -> Model | None:
    """A trained model of 260 thousand parameters, where the stored networks have it."""
    if not STORIES.is_dir():
        return None
    return _quantised("stories260k", read_checkpoint(STORIES), context)


def random_checkpoint(config: Config) -> Checkpoint:
    random = np.random.default_rng(0)
    weights = {name: np.ones(shape, np.float32) for name, shape in shapes(config) if "norm" in name}
    for name, shape in shapes(config):
        if name not in weights:
            spread = 1.0 if "embedding" in name else shape[-1] ** -0.5
            weights[name] = (spread * random.standard_normal(shape)).astype(np.float32)
    return Checkpoint(config, weights)


def _quantised(name: str, checkpoint: Checkpoint, context: int) -> Model:
    """On random tokens: ranges are not what these studies ask about."""
    config, tokens = checkpoint.config, CALIBRATION_TOKENS
    graph = of_any_tokens(lambda count: pipeline.import_model(decoder_model(checkpoint, count, context)), tokens)
    ids = np.random.default_rng(1).integers(0, config.words, (SAMPLES, 1, tokens)).astype(np.int32)
    options = replace(quantiser_options(Quantising("")), processes=1)
    made = quantise(graph, {"ids": ids, "position": np.zeros((SAMPLES, 1), np.int32)}, options)
    fused = with_one_attention(lambda count: at_sizes(made.graph, {TOKENS: count}), tokens)
    return Model(name, config, fused, context)


# ---- graphs ---------------------------------------------------------------------------------------------------------


def _for_last_token(graph: Graph) -> Graph:
    """Only the last token goes on from the last sum on, and scores are integers as in the other modes."""
    end = graph.producers[graph.outputs[0]]
    scores = end.inputs[0] if isinstance(end.op, DequantizeLinear) else end.key
    last_sum = _last_sum(graph, scores)
    builder, row = rebuild(graph), ""
    for node in graph.nodes:
        if node.key == graph.outputs[0] != scores:
            continue
        inputs = [row if name == last_sum and row else name for name in node.inputs]
        builder.add(node.op, inputs, node.outputs, node.name)
        if node.key == last_sum:
            op = of_ranges(graph.types[last_sum].shape, {1: (-1, 2**31 - 1, 1)})
            (row,) = builder.add(op, [last_sum], name="last_token")
    builder.output(scores, LOGITS)
    return builder.build()


def _last_sum(graph: Graph, tensor: str) -> str:
    """The nearest tensor before this one that is made of two others."""
    node = graph.producers[tensor]
    made = _made(graph, node)
    return tensor if len(made) > 1 else _last_sum(graph, made[0])


def _made(graph: Graph, node: Node) -> list[str]:
    return [name for name in node.inputs if name in graph.producers]


# ---- programs and runs ----------------------------------------------------------------------------------------------


def program(graph: Graph, settings: Settings = WAYS[RESIDENT]) -> Program:
    start = time.perf_counter()
    compiled = Compiled(*pipeline.stages(graph, TARGET, "model", settings))
    return Program(compiled, "model", None, time.perf_counter() - start)


def feeds(tokens: int, position: int) -> dict[str, Array]:
    """The tokens of a text from a position on."""
    ids = 3 + STRIDE * np.arange(position, position + tokens, dtype=np.int32) % WORDS
    return {"ids": ids[None], "position": np.array([position], np.int32)}


def decode_costs(made: Program, tokens: int) -> list[Cost]:
    """Of every step of a text: the costs of a token behind 0, 1, 2 others."""
    done = made.build_soc().run_steps([feeds(1, position) for position in range(tokens)])
    return [Cost(one.cycles, one.energy.microjoules if one.energy else 0.0) for one in done]


def cost(result: Result) -> Cost:
    return Cost(result.cycles or 0, result.energy.microjoules if result.energy else 0.0)
