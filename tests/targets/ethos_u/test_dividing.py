"""Constants of one stream in several memories: by what operations read, with the same results and fewer cycles."""

from __future__ import annotations

from functools import cache
from itertools import pairwise

import numpy as np
import pytest
from benchmarks.zoo_net import Net
from onnx import ModelProto

import tilewright
from tilewright.errors import instance, present
from tilewright.ops._ethosu import EthosU
from tilewright.planner.board.memory import board_memory
from tilewright.program import Program
from tilewright.sim.ethos_u.configurations import find_configuration
from tilewright.sim.ethos_u.payload import read_payload
from tilewright.targets.ethos_u.dividing import UNIT, divided, payload_of, pieces

REASON = "pip install 'tilewright[ethos-u]'"
TARGET, IN_TCM = "cortex-m33+u55-128", "alif-e7"
WIDTHS = (64, 96, 128, 64, 10)


def layers() -> ModelProto:
    """Products with matrices one behind the other, whose weights an NPU reads once: flash decides."""
    net, draws = Net(7), np.random.default_rng(7)
    zero, one = net.constant(0, "int8"), net.constant(0.05)
    real = net("DequantizeLinear", net.input(1, WIDTHS[0], dtype=3), one, zero)
    for before, width in pairwise(WIDTHS):
        weights = net.constant(draws.integers(-127, 128, (before, width)), "int8")
        real = net("MatMul", real, net("DequantizeLinear", weights, net.constant(0.02), zero))
        real = net("DequantizeLinear", net("QuantizeLinear", real, one, zero), one, zero)
    return net.model(net("QuantizeLinear", real, one, zero))


@cache
def program(copied: int, target: str = TARGET, memories: tuple[tuple[str, int], ...] = ()) -> Program:
    pytest.importorskip("ethosu.vela", reason=REASON)
    return tilewright.compile(layers(), target=target, copied_weights=copied, memories=memories, emulator="unicorn")


def jobs(made: Program) -> list[EthosU]:
    ops = (call.node.op for call in made.compiled.schedule.layers)
    return [op for op in ops if isinstance(op, EthosU)]


def cycles_of(made: Program) -> int:
    """Of a run that gives what the reference gives."""
    given = made.random_inputs()
    run, wanted = made.run(given), made.reference(given)
    assert all(np.array_equal(values, wanted[name]) for name, values in run.outputs.items())
    return present(run.cycles, "run", "has no cycles")


def test_more_copies_fewer_cycles() -> None:
    found = [cycles_of(program(copied)) for copied in (0, 8_000, 16_000, 10**6)]
    assert found == sorted(found, reverse=True)
    assert len(set(found)) == len(found)
    assert [sum(op.banks for op in jobs(program(copied))) for copied in (0, 8_000, 10**6)] == [0, 1, 0]
    assert 0 < program(8_000).compiled.schedule.copied_bytes <= 8_000
    for copied in (8_000, 16_000):
        assert program(copied).compiled.schedule.placed.predicted == pytest.approx(cycles_of(program(copied)), rel=0.1)


def test_flash_sram_and_tcm() -> None:
    """The TCM first, which has no wait states; the NPU finds it at another address than the core."""
    made = program(16_000, IN_TCM, (("dtcm", 8_192),))
    schedule = made.compiled.schedule
    assert [op.banks for op in jobs(made)] == [2]
    assert 0 < schedule.copied_to("DTCM") <= 8_192
    assert 0 < schedule.copied_to("SRAM0") <= 16_000 - schedule.copied_to("DTCM")
    assert "-DTW_ETHOS_U_ALIAS_TO=0x50800000u" in schedule.target.flags
    note = schedule.graph.notes[-1]
    assert "1 of 1 constants, 1 of them in part, are copied to DTCM: " in note
    assert cycles_of(made) < cycles_of(program(0, IN_TCM))
    assert all(use.needed <= use.bytes for use in board_memory(schedule))


def test_pieces_are_all_that_a_stream_reads() -> None:
    schedule = program(0).compiled.schedule
    (call,) = (call for call in schedule.layers if isinstance(call.node.op, EthosU))
    op, operands = instance(call.node.op, EthosU), call.node.operands()
    words = schedule.graph.constants[operands["stream"]].view(np.uint32)
    constants = schedule.graph.constants[operands["weights"]]
    found = pieces(words[op.first :], find_configuration(op.npu))
    assert len(found) == len(WIDTHS) - 1
    ends = sorted(ends for piece in found for ends in piece.ranges)
    assert all(first % UNIT == last % UNIT == 0 for first, last in ends)
    assert sum(piece.bytes for piece in found) == sum(last - first for first, last in ends) <= constants.nbytes
    made = divided(words[op.first :], constants, [found[:1], found[1:2], found[2:]])
    assert sum(bank.nbytes for bank in made.banks) == sum(piece.bytes for piece in found)
    payload = read_payload(payload_of(words[: op.first], made.words).tobytes(), "payload")
    assert np.array_equal(payload.words, made.words)
    assert payload.npu == op.npu
