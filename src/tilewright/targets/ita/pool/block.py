"""What ITAPool's front end reads for a head, one behind the other: three matrices of weights, the inputs, the weights
of queries, biases of 32 bits. Of the four instances, the first one's inputs are those of all."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from tilewright.ir.types import Array
from tilewright.targets.ita.arithmetic import Head, Scale

COLUMNS = 16
"""Of a block of columns, in which inputs and the weights of queries lie."""
LONGEST = 512
"""Of rows, of inputs and of a head: what the front end takes."""
RECORD = (0, 1, 3, 2, 4, 5)
"""In which order it has scales: of Q, K, QK, V, AV and the output."""


def front_bytes(inner: int, width: int) -> int:
    """Before the inputs."""
    return 3 * inner * width


def back_bytes(inner: int, width: int) -> int:
    """Behind them."""
    return inner * width + 4 * (inner + 3 * width)


def block_bytes(rows: int, inner: int, width: int) -> int:
    return front_bytes(inner, width) + 2 * rows * inner + back_bytes(inner, width)


def in_blocks(matrix: Array) -> Array:
    """All rows of the first 16 columns first."""
    rows, columns = matrix.shape
    return np.ascontiguousarray(matrix.reshape(rows, columns // COLUMNS, COLUMNS).swapaxes(0, 1)).reshape(-1)


def _out_of_blocks(data: Array, rows: int) -> Array:
    return data.reshape(-1, rows, COLUMNS).swapaxes(0, 1).reshape(rows, -1)


def packed(head: Head) -> tuple[Array, Array]:
    """What lies before the inputs and what behind them, as bytes."""
    front = np.concatenate([np.ascontiguousarray(w.T).reshape(-1) for w in (head.wo, head.wv, head.wk)])
    biases = np.concatenate([head.bo, head.bv, head.bk, head.bq]).astype("<i4").view(np.int8)
    return front.astype(np.int8), np.concatenate([in_blocks(head.wq.T).astype(np.int8), biases])


def unpacked(front: Array, back: Array, inner: int, width: int, scales: Sequence[Scale]) -> Head:
    size = inner * width
    wo, wv, wk = front[:size].reshape(inner, width), *front[size:].reshape(2, width, inner)
    biases = np.ascontiguousarray(back[size:]).view("<i4").astype(np.int64)
    bo, bv, bk, bq = np.split(biases, [inner, inner + width, inner + 2 * width])
    return Head(_out_of_blocks(back[:size], width).T, wk.T, wv.T, wo.T, bq, bk, bv, bo, scales)
