"""Every pass, on graphs before and after it: the same numbers, or what it states. A pass that nothing here changes a
graph with is missing a graph: add one."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import replace
from itertools import islice

import numpy as np
import pytest

from tests.accelerator import test_crossbars
from tests.accelerator.folders import RESIDUAL
from tests.accelerator.test_chains import flat
from tests.accelerator.test_chains import residual as chained
from tests.accelerator.test_networks import chain
from tests.passes import differential, test_convolve, test_signed_bytes
from tests.passes import test_conditions as conditions
from tests.passes.differential import VELA, Applied, differences, is_covered, is_installed, pass_names, watched
from tests.passes.quantise.test_random import quantised_network
from tests.passes.small import Small, integers
from tests.passes.test_rejoin_slices import added_to_a_part
from tests.planner import networks
from tests.planner.arena import test_threads
from tests.quantiser.prepare import test_conditions as preparing
from tests.support import control_flow, models, states
from tests.support.caches import remembering
from tests.support.sized_models import Net
from tests.support.tflite_cases import FLOATS, HYBRID, QUANTISED
from tests.targets.cpu import test_rewrites, test_scaled
from tests.targets.ethos_u import functions, test_parts
from tests.targets.ethos_u.drawn_networks import drawn
from tests.targets.gpu import test_blocks, test_folded_taps, test_fused, test_padded_channels, test_quantised_pixels
from tests.targets.ita.transformers import encoder_model, feed_forward_model
from tests.targets.pulp import (
    test_accumulation,
    test_channel_sums,
    test_masked_attention,
    test_masked_softmax,
    test_scaled_sum,
)
from tilewright import pipeline
from tilewright.accelerator.crossbars.mapping import mapping_pass
from tilewright.errors import CompileError, instance
from tilewright.ir.graph import Graph
from tilewright.ir.requant import full_range
from tilewright.language.caching import with_short_caches
from tilewright.ops.conv import Conv
from tilewright.ops.matmul import MatMul
from tilewright.ops.qlinearadd import QLinearAdd
from tilewright.passes import Numbers, apply
from tilewright.passes.fit.even_rows import even_rows
from tilewright.passes.fuse_bias import FUSE_BIAS
from tilewright.passes.numerics.hardware import LOSSLESS
from tilewright.passes.signed_bytes import SIGNED_BYTES
from tilewright.pipeline import DEFAULT, STAGES
from tilewright.target.settings import Settings
from tilewright.targets.ethos_u.numerics import ETHOS_U_NUMERICS
from tilewright.targets.gpu import padded_channels
from tilewright.targets.gpu.folded_taps import FOLD_TAPS
from tilewright.targets.gpu.quantised_pixels import QUANTISE_PIXELS
from tilewright.targets.pulp.fuse_accumulation import FUSE_ACCUMULATION
from tilewright.targets.pulp.fuse_channel_sums import FUSE_CHANNEL_SUMS
from tilewright.targets.pulp.fuse_scaled_sums import FUSE_SCALED_SUMS

HARDWARE = Settings(numerics="hardware")
ON_ITA = Settings(numerics="hardware", engines=("all",))
TARGETS = ("cortex-m4", "cortex-m55", "cpu", "generic", "mempool", "quad", "siracusa", "snitch")
"""Each with passes of its own."""
FITTED = "quad"
LARGE = ("large_windows", "large_tables", "large_constants", "long_sums")


def draw() -> np.random.Generator:
    return np.random.default_rng(0)


def small() -> Iterator[Graph]:
    """Networks of every kind."""
    made = (value for name, value in vars(networks).items() if name not in LARGE)
    onnx = [one for one in made if getattr(one, "__annotations__", None) == {"return": "ModelProto"}]
    yield from (pipeline.import_model(make()) for make in (*onnx, models.small, models.residual))
    yield from (make() for _, make, _ in conditions.CASES)
    yield from (states.accumulator(), states.window(), states.cell(), states.streaming_conv(), states.crossed())
    yield from (states.random_network(seed) for seed in range(4))


def tflite() -> Iterator[Graph]:
    for cases, names in ((QUANTISED, ("conv", "add", "mean", "softmax")), (FLOATS, ("conv", "add", "mean"))):
        yield from (pipeline.import_model(cases[name](draw())) for name in names)
    yield from (pipeline.import_model(make(draw())) for make in HYBRID.values())


def at_random(seeds: range) -> Iterator[Graph]:
    """Networks that grow by chance, quantised here and there."""
    for seed in seeds:
        yield pipeline.import_model(quantised_network(np.random.default_rng(seed))[0])


def compiled(graphs: Iterator[Graph], target: str, settings: Settings = DEFAULT, last: str = "lowered") -> None:
    """Through all passes up to a stage; what a target refuses has been through some of them."""
    for graph in graphs:
        try:
            for _ in islice(pipeline.stages(graph, target, settings=settings), STAGES.index(last) + 1):
                pass
        except CompileError:
            continue


def compile_all() -> None:
    for target in TARGETS:
        compiled(small(), target, last="fitted" if target == FITTED else "lowered")
        compiled(tflite(), target)
    compiled(at_random(range(6)), "generic")
    compiled(at_random(range(6, 12)), "siracusa")
    compiled(tflite(), "siracusa", HARDWARE)
    compiled(iter([test_scaled.model(np.random.default_rng(5)).graph()]), "cpu")
    transformers = [
        pipeline.import_model(one) for one in (encoder_model(64, 128, 2, 64, 192), feed_forward_model(128, 192))
    ]
    for target in ("snitch", "itapool"):
        compiled(iter(transformers), target, ON_ITA)
    compiled(iter(transformers), "snitch", replace(ON_ITA, engines=("cluster",)))
    compiled(iter([channels_last()]), "cortex-m55")
    compile_for_gpus()
    compiled(iter([groups_of_one_filter(), added_to_a_part(), remembering(), with_short_caches(remembering())]), "cpu")
    compiled(iter([repeated_as_often_as_a_caller_says()]), "generic")
    compiled(iter([pipeline.import_model(control_flow.known_length())]), "quad")
    compiled(iter([chained(True)]), "quad", Settings(accelerators=(str(RESIDUAL),)))
    compiled(iter([flat(True), flat(False)]), "rv32", Settings(accelerators=(str(RESIDUAL),)))
    compiled(iter([test_masked_softmax.attention(), test_masked_attention.mixed()]), "siracusa")


def repeated_as_often_as_a_caller_says() -> Graph:
    net = Net("repeated")
    rows = net.add("Expand", net.weight(1, 4), net.add("Shape", "x"))
    model = net.model(["time", 4], net.add("Add", rows, "x"))
    return pipeline.import_model(model, dims={"time": (1, 9)})


def compile_for_gpus() -> None:
    """Passes of their own: sums, projections, rotations and caches, blocks of weights, channels that fill words, floats
    of 16 bits."""
    decoding = [test_fused.a_step(False), test_fused.a_cached_step(True, False, 5, 8, True)]
    fed = [test_fused.float_sums(), test_fused.joined_rows(1, True), test_fused.projected(20, 4, 2, 8, True), *decoding]
    graphs = [channels_second(), depthwise_beside_products(), *(graph for graph, _ in fed)]
    graphs.append(test_blocks.layer("Q8_0", 1, 96)[0])
    compiled(iter(graphs), "gpu", last="mapped")
    compiled(iter([test_padded_channels.camera("int8", 3)]), "gpu", last="mapped")
    compiled(iter([channels_second()]), "gpu", Settings(precision="fp16"))


def depthwise_beside_products() -> Graph:
    small, draws = Small(), np.random.default_rng(4)
    pointwise, window, last = (
        small.constant(draws.normal(size=shape).astype(np.float32))
        for shape in ((96, 16, 1, 1), (96, 1, 3, 3), (16, 96, 1, 1))
    )
    wide = small.add(Conv(), small.input("x", 1, 16, 30, 30, dtype="float32"), pointwise)
    return small.graph(small.add(Conv(), small.add(Conv(padding=(1, 1, 1, 1), groups=96), wide, window), last))


def short_factors() -> Graph:
    """Of at most 16 bits, and of no total that is a tie."""
    small, mul = Small(), np.array([1023 << 14, 771 << 14, 2047 << 14], np.int32)
    op = MatMul(requant=full_range(34, "int8", 3, "half_even"))
    factors = small.constant(integers("int8", 5, 3)), "", small.constant(mul)
    return small.graph(small.add(op, small.input("x", 2, 5), *factors))


def channels_last() -> Graph:
    """Floats, which some kernels want the other way round."""
    small, filters = Small(), np.random.default_rng(1).normal(size=(16, 3, 3, 16)).astype(np.float32)
    x = small.input("x", 1, 8, 8, 16, dtype="float32")
    return small.graph(small.add(Conv(padding=(1, 1, 1, 1), channels_last=True), x, small.constant(filters)))


def channels_second() -> Graph:
    """A convolution with so much work that its image is worth transposing."""
    small, filters = Small(), np.random.default_rng(3).normal(size=(32, 32, 3, 3)).astype(np.float32)
    x = small.input("x", 1, 32, 8, 8, dtype="float32")
    return small.graph(small.add(Conv(padding=(1, 1, 1, 1)), x, small.constant(filters)))


def groups_of_one_filter() -> Graph:
    """Each for two channels."""
    small, filters = Small(), np.random.default_rng(2).normal(size=(16, 2, 3, 3)).astype(np.float32)
    x = small.input("x", 1, 32, 6, 7, dtype="float32")
    return small.graph(small.add(Conv(groups=16, padding=(1, 0, 1, 2)), x, small.constant(filters)))


def apply_some() -> None:
    """Passes with arguments, and those of rare graphs."""
    for step, make, _ in (*conditions.CASES, *preparing.CASES):
        apply(make(), (step,))
    apply(short_factors(), (LOSSLESS,))
    apply(test_threads.seven_rows("int8"), (even_rows(2),))
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(padded_channels, "FEWEST_MACS", 0)
        apply(test_padded_channels.camera("int8", 3), (padded_channels.PAD_CHANNELS,))
    apply(test_folded_taps.patches(), (FOLD_TAPS,))
    apply(test_quantised_pixels.camera(), (QUANTISE_PIXELS,))
    apply(test_accumulation.choice(), (FUSE_ACCUMULATION,))
    apply(test_scaled_sum.two_sums(), (FUSE_SCALED_SUMS,))
    apply(test_channel_sums.products(), (FUSE_CHANNEL_SUMS,))
    apply_for_ethos_u()
    for make in (chain, test_crossbars.dense, test_crossbars.channels_last):
        apply(make(), (mapping_pass("small", test_crossbars.SMALL.cells, test_crossbars.SMALL.crossbars),))
    test_convolve.test_requantised_bytes_are_equal(*test_convolve.GEOMETRIES[0])
    for test in vars(test_rewrites).values():
        if getattr(test, "__name__", "").startswith("test_") and not test.__code__.co_argcount:
            test()


def apply_for_ethos_u() -> None:
    """Numerics and layouts are tried anywhere, streams where Vela is installed; of those, one: each is a process."""
    images, rows = [drawn(seed) for seed in range(6)], test_parts.network(test_parts.ROWS + 1)
    graphs = (*images, functions.network(), rows)
    apply(pipeline.import_model(test_signed_bytes.unsigned()), (SIGNED_BYTES,))
    made = [apply(graph, (ETHOS_U_NUMERICS, test_parts.TO_LAYOUT)) for graph in graphs]
    if is_installed(VELA):
        apply(made[-1], (test_parts.TO_PARTS,))


def tried(work: Callable[[], None]) -> Applied:
    with watched() as found:
        work()
    return found


def test_every_pass_changes_numbers_no_more_than_it_states() -> None:
    found = [tried(compile_all), tried(apply_some)]
    assert [text for one in found for text in one.wrong] == []
    changed = {name for one in found for name in one.changed}
    assert sorted(name for name in pass_names() if not is_covered(name, changed)) == []


def forgetful(graph: Graph) -> Graph:
    """Fuses a bias, and half of it."""
    made = FUSE_BIAS.run(graph)
    return replace(made, constants={name: value / 2 for name, value in made.constants.items()})


def test_a_wrong_pass_is_found() -> None:
    graph = conditions.added_bias()
    assert list(differences(FUSE_BIAS, graph, FUSE_BIAS.run(graph))) == []
    with watched() as found:
        apply(graph, (replace(FUSE_BIAS, run=forgetful),))
    (text,) = found.wrong
    assert text.startswith("pass 'fuse biases': ")
    assert "8 of 8 elements differ" in text


def test_a_pass_may_do_what_it_states_and_no_more() -> None:
    graph = conditions.quantised_sum()
    (quantise,) = (step for step in pipeline.QUANTISING if step.name == "quantise")
    made = quantise.run(graph)
    node = made.producers[made.outputs[0]]
    sums = instance(node.op, QLinearAdd)
    op = replace(sums, offset=sums.offset + (3 << sums.requant.shift) // 4)
    shifted = replace(made, nodes=tuple(replace(one, op=op) if one is node else one for one in made.nodes))
    assert list(differences(quantise, graph, made)) == []
    assert len(list(differences(quantise, graph, shifted))) == 1
    assert list(differences(replace(quantise, numbers=Numbers(steps=0.8)), graph, shifted)) == []


def test_a_pass_that_no_graph_is_there_for_is_named() -> None:
    assert {"quantise", "fuse biases", "chains for "} <= pass_names()
    assert not is_covered("quantise", {"fuse biases"})
    assert is_covered("chains for ", {"chains for npu"})


@pytest.mark.parametrize("installed", [True, False])
def test_what_cannot_be_tried_is_not_missing(installed: bool, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(differential, "is_installed", lambda module: installed)
    assert pass_names() >= differential.NEEDED.keys()
    assert [is_covered(name, ()) for name in ("parts for an Ethos-U", "quantise")] == [not installed, False]
