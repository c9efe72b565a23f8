"""MCHAN: random transfers move the right bytes, in the time that the rules of its description give."""

from __future__ import annotations

import json
import random
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import pytest

from tests.sim.assembling import built
from tilewright.sim.simulator import Simulator

L1, L2, WMEM = 0x1000_0000, 0x1C10_0000, 0x1040_0000
ROOM = 0x8000
BURST = 256
BURSTS_AHEAD = 8
BANKS = 16
TRANSFERS = 60


@dataclass(frozen=True)
class Transfer:
    is_in: bool
    tcdm: int
    """Offset in L1."""
    memory: int
    external: int
    """Offset in that memory."""
    row: int
    rows: int
    stride: int

    @property
    def size(self) -> int:
        return self.row * self.rows

    @property
    def words(self) -> list[int]:
        is_2d = self.rows > 1
        head = self.size | self.is_in << 17 | 1 << 18 | is_2d << 19 | 1 << 20
        return [head, L1 + self.tcdm, self.memory + self.external, *([self.row, self.stride] if is_2d else [])]

    @property
    def external_bytes(self) -> np.ndarray:
        """Offsets of the bytes outside, in their order in L1."""
        return (self.external + self.stride * np.arange(self.rows)[:, None] + np.arange(self.row)).ravel()


def random_transfer(rng: random.Random, is_in: bool) -> Transfer:
    rows = rng.choice([1, 1, rng.randint(2, 40)])
    row = rng.choice([rng.randint(1, 40), rng.randint(1, 700), 256, 512]) if rows > 1 else rng.randint(1, 5000)
    row = min(row, ROOM // 2 // rows)
    stride = rng.choice([row, row + rng.randint(0, 200)])
    aligned = rng.random() < 0.4
    near, far = (rng.randrange(0, ROOM // 2, 4 if aligned else 1) for _ in range(2))
    return Transfer(is_in, near, rng.choice([L2, WMEM]), far, row, rows, stride)


def bursts(transfer: Transfer) -> list[list[int]]:
    """The words of L1 in each burst: at most 256 bytes, at most one row."""
    found, at = [], transfer.tcdm
    for _ in range(transfer.rows):
        for begun in range(0, transfer.row, BURST):
            size = min(BURST, transfer.row - begun)
            found.append(list(range(at // 4, (at + size + 3) // 4)))
            at += size
    return found


def inbound_time(transfer: Transfer) -> int:
    """From the last word of the command. A burst per cycle is asked for from cycle 2 on, eight at a time. From cycle 3
    on two ports each write a word per cycle; where two bursts share a word, the port that comes second is held up."""
    waiting, under_way, cycle = bursts(transfer), list[list[int]](), 1
    port_free, bank_free = [0, 0], dict[int, int]()
    while waiting or under_way:
        cycle += 1
        is_moving = bool(under_way)
        if waiting and len(under_way) < BURSTS_AHEAD:
            under_way.append(waiting.pop(0))
        for port in range(2 if is_moving else 0):
            if under_way and port_free[port] <= cycle:
                bank = under_way[0].pop(0) % BANKS
                begun = max(cycle, bank_free.get(bank, 0))
                bank_free[bank] = port_free[port] = begun + 1
                under_way = under_way if under_way[0] else under_way[1:]
    return cycle


def outbound_time(transfer: Transfer) -> int:
    """A cycle to set a burst up, then two words a cycle."""
    return 1 + sum(1 + (len(words) + 1) // 2 for words in bursts(transfer))


def run(transfer: Transfer, seed: int, folder: Path) -> tuple[Simulator, list[int]]:
    """Moves the bytes, compares both sides, and returns how long transfer ids were busy."""
    rng = np.random.default_rng(seed)
    near, far = (rng.integers(0, 256, 2 * ROOM, dtype=np.uint8) for _ in range(2))
    simulator = Simulator("siracusa")
    simulator.load(built("dma.c"))
    simulator.write(L1, near.tobytes())
    simulator.write(transfer.memory, far.tobytes())
    simulator.write("words", np.array(transfer.words, "<u4").tobytes())
    simulator.write("count", len(transfer.words).to_bytes(4, "little"))
    simulator.watch(trace=True)
    simulator.probe(["_start"], cores=range(simulator.platform.cores))
    simulator.run(1_000_000)
    there, here = transfer.external_bytes, np.arange(transfer.tcdm, transfer.tcdm + transfer.size)
    if transfer.is_in:
        near[here] = far[there]
    else:
        far[there] = near[here]
    assert simulator.read(L1, 2 * ROOM) == near.tobytes()
    assert simulator.read(transfer.memory, 2 * ROOM) == far.tobytes()
    simulator.write_trace(folder / "trace.json")
    events = json.loads((folder / "trace.json").read_text())["traceEvents"]
    return simulator, [event["dur"] for event in events if event["name"] in ("in", "out")]


@pytest.mark.in_turns(5)
@pytest.mark.parametrize("seed", range(TRANSFERS))
def test_random_transfers(seed: int, tmp_path: Path) -> None:
    transfer = random_transfer(random.Random(seed), is_in=seed % 2 == 0)
    simulator, (duration,) = run(transfer, seed, tmp_path)
    assert simulator.read_word("busy") == 0
    assert duration == (inbound_time if transfer.is_in else outbound_time)(transfer), transfer
    (noted,) = simulator.transfers()
    assert (noted.end - noted.start, noted.bytes, noted.is_in) == (duration, transfer.size, transfer.is_in)
