"""How far a simulation is: a percentage and the time left in terminals, and a warning where it will take minutes."""

from __future__ import annotations

import sys
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager

from tilewright.report.numbers import duration
from tilewright.sim.heard import heard_by

LONG = 60.0
"""Seconds that nobody waits for without being told."""
KNOWN_AFTER = 1.0
"""Seconds of simulating after which its speed is known."""
QUICKER = "--target generic checks the same outputs on this machine, analyze predicts the cycles"


class Watch:
    """Hears the cycles of a simulation."""

    def __init__(
        self, progress: Callable[[str], None], expected: int, now: Callable[[], float] = time.monotonic
    ) -> None:
        self.progress, self.expected, self.now = progress, expected, now
        """`expected`: predicted cycles; 0 where nothing was predicted."""
        self.began, self.first, self.last, self.has_warned = 0.0, 0, -1, False

    def __call__(self, cycles: int) -> None:
        if self.last < 0 or cycles < self.last:  # the first program, or another one in a simulator of its own
            self.began, self.first = self.now(), cycles
        self.last = cycles
        elapsed = self.now() - self.began
        if not self.expected or cycles == self.first or elapsed < KNOWN_AFTER:
            return
        share = min(cycles / self.expected, 0.99)
        left = elapsed * max(self.expected - cycles, 0) / (cycles - self.first)
        self.progress(f"simulating: {share:.0%}, {duration(left)} left")
        if elapsed + left > LONG and not self.has_warned:
            self.has_warned = True
            self._warn(elapsed + left)

    def _warn(self, seconds: float) -> None:
        took = f"{self.expected:,} predicted cycles take about {duration(seconds)} to simulate"
        print(f"tilewright: {took}; quicker: {QUICKER}", file=sys.stderr, flush=True)


@contextmanager
def watched(progress: Callable[[str], None], expected: int) -> Iterator[None]:
    with heard_by(Watch(progress, expected)):
        yield
