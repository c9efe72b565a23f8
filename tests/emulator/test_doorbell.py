"""A device that programs reach by a doorbell: what it is told, what they read of it, and how long that takes."""

from __future__ import annotations

import numpy as np
import pytest

from tilewright.emulator.counting import BlockCost
from tilewright.emulator.doorbell import JOB_ENDS, REGISTERS, WORD, DoorbellHost, ended, ring, waits
from tilewright.emulator.qemu import Qemu
from tilewright.emulator.qemu_counting import BLOCK, BlockTable
from tilewright.errors import CompileError, Refusal
from tilewright.sim.user.device import UserDevice

COMMAND, FACTOR, RESULT = 0x08, 0x10, 0x20


class Doubling(UserDevice):
    """Multiplies the byte at address 4."""

    def __init__(self) -> None:
        self.told: list[int] = []
        self.factor = self.result = 0

    def write(self, offset: int, value: int, now: int) -> None:
        self.told.append(offset)
        if offset == FACTOR:
            self.factor = value
        if offset == COMMAND:
            self.result = self.factor * self.host.read(4, 1)[0]
            self.host.write(5, bytes([self.result]))
            self.host.work(70, 8, True, now)

    def read(self, offset: int, now: int) -> int:
        return self.result if offset == RESULT else 0


def block(last: int, **registers: int) -> bytes:
    words = [last, *[0] * REGISTERS]
    for offset, value in registers.items():
        words[1 + int(offset[1:], 16) // WORD] = value
    return np.array(words, "<u4").tobytes()


def test_the_last_register_is_written_last() -> None:
    memory, device = bytearray(range(3, 13)), Doubling()

    def store(address: int, data: bytes) -> None:
        memory[address : address + len(data)] = data

    host = DoorbellHost(lambda address, size: bytes(memory[address : address + size]), store)
    found = np.frombuffer(ring(device, host, block(COMMAND, x8=1, x10=5), 100), "<u4")
    assert device.told == [FACTOR, COMMAND]
    assert found[1 + RESULT // WORD] == memory[5] == 5 * 7
    assert host.cycles == 70


def test_nothing_is_written_when_a_job_ends() -> None:
    class Ticking(Doubling):
        def tick(self, now: int) -> None:
            self.result = now

    device, given = Ticking(), block(JOB_ENDS, x8=1, x10=5)
    assert waits(given)
    assert not waits(block(COMMAND, x8=1))
    found = np.frombuffer(ended(device, DoorbellHost(lambda *_: b"", lambda *_: None), given, 170), "<u4")
    assert device.told == []
    assert found[1 + RESULT // WORD] == 170


def test_memory_that_is_not_there() -> None:
    def nowhere(address: int, size: int) -> bytes:
        raise ValueError("no memory")

    host = DoorbellHost(nowhere, lambda address, data: None)
    with pytest.raises(Refusal, match="reads 1 bytes at 0x4: no memory"):
        ring(Doubling(), host, block(COMMAND, x8=1, x10=5), 0)


def test_time_in_which_the_core_stands(tmp_path: object) -> None:
    """It belongs to what comes behind the last event."""
    table = BlockTable(tmp_path, lambda address, size: BlockCost(2, 3, 0))  # type: ignore[arg-type]
    table._head["used"] = 1
    table._blocks[0] = np.array((4, 0, 0x100, 4, 2, 0), BLOCK)
    event = np.array([0x100, 1], "<u4").tobytes() + np.array([1, 0], "<u8").tobytes()
    table.events_file.write_bytes(event)
    table.stand(50)
    table.events_file.write_bytes(2 * event)
    assert [one.total.cycles for one in table.events] == [3, 53]
    assert table.now.cycles == 4 * 3 + 50


def test_one_device() -> None:
    chip = type("Chip", (), {})()
    machine = Qemu.__new__(Qemu)
    machine.platform = chip
    machine.attach("first", Doubling())
    with pytest.raises(CompileError, match="device second: QEMU takes one device, in Python"):
        machine.attach("second", Doubling())
