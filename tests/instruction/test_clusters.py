"""Declared instructions in kernels of clusters: the results of networks stay the same."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from tests.accelerator.test_networks import TFLITE, chain
from tests.instruction.folders import of_pattern
from tilewright import targets
from tilewright.instruction.attach import with_instructions
from tilewright.ir.graph import Builder, Graph
from tilewright.ir.requant import Requant
from tilewright.ir.types import TensorType
from tilewright.ops.conv import Conv
from tilewright.pipeline import Compiled, stages
from tilewright.program import Program
from tilewright.run.kernel_bench import Case, measure
from tilewright.target.settings import Settings
from tilewright.targets.bare.dots import cycles

pytestmark = pytest.mark.in_turns(8)


def made(graph: Graph, target: str, *places: str) -> Program:
    return Program(Compiled(*stages(graph, target, "net", Settings(instructions=places))), "net", None, 0.0)


def free(folder: Path, pattern: str) -> str:
    """A folder whose encoding no core has."""
    place = of_pattern(folder, pattern, 6)
    declaration = Path(place) / "instruction.toml"
    declaration.write_text(declaration.read_text().replace("custom-0", "custom-3"))
    return place


def kernels(program: Program) -> set[str]:
    return {call.kernel.stem for call in program.compiled.schedule.layers}


def layers(dtype: str, requant: Requant | None, channels_last: bool = False) -> Graph:
    """Two convolutions: rows of whole words and others, filters that do not fill a block, padding and points."""
    random, builder = np.random.default_rng(5), Builder("layers")
    x = builder.input("x", TensorType(dtype, (2, 9, 7, 5) if channels_last else (2, 5, 9, 7)))
    for filters, kernel, padding, stride in ((10, (3, 3), (1, 0, 1, 1), 2), (8, (1, 1), (0, 0, 0, 0), 1)):
        channels = builder.types[x].shape[-1 if channels_last else 1]
        shape = (filters, *kernel, channels) if channels_last else (filters, channels, *kernel)
        w = builder.constant(random.integers(-128, 128, shape).astype(np.int8))
        b = builder.constant(random.integers(-999, 999, filters).astype(np.int32))
        mul = builder.constant(random.integers(2**29, 2**30, filters).astype(np.int32))
        exponents = builder.constant(random.integers(-9, -6, filters).astype(np.int32))
        op = Conv((stride, stride), (1, 1), padding, x_zero=5, requant=requant, channels_last=channels_last)
        (x,) = builder.add(op, [x, w, b, mul, exponents] if requant else [x, w, b])
        if requant is None:
            break
    builder.output(x)
    return builder.build()


@pytest.mark.parametrize("pattern", ["dot4_s8", "dot4_u8s8"])
@pytest.mark.parametrize("dtype", ["int8", "uint8"])
def test_convolutions_on_quad(tmp_path: Path, pattern: str, dtype: str) -> None:
    place = free(tmp_path, pattern)
    for requant, channels_last in ((TFLITE, False), (TFLITE, True), (None, True)):
        program = made(layers(dtype, requant, channels_last), "quad", place)
        assert kernels(program) & {"conv_words_last", "conv_words_second"}
        assert program.check().agrees


def test_costs_on_quad_are_near_what_is_simulated(tmp_path: Path) -> None:
    """Points, and windows of which most meet the border; rows of whole words, and others."""
    target = with_instructions(targets.find("quad"), [free(tmp_path, "dot4_s8")])
    own = {kernel.stem: kernel for engine in target.engines for kernel in engine.kernels}
    random, cases = np.random.default_rng(0), []
    for stem, x, w, pads in (
        ("conv_words_second", (1, 64, 4, 4), (16, 64, 1, 1), (0, 0, 0, 0)),
        ("conv_words_second", (1, 6, 4, 4), (12, 6, 3, 3), (1, 1, 1, 1)),
        ("conv_words_last", (1, 5, 5, 7), (12, 3, 3, 7), (1, 1, 1, 1)),
    ):
        bytes_of = (random.integers(-128, 128, shape).astype(np.int8) for shape in (x, w))
        op = Conv((1, 1), (1, 1), pads, x_zero=5, channels_last=stem.endswith("last"))
        cases.append(Case(own[stem], op, [*bytes_of, np.zeros(w[0], np.int32)]))
    for case, found in zip(cases, measure(cases, target, cores=1), strict=True):
        loops = case.op.extents({name: kind.shape for name, kind in case.types.items() if name != "Y"})
        assert cycles(case.op, case.types, loops, 1).cores == pytest.approx(found.cycles, rel=0.2)


def test_a_convolution_over_one_axis_on_quad(tmp_path: Path) -> None:
    random, builder = np.random.default_rng(5), Builder("one axis")
    x = builder.input("x", TensorType("int8", (1, 5, 12)))
    w = builder.constant(random.integers(-128, 128, (8, 5, 3)).astype(np.int8))
    builder.output(builder.add(Conv((1,), (1,), (1, 1), x_zero=5), [x, w])[0])
    program = made(builder.build(), "quad", free(tmp_path, "dot4_s8"))
    assert kernels(program) & {"conv_words_last", "conv_words_second"}
    assert program.check().agrees


@pytest.mark.parametrize("target", ["quad", "snitch", "siracusa"])
def test_requantisations(tmp_path: Path, target: str) -> None:
    """Of TensorFlow Lite's networks, alone and beside products of bytes."""
    places = [free(tmp_path, "requant_s8"), free(tmp_path, "dot4_s8")]
    declaration = Path(places[1]) / "instruction.toml"
    declaration.write_text(declaration.read_text().replace("funct7 = 0", "funct7 = 1"))
    for own in (places[:1], places):
        assert made(chain(), target, *own).check().agrees
        assert made(layers("int8", TFLITE), target, *own).check().agrees


def test_requantisations_are_quicker_on_snitch(tmp_path: Path) -> None:
    plain, own = (
        made(layers("int8", TFLITE), "snitch", *places).check() for places in ((), (free(tmp_path, "requant_s8"),))
    )
    assert plain.agrees
    assert own.agrees
    assert own.result.cycles is not None
    assert plain.result.cycles is not None
    assert own.result.cycles < plain.result.cycles
