"""The model of an accelerator in Python: say how long a job takes and what it computes, the rest is done here.

    class Device(AcceleratorDevice):
        def cycles(self, r): return 2 * r.oc * r.ic * ...
        def compute(self, r): self.store(r.result, ... self.load(r.ifmap, (r.ic, r.ih, r.iw), "int8") ...)

A job begins when the start register is written. Operands are read and results are there when its time is over: a
driver that looks too early sees what was there before. `c/accelerator_device.h` is the same in C.
"""

from __future__ import annotations

import itertools
import math
from abc import ABC, abstractmethod
from collections.abc import Sequence
from types import SimpleNamespace

import numpy as np

from tilewright.accelerator.declaration import Accelerator, Event
from tilewright.errors import Refusal
from tilewright.ir.requant import Requant
from tilewright.ir.rounding import Rounding
from tilewright.ir.types import Array
from tilewright.sim.user.device import ACCESS, BUSY, UserDevice

Registers = SimpleNamespace
"""The registers of a job by name, as signed numbers."""


class AcceleratorDevice(UserDevice, ABC):
    def __init__(self, accelerator: Accelerator) -> None:
        self.accelerator = accelerator
        self.parameters = SimpleNamespace(**accelerator.parameters)
        self._offsets = {register.offset: register for register in accelerator.registers}
        self.reset()

    # ---- what a model says ------------------------------------------------------------------------------------------

    @abstractmethod
    def cycles(self, r: Registers) -> float:
        """How long a job takes, given the registers by name."""

    @abstractmethod
    def compute(self, r: Registers) -> None:
        """What a job does."""

    # ---- what it does that with -------------------------------------------------------------------------------------

    def load(self, address: int, shape: int | Sequence[int], dtype: str, steps: Sequence[int] = ()) -> Array:
        """An array from memory. `steps` are the bytes from one value of the first axes to the next; what is behind
        those axes lies side by side."""
        shape = (shape,) if isinstance(shape, int) else tuple(shape)
        kind = np.dtype(dtype)
        size = math.prod(shape[len(steps) :]) * kind.itemsize
        self._move(address, size, shape, steps, False)
        parts = [self._read(start, size) for start in _starts(address, shape, steps)]
        return np.frombuffer(b"".join(parts), kind).reshape(shape)

    def store(self, address: int, array: Array, steps: Sequence[int] = ()) -> None:
        """An array to memory, as `load`."""
        data = np.ascontiguousarray(array).tobytes()
        starts = _starts(address, array.shape, steps)
        size = len(data) // max(len(starts), 1)
        self._move(address, size, array.shape, steps, True)
        for number, start in enumerate(starts):
            self._touch(start, size, True)
            if not self._rehearses:
                self.host.write(start, data[number * size : (number + 1) * size])

    def _read(self, address: int, size: int) -> bytes:
        self._touch(address, size, False)
        return bytes(size) if self._rehearses else self.host.read(address, size)

    # ---- the register file ------------------------------------------------------------------------------------------

    def reset(self) -> None:
        self._values = {register.name: 0 for register in self.accelerator.registers}
        self._done: int | None = None
        self._rehearses = False
        self._traffic = 0

    def read(self, offset: int, now: int) -> int:
        register = self._offsets.get(offset)
        if register is None or register.access == "w":
            self.host.misuse(ACCESS)
            return 0
        return self._values[register.name]

    def write(self, offset: int, value: int, now: int) -> None:
        register = self._offsets.get(offset)
        if register is None or register.access == "r":
            self.host.misuse(ACCESS)
            return
        if self._done is not None:
            self.host.misuse(BUSY)
            return
        self._values[register.name] = value
        if register.name == self.accelerator.start:
            self._values[self.accelerator.done.register] &= ~self.accelerator.done.bits
            self._done = now + self._begun(now)

    def tick(self, now: int) -> int | None:
        if self._done is None:
            return None
        if now < self._done:
            return self._done
        self._done = None
        self.host.release()
        self.compute(self._registers())
        done = self.accelerator.done
        self._values[done.register] |= done.bits
        if isinstance(done, Event):
            self.host.raise_event(0xFFFF, done.line, now)
        return None

    def _registers(self) -> Registers:
        """Signed: addresses are used modulo 2**32 by the bus."""
        return Registers(**{name: _signed(value) for name, value in self._values.items()})

    def _begun(self, now: int) -> int:
        """How long a job takes, as far as it is known when it begins."""
        bus, own = self.accelerator.bus, self._own_cycles()
        if bus is None and not self.host.is_checked:
            return own
        self._rehearses, self._traffic = True, 0
        self.host.claim(0, 0, False)
        self.compute(self._registers())
        self._rehearses = False
        if bus is not None and bus.contends:
            self.host.work(own, bus.bytes_per_cycle, bus.overlapped, now)
            return 0
        moving = math.ceil(self._traffic / bus.bytes_per_cycle) if bus else 0
        return max(own, moving) if bus is None or bus.overlapped else own + moving

    def _own_cycles(self) -> int:
        found = self.cycles(self._registers())
        if not isinstance(found, int | float | np.number) or not 0 <= found < math.inf:
            raise Refusal(f"cycles() gave {found!r}, not a number of at least 0")
        return math.ceil(found)

    def _move(self, address: int, size: int, shape: Sequence[int], steps: Sequence[int], is_write: bool) -> None:
        if self._rehearses and self.accelerator.bus is not None and self.accelerator.bus.contends:
            run, levels = _levels(size, shape, steps)
            self.host.move(address, run, levels, is_write)

    def _touch(self, address: int, size: int, is_write: bool) -> None:
        self._traffic += size
        if self._rehearses and self.host.is_checked:
            self.host.claim(address, size, is_write)


def _levels(run: int, shape: Sequence[int], steps: Sequence[int]) -> tuple[int, list[tuple[int, int]]]:
    """Runs of bytes, and how many of them lie how far apart, level by level; what lies side by side is one run."""
    levels: list[tuple[int, int]] = []
    for count, step in reversed(list(zip(shape, steps, strict=False))):
        if not levels and step == run:
            run *= count
        elif levels and step == levels[-1][0] * levels[-1][1]:
            levels[-1] = (levels[-1][0] * count, levels[-1][1])
        else:
            levels.append((count, step))
    return run, levels


def _starts(address: int, shape: Sequence[int], steps: Sequence[int]) -> list[int]:
    """Of the parts that lie side by side."""
    places = itertools.product(*(range(size) for size in shape[: len(steps)]))
    return [(address + sum(map(int.__mul__, at, steps))) & 0xFFFFFFFF for at in places]


def requantised(
    totals: Array, mul: Array | int, add: Array | int, shift: int, rounding: int, zero_point: int, low: int, high: int,
    dtype: str,
) -> Array:  # fmt: skip
    """As networks say it: clamp(round((total * mul + add) / 2**shift) + zero_point), or one of TensorFlow Lite's
    roundings, of which `add` holds exponents. `rounding` is the number of `requant_rounding`."""
    return Requant(shift, dtype, low, high, zero_point, list(Rounding)[rounding])(
        totals, np.asarray(mul), np.asarray(add)
    )


def _signed(value: int) -> int:
    return value - (1 << 32) if value >= 1 << 31 else value
