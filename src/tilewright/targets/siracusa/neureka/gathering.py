"""Windows that are gathered for N-EUREKA: strips of an image, in which each window is a run of bytes."""

from __future__ import annotations

from dataclasses import dataclass

from tilewright.ir.op import Params

CALL, STRIP, ROW, WORD, ASKEW = 300.0, 60.0, 12.0, 2.5, 2.0
"""Cycles of a core: the call, a strip, a row of it, a word of that, and more if words are not aligned."""
EDGE = 25.0
"""More of a row that reaches beyond the image."""


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

    def cycles(self, cores: int) -> float:
        """Of the core that has most."""
        own = -(-self.images * self.columns * self.rows // cores)
        is_askew = any(size % 4 for size in (self.run, self.step, self.width, self.left))
        row = ROW + -(-self.run // 4) * (WORD + ASKEW * is_askew)
        edge = EDGE * min(own, self.rows) if any(map(self._is_over, range(self.columns))) else 0.0
        return CALL + STRIP * (1 + own / self.rows) + own * row + edge

    def _is_over(self, column: int) -> bool:
        first = column * self.step - self.left
        return first < 0 or first + self.run > self.width
