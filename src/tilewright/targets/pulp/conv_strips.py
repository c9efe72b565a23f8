"""Convolutions whose windows are left where they are: in rows of the image, or in strips of it with their padding."""

from __future__ import annotations

from dataclasses import dataclass

from tilewright.ops.conv import Conv

STRIP_BYTES = 3072
"""Of a strip of the image at a time, for each core."""

PADDED_BYTES = 4096
"""Of an image that is copied with its padding, at most."""


def words_of(size: int) -> int:
    return -(-size // 4)


@dataclass(frozen=True)
class Strips:
    """What conv_strips.h takes from the image."""

    lines: int
    """Rows of output pixels, of all images."""
    width: int
    """Pixels of each."""
    rows: int
    """Of a window."""
    taps: int
    """Of a window's row."""
    channels: int
    filters: int
    stride: int
    is_inside: bool
    """Whether all windows lie in the image, and its pixels are whole words: nothing is copied."""

    @property
    def quads(self) -> int:
        return words_of(self.filters)

    @property
    def run(self) -> int:
        """Words of a window's row."""
        return self.taps * words_of(self.channels)

    def bytes(self, pixels: int) -> int:
        """Of a strip for so many output pixels of a row."""
        return 0 if self.is_inside else self.rows * self.copied_words(pixels) * 4

    def copied_words(self, pixels: int) -> int:
        """Of each row of a strip."""
        return ((pixels - 1) * self.stride + self.taps) * words_of(self.channels)

    @property
    def pixels(self) -> int:
        """Output pixels of a row that a core works on at a time."""
        if self.bytes(self.width) <= STRIP_BYTES:
            return self.width
        return max((n for n in range(4, self.width, 4) if self.bytes(n) <= STRIP_BYTES), default=4)

    @property
    def filled_bytes(self) -> int:
        """Copies of the filters, if channels are no whole words."""
        return 4 * self.filters * self.rows * self.run if self.channels % 4 else 0

    @property
    def are_faster(self) -> bool:
        """Than windows that are gathered; by cycles of a core, about."""
        words, count = words_of(self.rows * self.taps * self.channels), self.lines * self.width
        gathered = words_of(count) * self.quads * (24 * words + 100) + count * (3 * words + 25 * self.rows + 40)
        copied = 0 if self.is_inside else self.rows * (40 + 3 * self.copied_words(self.width))
        block = 24 * self.run * self.rows + 115 + 5 * self.rows
        return self.lines * (words_of(self.width) * self.quads * block + copied) < gathered


def strips_of(conv: Conv, lines: int, width: int, rows: int, taps: int, channels: int, filters: int) -> Strips | None:
    """None where windows are gathered, or are the image's pixels. `channels` and `filters` are those of a group."""
    is_inside = not any(conv.padding) and channels % 4 == 0
    found = Strips(lines, width, rows, taps, channels, filters, conv.strides[-1], is_inside)
    is_plain = conv.groups == 1 and conv.dilations[-1] == 1 and not conv.w_zero
    if not is_plain or filters < 4 or width < 4 or found.run < 2 or is_pointwise(conv, rows * taps, channels):
        return None
    return found if found.are_faster else None


def padded_bytes(conv: Conv, batch: int, size: tuple[int, int], window: tuple[int, int], channels: int) -> int:
    """Of a copy of the image with its padding, as far as windows of `size` output pixels reach; 0 where windows are
    gathered from the image."""
    is_plain = conv.groups == 1 and conv.dilations[-1] == 1 and window != (1, 1)
    if not is_plain or not any(conv.padding):
        return 0
    strides, dilations = ((1, *values)[-2:] for values in (conv.strides, conv.dilations))
    height, width = ((n - 1) * strides[i] + (window[i] - 1) * dilations[i] + 1 for i, n in enumerate(size))
    bytes_needed = batch * height * width * channels
    return bytes_needed if bytes_needed <= PADDED_BYTES else 0


def is_pointwise(conv: Conv, taps: int, channels: int) -> bool:
    """One tap on neighbouring pixels: the image is as good as a matrix. is_pointwise() in C."""
    alone = set(conv.strides) == {1} and not any(conv.padding) and conv.groups == 1
    return taps == 1 and alone and channels >= 4
