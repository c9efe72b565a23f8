"""A network's reference cut into parts: what Vela makes streams of, and what the core computes.

A node goes to the NPU if a TensorFlow Lite file can say what it computes and Vela takes it. What depends on the same
results of the core is one part. Vela's stream of each part is run on bytes drawn at random and compared with the nodes
that it stands for; what differs stays on the core.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Mapping, Sequence, Set
from dataclasses import field, replace
from functools import partial

import numpy as np

from tilewright.errors import CompileError, Refusal
from tilewright.frontends.tflite import importer
from tilewright.ir.evaluate import evaluate_outputs
from tilewright.ir.graph import Builder, Graph, Node, rebuild
from tilewright.ir.rounding import Rounding
from tilewright.ir.types import Shape, limits
from tilewright.ir.unused import drop_unused
from tilewright.ops._ethosu import EthosU
from tilewright.ops.conv import Conv
from tilewright.ops.maxpool import MaxPool
from tilewright.ops.qlinearsoftmax import QLinearSoftmax
from tilewright.ops.transpose import Transpose
from tilewright.passes import Pass
from tilewright.passes.layout.channels_last import ChannelPosition, with_layout
from tilewright.records import dataclass
from tilewright.target.core_or_accelerator import fewest_cycles
from tilewright.target.settings import CYCLES, RAM
from tilewright.target.target import Target
from tilewright.targets.ethos_u.cascades import bytes_alive, sketches
from tilewright.targets.ethos_u.costs import SLOWER, costs_of
from tilewright.targets.ethos_u.cutting import Part, Reasons, in_turn, part_of, parts_of
from tilewright.targets.ethos_u.products import with_products
from tilewright.targets.ethos_u.scales import Meaning, meaning_of
from tilewright.targets.ethos_u.softmax_numbers import why_not_words
from tilewright.targets.ethos_u.softmaxes import with_softmaxes
from tilewright.targets.ethos_u.tables import with_tables
from tilewright.targets.ethos_u.vela import PLAIN, VelaError, compiled_by_vela
from tilewright.targets.ethos_u.writing import written

WEIGHED = (Transpose,)
"""Operators that the NPU may be slower at: Vela makes thousands of operations of some."""
DIFFERS = "Vela's stream gives other results than the network"
SOONER = "the core computes it in fewer cycles"
SEED = 20
MOST_ROUNDS, MOST_KEPT = 3, 0.97
"""Groups of layers in strips, and the share of bytes that each may leave."""
SHOWN = 2
"""Layers whose reasons an error tells."""


Constants = dict[tuple[str, Shape, bytes], str]
"""Names of those that streams have, by what they are."""


@dataclass(frozen=True)
class Asked:
    """Of Vela: streams for an NPU, and for a goal of `--optimise`."""

    npu: str
    goal: str


def ethos_u_parts(npu: str, core: Target | None = None, goal: str = CYCLES) -> tuple[Pass, ...]:
    """Layers with channels last, and then streams instead of nodes, for a goal of `--optimise`; without a core of which
    costs are known, of all that the NPU can compute."""
    layout = ChannelPosition(channels_last=True, worth=_worth)
    return (
        Pass("channels last for an Ethos-U", partial(with_layout, layout)),
        Pass("parts for an Ethos-U", partial(with_parts, npu, core, goal=goal)),
    )


def _worth(graph: Graph, node: Node) -> int:
    """Layers and pools of bytes, and layers of words, whatever has to be transposed for them."""
    dtype, requant = graph.types[node.inputs[0]].dtype, getattr(node.op, "requant", None)
    is_wide = dtype == "int16" and isinstance(node.op, Conv) and requant and requant.rounding == Rounding.SINGLE
    return 1 << 40 if is_wide or (dtype == "int8" and isinstance(node.op, Conv | MaxPool)) else 0


def with_parts(npu: str, core: Target | None, graph: Graph, goal: str = CYCLES) -> Graph:
    """The graph with streams. A network that comes from Vela has its streams already."""
    if any(isinstance(node.op, EthosU) for node in graph.nodes):
        return graph
    graph, products_left = with_products(npu, core, graph)
    graph, softmaxes_left = with_softmaxes(npu, core, graph)
    left_to_core = products_left | softmaxes_left
    solve = partial(_solved, Asked(npu, goal), core, left_to_core)
    found = solve(graph, frozenset())
    if goal == RAM:
        found = _in_strips(found, solve)
    _check_taken(npu, found.graph, found.parts, found.reasons)
    return _joined(found)


@dataclass(frozen=True, eq=False)
class Solved:
    """A network of which it is known who computes what."""

    graph: Graph
    strips: Set[str]
    """Nodes with which strips begin."""
    parts: Sequence[Part]
    made: Sequence[Made]
    reasons: Reasons

    @property
    def bytes(self) -> int:
        """That are alive at once."""
        arenas = [sum(one.arena + one.fast for one in _streams(made)) for made in self.made]
        return bytes_alive(self.graph, in_turn(self.graph, self.reasons, self.strips), self.parts, arenas)

    @property
    def cycles(self) -> int:
        return sum(one.cycles for made in self.made for one in _streams(made))


def _solved(asked: Asked, core: Target | None, left_to_core: Reasons, graph: Graph, strips: Set[str]) -> Solved:
    meaning, cuts = meaning_of(graph), set(strips)
    reasons = {node.key: why for node in graph.nodes if (why := _refusal(graph, meaning, node))} | left_to_core
    while True:
        parts = parts_of(graph, reasons, cuts)
        made = [_compiled(asked, graph, meaning, part) for part in parts]
        left = {key: why for one in made for key, why in one.left.items()}
        more_cuts = {one.cut for one in made if one.cut}
        if not left and not more_cuts and core is not None:
            left = _slower(asked, core, graph, meaning, parts, made)
        reasons |= left
        cuts |= more_cuts
        if not left and not more_cuts:
            return Solved(graph, strips, parts, made, reasons)


def _in_strips(found: Solved, solve: Callable[[Graph, Set[str]], Solved]) -> Solved:
    """With layers of both in strips of rows, for as long as that takes bytes off; notes say how many."""
    for _ in range(MOST_ROUNDS):
        promising = sketches(found.graph, found.reasons, found.strips, int(MOST_KEPT * found.bytes))
        tried = [(one, solve(one.graph, one.strips)) for one in promising]
        best, made = min(tried, key=lambda one: one[1].bytes, default=(None, found))
        if best is None or made.bytes > MOST_KEPT * found.bytes:
            return found
        cycles = made.cycles / max(found.cycles, 1)
        note = f"{best.said}: {made.bytes} bytes instead of {found.bytes}, {cycles:.2f} times the cycles of the NPU"
        found = replace(made, graph=replace(made.graph, notes=(*made.graph.notes, note)))
    return found


def _streams(made: Made) -> list[EthosU]:
    return [node.op for node in made.graph.nodes if isinstance(node.op, EthosU)]


def _check_taken(npu: str, graph: Graph, parts: Sequence[Part], reasons: Reasons) -> None:
    """A network with layers of which the NPU computes none is for the core alone."""
    layers = [node for node in graph.nodes if graph.macs(node)]
    if parts or not layers or any(isinstance(node.op, EthosU) for node in layers):
        return
    said = "; ".join(f"{node.where}: {reasons[node.key]}" for node in layers[:SHOWN])
    raise CompileError(f"model '{graph.name}'", f"{npu} computes none of its {len(layers)} layers ({said})", PLAIN)


def _refusal(graph: Graph, meaning: Meaning, node: Node) -> str:
    """Why no file can say what a node computes; nothing where one can."""
    try:
        written(graph, meaning, [node])
    except Refusal as refusal:
        return refusal.what
    return ""


def why_on_core(graph: Graph, node: Node) -> str:
    """For tables: of a node that is no stream."""
    if isinstance(node.op, QLinearSoftmax):
        return why_not_words(graph, node, node.op) or SOONER
    return _refusal(graph, meaning_of(graph), node) or "it computes too little, or Vela leaves it: notes say why"


# ---- compiling ------------------------------------------------------------------------------------------------------


@dataclass(frozen=True, eq=False)
class Made:
    """What Vela makes of a part: a graph of streams, with its own names of inputs and results."""

    graph: Graph
    inputs: Mapping[str, str]
    """Tensors of the network by its names."""
    results: Mapping[str, str]
    left: Reasons = field(default_factory=dict)
    cut: str = ""
    """The node before which the part is to be cut in two."""


def _compiled(asked: Asked, graph: Graph, meaning: Meaning, part: Part) -> Made:
    writing = written(graph, meaning, part.nodes, part.inputs)
    ends = ([writing.known[name] for name in names] for names in (part.inputs, part.results))
    try:
        vela = compiled_by_vela(asked.npu, writing.file.data(*ends), "part", asked.goal)
    except VelaError as error:
        return _wrong(asked, graph, meaning, part, error.what)
    left = {writing.makers[one.tensor]: one.why for one in vela.left if one.tensor in writing.makers}
    if left:
        return Made(graph, {}, {}, left)
    try:
        streams = with_tables(importer.load(vela.data), writing.tables)
    except Refusal as refusal:
        return _wrong(asked, graph, meaning, part, refusal.what)
    called = {name: writing.file.tensors[place].name for name, place in writing.known.items()}
    results = dict(zip(streams.output_names, streams.outputs, strict=True))
    inputs = {called[name]: name for name in part.inputs}
    made = Made(streams, inputs, {results[called[name]]: name for name in part.results})
    try:
        is_right = vela.is_checked() or _agrees(graph, part, made)
    except CompileError as fault:
        return _wrong(asked, graph, meaning, part, f"Vela's stream {fault.what}")
    if not is_right:
        return _wrong(asked, graph, meaning, part, DIFFERS)
    vela.keep_checked()
    return made


def _agrees(graph: Graph, part: Part, made: Made) -> bool:
    """Whether streams give what the nodes give, of bytes drawn at random."""
    draws = np.random.default_rng(SEED)
    kinds = {name: graph.types[name] for name in part.inputs}
    given = {name: draws.integers(*limits(one.dtype), one.shape, one.element, True) for name, one in kinds.items()}
    nodes = replace(
        graph, inputs=part.inputs, outputs=part.results, output_names=part.results, nodes=part.nodes, states=()
    )
    wanted = evaluate_outputs(nodes, given)
    found = evaluate_outputs(made.graph, {called: given[name] for called, name in made.inputs.items()})
    return all(np.array_equal(found[called], wanted[name]) for called, name in made.results.items())


def _wrong(asked: Asked, graph: Graph, meaning: Meaning, part: Part, why: str) -> Made:
    """Without the nodes that are wrong alone; cut in the middle, where each is right alone."""
    alone = [node for node in part.nodes if not node.op.view]
    if len(alone) <= 1:
        return Made(graph, {}, {}, {node.key: why for node in alone})
    left: Reasons = {}
    for node in alone:
        left |= _compiled(asked, graph, meaning, part_of(graph, [node])).left
    return Made(graph, {}, {}, left, "" if left else alone[len(alone) // 2].key)


# ---- costs ----------------------------------------------------------------------------------------------------------


def _slower(
    asked: Asked, core: Target, graph: Graph, meaning: Meaning, parts: Sequence[Part], made: Sequence[Made]
) -> Reasons:
    """Nodes that the core computes in fewer cycles, and parts of which it does all."""
    found: Reasons = {}
    for part, streams in zip(parts, made, strict=True):
        own = _slower_nodes(asked, core, graph, meaning, part)
        found |= own or _slower_part(core, graph, part, streams)
    return found


def _slower_nodes(asked: Asked, core: Target, graph: Graph, meaning: Meaning, part: Part) -> Reasons:
    """Each as a stream of its own. One between others cuts their part, whose tensors are copied then."""
    found: Reasons = {}
    for node in part.nodes if len(part.nodes) > 1 else ():
        if not isinstance(node.op, WEIGHED):
            continue
        alone = _compiled(asked, graph, meaning, part_of(graph, [node]))
        theirs, ours = _stream_cycles(core, alone), _core_cycles(core, graph, [node])
        if theirs > ours + _cut_cycles(core, graph, part, node):
            found[node.key] = SLOWER.format(theirs, ours)
    return found


def _slower_part(core: Target, graph: Graph, part: Part, streams: Made) -> Reasons:
    """None of a part with layers: what the core would wait for their weights is not known here. Several results come in
    one piece, which the core takes apart."""
    if any(map(graph.macs, part.nodes)):
        return {}
    apart = part.results if len(part.results) > 1 else ()
    theirs = _stream_cycles(core, streams) + _copy_cycles(core, graph, (*part.inputs, *part.results, *apart))
    ours = _core_cycles(core, graph, part.nodes)
    why = SLOWER.format(theirs, ours)
    return {node.key: why for node in part.nodes if not node.op.view} if theirs > ours else {}


def _cut_cycles(core: Target, graph: Graph, part: Part, node: Node) -> float:
    """Of a second job, where nodes of the part come before and behind a node."""
    own = {one.key for one in part.nodes}
    before = any(name in own for name in node.inputs)
    behind = any(node.key in one.inputs for one in part.nodes)
    if not (before and behind):
        return 0.0
    return costs_of(core).job + _copy_cycles(core, graph, (node.inputs[0], node.key))


def _copy_cycles(core: Target, graph: Graph, tensors: Iterable[str]) -> float:
    return costs_of(core).copied(sum(graph.types[name].bytes for name in tensors))


def _stream_cycles(core: Target, made: Made) -> float:
    return costs_of(core).job + sum(one.cycles for one in _streams(made))


def _core_cycles(core: Target, graph: Graph, nodes: Iterable[Node]) -> float:
    """Infinite where it has no kernel for one of them as it is."""
    try:
        return sum(fewest_cycles(graph, node, core) for node in nodes if not node.op.view)
    except CompileError:
        return math.inf


# ---- joining --------------------------------------------------------------------------------------------------------


def _joined(found: Solved) -> Graph:
    """The graph with streams instead of parts, and notes on layers of the core."""
    graph, told = found.graph, dict[str, None]()
    place = {node.key: number for number, part in enumerate(found.parts) for node in part.nodes}
    builder, done, constants = rebuild(graph), set[int](), Constants()
    for node in in_turn(graph, found.reasons, found.strips):
        number = place.get(node.key)
        if number is None:
            builder.copy_node(node, graph)
        elif number not in done:
            done.add(number)
            products = sum(map(graph.macs, found.parts[number].nodes))
            _add_streams(builder, constants, found.made[number], f"ethos_u_{number}", products)
        is_told = isinstance(node.op, WEIGHED) or (graph.macs(node) and not isinstance(node.op, EthosU))
        if node.key in found.reasons and is_told:
            told[f"{node.op.kind} '{node.name}' stays on the core: {found.reasons[node.key]}"] = None
    for note in told:
        builder.note(note)
    builder.copy_outputs(graph)
    return drop_unused(builder.build())


def _add_streams(builder: Builder, constants: Constants, made: Made, name: str, products: int) -> None:
    """The first stream has all products of its part: mostly there is one. Strips of one height have one stream."""
    known = dict(made.inputs)
    for constant, values in made.graph.constants.items():
        key = values.dtype.str, values.shape, values.tobytes()
        if key not in constants:
            constants[key] = builder.constant(values, f"{name}_{constant}")
        known[constant] = constants[key]
    for node in made.graph.nodes:
        op = node.op
        if isinstance(op, EthosU):
            op, products = replace(op, products=products), 0
        outputs = [made.results.get(tensor) or builder.fresh(f"{name}_{tensor}") for tensor in node.outputs]
        builder.add(op, [known[tensor] for tensor in node.inputs], outputs, name)
        known.update(zip(node.outputs, outputs, strict=True))
