"""Depthwise convolutions of bytes, whose input is taken apart into planes: some rows of four channels at a time."""

from __future__ import annotations

from dataclasses import dataclass

PLANE_BYTES = 2048
"""Of input rows of four channels at a time, for each core."""


@dataclass(frozen=True)
class Planes:
    """As in depthwise_dots.c."""

    quads: int
    """Of four channels, of all images."""
    height: int
    """Rows of results."""
    stride: int
    """Rows of input from one of them to the next."""
    reach: int
    """Rows of a window, with those that it leaves out."""
    pitch: int
    """Bytes from row to row of a plane."""
    cores: int
    """That pieces of work are made for: all that there are, however many of them compute."""

    def input_rows(self, rows: int) -> int:
        """That so many rows of results need."""
        return (rows - 1) * self.stride + self.reach

    @property
    def rows(self) -> int:
        """Of results at a time: few enough for the planes and for all cores to have some, but not fewer than needed."""
        counted = ((strips, strips * self.quads) for strips in range(1, self.height + 1))
        fair = (strips for strips, pieces in counted if pieces % self.cores == 0 or pieces >= 4 * self.cores)
        rows = -(-self.height // next(fair, self.height))
        while rows > 1 and 4 * self.pitch * self.input_rows(rows) > PLANE_BYTES:
            rows -= 1
        return max(rows, 1)


def pitch_of(width: int, stride: int, taps: int, padded: int) -> int:
    """Of rows of `width` results; `padded` is the image's row and what is filled in on its left."""
    read = (width - 1) * stride + 4 * -(-taps // 4)
    return -(-max(padded, read) // 4) * 4
