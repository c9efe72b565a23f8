"""What a user's device moves over a job's time takes banks from the cores, and waits for them itself."""

from __future__ import annotations

import pytest

from tests.sim.assembling import BASE, FOREVER, assemble, elf_of
from tilewright.errors import CompileError
from tilewright.sim.platforms.microcontroller import MICROCONTROLLER
from tilewright.sim.simulator import Simulator
from tilewright.sim.user.device import UserDevice

DATA, BANKS, WORDS, OWN = BASE + 0x1_0000, 16, 400, 50
PLATFORM = MICROCONTROLLER.with_device("unit", 0x7000_0000)
LOADS = """
    li t0, 0x70000000
    li t1, 60
    sw zero, 0(t0)
1:  lw t2, 0(a0)
    lw t3, 0(a0)
    lw t4, 0(a0)
    lw t5, 0(a0)
    addi t1, t1, -1
    bnez t1, 1b
"""
"""Of one word, while the device is at work."""


class Mover(UserDevice):
    """Reads words of the first bank, one per cycle, and computes for a while."""

    def __init__(self, bytes_per_cycle: float = 4, overlapped: bool = False, step: int = 4 * BANKS) -> None:
        self.bus, self.step = (bytes_per_cycle, overlapped), step
        self.ended: list[int] = []

    def write(self, offset: int, value: int, now: int) -> None:
        self.started = now
        self.host.move(DATA, 4, [(WORDS, self.step)], False)
        self.host.work(OWN, *self.bus, now)

    def tick(self, now: int) -> int | None:
        self.ended.append(now - self.started)
        return None


def run(device: UserDevice, address: int, cycles: int = 5_000) -> int:
    """When the loads are over."""
    code = assemble(LOADS)
    with Simulator(PLATFORM) as simulator:
        simulator.attach("unit", device)
        simulator.load(elf_of(code + FOREVER))
        simulator.set_register(0, "a0", address)
        assert simulator.run_until(BASE + len(code), cycle=cycles)
        found = simulator.cycle
        simulator.run_until(cycle=cycles)
        return found


def test_a_device_and_a_core_share_a_bank() -> None:
    beside, same = Mover(), Mover()
    free, shared = run(beside, DATA + 4), run(same, DATA)
    assert free == run(UserDevice(), DATA)
    assert shared > free
    assert beside.ended == [1 + WORDS + OWN]
    assert same.ended[0] > beside.ended[0]


def test_two_words_of_one_bank_take_two_cycles() -> None:
    device = Mover(8)
    run(device, DATA + 4)
    assert device.ended == [1 + WORDS + OWN]


@pytest.mark.parametrize(
    ("rate", "overlapped", "cycles"),
    [(2, False, 2 * WORDS + OWN), (8, False, WORDS // 2 + OWN), (4, True, WORDS), (1000, True, OWN)],
)
def test_how_long_a_job_takes_without_anybody_in_its_way(rate: float, overlapped: bool, cycles: int) -> None:
    device = Mover(rate, overlapped, step=4)
    run(device, 0x2000_0000)  # flash
    assert device.ended == [1 + cycles]


def test_a_device_in_c_that_reaches_for_what_is_not_there_is_named() -> None:
    class Outside(UserDevice):
        def write(self, offset: int, value: int, now: int) -> None:
            self.host._host.write(self.host._host.sim, 0x5000_0000, b"1234", 4)  # as C does, which does not look

    with pytest.raises(
        CompileError, match=r"device unit, cycle .*: a device writes 4 bytes at 0x50000000, where there"
    ):
        run(Outside(), DATA)
