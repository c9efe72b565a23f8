"""Windows that are gathered for N-EUREKA: strips of an image, in which each window is a run of bytes."""

from __future__ import annotations

from tilewright.ir.op import Params
from tilewright.records import dataclass

CALL, STRIP, ROW, WORD = 250.0, 120.0, 26.0, 2.4
"""Cycles of a core: the call, a strip, a row of it, and a word of that."""
EDGE_STRIP, EDGE_ROW = 55.0, 10.0
"""More of a strip that reaches beyond the image, and of a row of it."""


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
        strips = self.images * self.columns
        own = -(-strips * self.rows // cores)
        begun, edges = float(strips), float(self.images * sum(self._beyond))
        if cores > 1:
            begun, edges = min(strips, 1 + own / self.rows), min(max(self._beyond), own / self.rows)
        row = ROW + WORD * -(-self.run // 4)
        return CALL + STRIP * begun + own * row + edges * (EDGE_STRIP + EDGE_ROW * self.rows)

    @property
    def _beyond(self) -> tuple[int, int]:
        """Strips of an image that begin before it, and those that only end behind it."""
        firsts = [column * self.step - self.left for column in range(self.columns)]
        before = sum(first < 0 for first in firsts)
        return before, sum(first >= 0 and first + self.run > self.width for first in firsts)
