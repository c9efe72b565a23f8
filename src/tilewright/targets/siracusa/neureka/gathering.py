"""Windows that are gathered for N-EUREKA: strips of an image, in which each window is a run of bytes."""

from __future__ import annotations

from dataclasses import dataclass

from tilewright.ir.op import Params

CALL, STRIP, APART, FILL, FILLED = 150.0, 85.0, 12.0, 45.0, 0.65
"""Cycles of the core that gathers: a strip, a row that is a transfer of its own, bytes outside and each of them."""
TRANSFERRED = 8
"""Bytes per cycle."""
BROKEN = 1.5
"""Cycles of a row that is no whole words, besides."""


@dataclass(frozen=True)
class Strips:
    """Of all images of a batch; widths are in bytes. As tw_neureka_gather."""

    images: int
    columns: int
    rows: int
    run: int
    step: int
    height: int
    width: int
    top: int
    left: int
    fill: int

    @property
    def image_bytes(self) -> int:
        return self.columns * self.rows * self.run

    @property
    def bytes(self) -> int:
        """In whole words."""
        return -(-self.images * self.image_bytes // 4) * 4

    def params(self) -> Params:
        return dict(vars(self))

    def cycles(self) -> float:
        """Transfers go on meanwhile."""
        inside = max(0, min(self.height, self.rows - self.top))
        over = sum(self._is_over(column) for column in range(self.columns))
        core = self.columns * STRIP + over * (FILL + FILLED * self.rows * self.run + APART * inside)
        core += (self.columns - over) * self._filled(self.top, self.rows - self.top - inside)
        moved = self.columns * inside * (-(-self.run // TRANSFERRED) + (BROKEN if self.run % 4 else 0.0))
        return CALL + self.images * max(core, moved)

    def _filled(self, *rows: int) -> float:
        return sum(FILL + FILLED * count * self.run for count in rows if count)

    def _is_over(self, column: int) -> bool:
        first = column * self.step - self.left
        return first < 0 or first + self.run > self.width
