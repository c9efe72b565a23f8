"""From a network, a loss and an optimizer to the three graphs of a training."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import field

import numpy as np

from tilewright.errors import CompileError
from tilewright.ir.graph import Builder, Graph, Node
from tilewright.ops.add import Add
from tilewright.ops.where import Where
from tilewright.records import dataclass
from tilewright.training import lora
from tilewright.training.batch_statistics import BatchStatistics, statistics_of
from tilewright.training.cells import unrolled
from tilewright.training.channels import with_parts
from tilewright.training.differentiate import depending, gradients, without_unread
from tilewright.training.dropout import COUNTER, Dropout
from tilewright.training.finite import guard_states
from tilewright.training.forward import Rewrite, Weights, add_nodes, begun, with_activation_apart
from tilewright.training.graphs import FIRST, Training, checked
from tilewright.training.growing import Growing
from tilewright.training.in_step import check_accumulated, updated_in_step
from tilewright.training.losses import CrossEntropy, Loss, added, compared
from tilewright.training.optimizers import SGD, Optimizer
from tilewright.training.trainable import chosen, known_of, weights_of

STATISTICS = ("frozen", "trained")


@dataclass(frozen=True)
class Recipe:
    """How a network is trained."""

    loss: Loss = field(default_factory=CrossEntropy)
    optimizer: Optimizer = field(default_factory=SGD)
    trainable: str | Sequence[str] = "all"
    """all, last:2, names of weights and modules, rows of weights (NAME[0:8]), also several of these, as one text with
    commas; lora:4 or lora:4:NAME,NAME."""
    accumulate: int = 1
    """Steps before an update, which takes the mean of their gradients."""
    statistics: str = "frozen"
    """Whether batch normalisation is by the batch and its running values follow (trained), or by these (frozen)."""
    dropout: Mapping[str, float] = field(default_factory=dict)
    """Tensors of which elements are dropped, by chance, and the share of these."""
    seed: int = 0
    output: str = ""
    """The output that the loss is taken of; the first one unless it is named."""
    in_place: bool = False
    """Whether each step updates the weights itself, without a buffer for their gradients."""


def make_training(graph: Graph, recipe: Recipe, known: Sequence[str] | frozenset[str] = ()) -> Training:
    """`known` are the parameters that a framework trains, if it says."""
    _check(recipe)
    weights, graph = _weights(graph, recipe, known)
    output = compared(graph, _output(graph, recipe), recipe.loss)
    train = _train(graph, weights, output, recipe)
    update, moments = _update(graph.name, weights, recipe)
    infer = begun(graph, weights, f"{graph.name}_infer")
    add_nodes(infer, graph, graph.nodes)
    infer.copy_outputs(graph)
    learning, buffers = weights.learning, tuple(map(buffer_of, weights.learning))
    graphs = train, update, infer.build()
    made = checked(Training(graph.name, *graphs, learning, buffers, moments, weights.statistics, _notes(recipe)))
    return updated_in_step(made) if recipe.in_place else made


def buffer_of(weight: str) -> str:
    return f"{weight}.gradient"


def _check(recipe: Recipe) -> None:
    if recipe.accumulate < 1:
        raise CompileError(f"accumulate {recipe.accumulate}", "is no number of steps", "use 1 or more")
    if recipe.in_place:
        check_accumulated(recipe.accumulate)
    if recipe.seed < 0:
        raise CompileError(f"seed {recipe.seed}", "is less than 0", "use 0 or more")
    if recipe.statistics not in STATISTICS:
        raise CompileError(f"statistics '{recipe.statistics}'", "is unknown", f"use {' or '.join(STATISTICS)}")


def _weights(graph: Graph, recipe: Recipe, known: Sequence[str] | frozenset[str]) -> tuple[Weights, Graph]:
    names = {weight.name for weight in weights_of(graph, known)}
    graph, asked, parts = with_parts(graph, names, recipe.trainable)
    everything = weights_of(graph, {*known, *parts})
    running = statistics_of(graph) if recipe.statistics == "trained" else ()
    if lora.is_asked(recipe.trainable):
        found = lora.adapted(graph, everything, asked, recipe.seed)
        graph, learning = found.graph, found.learning
    else:
        learning = chosen(everything, asked, graph, known_of(everything, {*known, *parts} if known else ()))
        if recipe.trainable == "all":
            learning = _within_reach(graph, learning, _output(graph, recipe))
    return Weights(learning, running, {name: graph.constants[name] for name in (*learning, *running)}), graph


def _within_reach(graph: Graph, learning: tuple[str, ...], output: str) -> tuple[str, ...]:
    """Without what is in front of a frozen part: integers, or a quantiser, through which nothing is learned."""
    reached = {output}
    for node in reversed(graph.nodes):
        if reached.intersection(node.outputs) and node.op.kind not in ("DequantizeLinear", "QuantizeLinear"):
            reached.update(name for name in node.inputs if name and graph.types[name].dtype == "float32")
    found = tuple(name for name in learning if name in reached)
    if not found:
        what = "no weight in floats is behind the last quantised layer"
        raise CompileError("trainable 'all'", what, "give the network a float head, or train the float network")
    return found


def _output(graph: Graph, recipe: Recipe) -> str:
    if not recipe.output:
        return graph.outputs[0]
    if recipe.output not in graph.output_names:
        raise CompileError(f"output '{recipe.output}'", "is none", f"there are {', '.join(graph.output_names)}")
    return graph.outputs[graph.output_names.index(recipe.output)]


def _train(graph: Graph, weights: Weights, output: str, recipe: Recipe) -> Graph:
    builder = begun(graph, weights, f"{graph.name}_train")
    active = depending(graph.nodes, weights.learning, _types(graph))
    drops = {tensor: share for tensor, share in recipe.dropout.items() if share}
    _check_drops(graph, drops)

    def unroll(grown: Builder, node: Node) -> bool:
        return bool(active.intersection(node.outputs)) and (with_activation_apart(grown, node) or unrolled(grown, node))

    rewrites: list[Rewrite] = [Dropout(drops, recipe.seed), BatchStatistics(weights.statistics), unroll]
    add_nodes(builder, graph, graph.nodes, rewrites)
    for state in graph.states:
        builder.set_next_state(state.name, state.after)
    loss = added(builder, recipe.loss, output)
    found = gradients(builder, loss, weights.learning)
    _accumulate(builder, weights.learning, found)
    guard_states(builder, loss, tuple(weights.statistics))
    builder.output(loss, "loss")
    without_unread(builder, {})
    return builder.build()


def _types(graph: Graph) -> Builder:
    return Builder("types", types=dict(graph.types))


def _check_drops(graph: Graph, drops: Mapping[str, float]) -> None:
    made = {tensor for node in graph.nodes for tensor in node.outputs}
    for tensor in drops:
        if tensor not in made:
            raise CompileError(f"dropout of '{tensor}'", "no layer has a result of that name", "look at --emit graph")


def _accumulate(builder: Builder, learning: Sequence[str], found: Mapping[str, str]) -> None:
    """The first step of an accumulation overwrites the buffers, the others add to them."""
    first = builder.state(FIRST, np.array([True]))
    builder.set_next_state(FIRST, builder.constant(np.array([False]), "not_first"))
    for weight in learning:
        name, gradient = buffer_of(weight), found[weight]
        buffer = builder.state(name, np.zeros(builder.types[weight].shape, np.float32))
        (total,) = builder.add(Add(), [buffer, gradient], name="accumulate")
        (kept,) = builder.add(Where(), [first, gradient, total], name="accumulate")
        if not builder.types[weight].shape:
            kept = Growing(builder).value(kept).reshape(()).name
        builder.set_next_state(name, kept)


def _update(name: str, weights: Weights, recipe: Recipe) -> tuple[Graph, tuple[str, ...]]:
    builder, optimizer = Builder(f"{name}_update"), recipe.optimizer
    grow = Growing(builder, "update")
    shared = {key: grow.value(builder.state(key, value)) for key, value in optimizer.shared().items()}
    moved = optimizer.advanced(shared)
    names = list(shared)
    for key, value in moved.items():
        builder.set_next_state(key, value.name)
    for weight in weights.learning:
        first = weights.values[weight]
        w = grow.value(builder.state(weight, first, weight))
        buffer = grow.value(builder.state(buffer_of(weight), np.zeros(first.shape, np.float32)))
        kept = optimizer.moments(first.shape)
        own = {key: grow.value(builder.state(f"{weight}.{key}", value)) for key, value in kept.items()}
        names += [f"{weight}.{key}" for key in own]
        grow.node_name = f"{weight}_update"
        after, later = optimizer.step(w, buffer * (1 / recipe.accumulate), own, moved)
        builder.set_next_state(weight, after.reshape(first.shape).name)
        builder.set_next_state(buffer_of(weight), buffer.name)
        for key, value in later.items():
            builder.set_next_state(f"{weight}.{key}", value.reshape(kept[key].shape).name)
    builder.state(FIRST, np.array([True]))
    builder.set_next_state(FIRST, builder.constant(np.array([True]), "first"))
    return builder.build(), tuple(names)


def _notes(recipe: Recipe) -> tuple[str, ...]:
    if not recipe.dropout:
        return ()
    return (f"dropout draws by seed {recipe.seed}; state '{COUNTER}' counts the steps",)
