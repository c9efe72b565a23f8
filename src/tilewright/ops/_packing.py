"""Constants in the order in which a kernel reads them: axes split, filled up and permuted, and the way back."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from tilewright.ir.types import Array


@dataclass(frozen=True)
class Packing:
    """Rows [groups * filters, length] as blocks of filters and runs of elements; what fills them up is zero."""

    groups: int = 1
    block: int = 1
    """Filters; the last block of each group is filled up."""
    run: int = 1
    """Elements of a row that stay side by side; the packed array has no axis for runs of one."""
    order: tuple[int, int, int, int] = (0, 2, 1, 3)
    """Of blocks, filters of a block, runs, and elements of a run."""
    multiple: int = 0
    """Elements that rows are filled up to a multiple of; 0: whole runs."""

    def pack(self, rows: Array) -> Array:
        per_group = rows.reshape(self.groups, -1, rows.shape[1])
        missing = -per_group.shape[1] % self.block, -rows.shape[1] % (self.multiple or self.run)
        filled = np.pad(per_group, [(0, 0), (0, missing[0]), (0, missing[1])])
        parts = filled.reshape(-1, self.block, filled.shape[2] // self.run, self.run).transpose(self.order)
        return np.ascontiguousarray(parts[..., 0] if self.run == 1 else parts)

    def unpack(self, parts: Array, filters: int, length: int) -> Array:
        """The rows again: as many filters in each group."""
        axes = (parts[..., None] if self.run == 1 else parts).transpose(np.argsort(self.order))
        rows = axes.reshape(self.groups, -1, axes.shape[2] * self.run)
        return np.ascontiguousarray(rows[:, :filters, :length].reshape(self.groups * filters, length))

    def fill(self, values: Array) -> Array:
        """A value for each filter, also for those that fill up a block."""
        per_group = values.reshape(self.groups, -1)
        return np.pad(per_group, [(0, 0), (0, -per_group.shape[1] % self.block)]).reshape(-1)

    def plain(self, values: Array, filters: int) -> Array:
        """The values again: as many in each group."""
        return np.ascontiguousarray(values.reshape(self.groups, -1)[:, :filters].reshape(-1))
