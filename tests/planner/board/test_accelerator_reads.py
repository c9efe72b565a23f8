"""Constants that an NPU reads itself: copied to RAM they are read sooner, as is predicted."""

from __future__ import annotations

from functools import cache

import numpy as np
import pytest

from tests.sim.ethos_u.assembling import MAXIMUM, WEIGHTS, Stream
from tilewright import pipeline
from tilewright.errors import present
from tilewright.ir.graph import Builder, Graph
from tilewright.ir.types import TensorType
from tilewright.ops._ethosu import EthosU
from tilewright.program import Program
from tilewright.target.settings import Settings

SHAPE, BYTES = (1, 64, 8, 16), 8192
TARGET = "cortex-m33+u55-128"


@cache
def network() -> Graph:
    """The larger of an element and a constant."""
    sizes = SHAPE[1:]
    code = Stream().map("IFM", 0, sizes, "int8").map("IFM2", 0, sizes, "int8").map("OFM", BYTES, sizes, "int8")
    code.set(IFM2_REGION=WEIGHTS, IFM2_BROADCAST=0).finish("int8", scale=None)
    words = code.op("ELEMENTWISE", MAXIMUM).done()
    builder = Builder("larger")
    x = builder.input("x", TensorType("int8", SHAPE))
    stream, constants = builder.constant(words.view(np.int32), "stream"), builder.constant(limits(), "constants")
    op = EthosU("ethos-u55-128", 2 * BYTES, 0, (0,), (BYTES,), (BYTES,), SHAPE).of_stream(words)
    builder.output(builder.add(op, [stream, constants, x])[0])
    return builder.build()


def limits() -> np.ndarray:
    return np.random.default_rng(3).integers(0, 256, BYTES).astype(np.uint8)


def planned(copied: int) -> pipeline.Compiled:
    return pipeline.Compiled(*pipeline.stages(network(), TARGET, settings=Settings(copied_weights=copied)))


@pytest.mark.in_turns(6)
def test_copies_are_read_sooner() -> None:
    x = np.random.default_rng(4).integers(-128, 128, SHAPE).astype(np.int8)
    cycles = []
    for copied in (0, BYTES):
        made = planned(copied)
        assert made.schedule.copied == (frozenset({"constants"}) if copied else frozenset())
        run = Program(made, "", None, 0.0, None, Settings(copied_weights=copied), None).run({"x": x})
        (found,) = run.outputs.values()
        assert np.array_equal(found, np.maximum(x, limits().view(np.int8).reshape(SHAPE)))
        cycles.append(present(run.cycles, "run", "has no cycles"))
        assert made.schedule.placed.predicted == pytest.approx(cycles[-1], rel=0.1)
    assert cycles[1] < 0.8 * cycles[0]


def test_a_note_says_what_copies_would_save() -> None:
    (note,) = (note for note in planned(0).schedule.graph.notes if "--copy-weights" in note)
    assert note.endswith(f"cycles for constants in flash: --copy-weights {BYTES} copies them to RAM at start")
    assert not planned(BYTES - 1).schedule.copied
