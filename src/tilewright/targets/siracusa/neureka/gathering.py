"""Windows that are gathered for N-EUREKA: strips of an image, in which each window is a run of bytes."""

from __future__ import annotations

from dataclasses import dataclass

from tilewright.op import Params

STRIP, ROW, WORD, BYTE, FILLED = 60.0, 14.0, 7.0, 7.0, 5.0
"""Cycles of the core that gathers: a strip, a row of it, four bytes, one byte where there are no four, one outside."""


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
        words = -(-self.run // 4) * WORD if self.run >= 4 else self.run * BYTE
        outside = (self.rows - min(self.height, self.rows - self.top)) * self.run * self.columns
        over = sum(self._is_over(column) for column in range(self.columns)) * self.rows * self.run
        strips = self.images * self.columns
        return strips * (STRIP + self.rows * (ROW + words)) + self.images * FILLED * max(outside, over)

    def _is_over(self, column: int) -> bool:
        first = column * self.step - self.left
        return first < 0 or first + self.run > self.width
