"""The jobs of a layer, in the order that ITA's sequencer counts them in, as words for its registers."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace

from tilewright.targets.ita.jobs import ItaLayer, layer_registers
from tilewright.targets.ita.layout import BIAS_BYTES, TILE_BYTES


@dataclass(frozen=True)
class Product:
    """A matrix product of a layer: where its tiles lie, from the start of the TCDM."""

    rows: int
    columns: int
    inner: int
    input: int
    weights: int
    output: int
    bias: int | None = None
    bias_per_row: bool = False

    def row_block(self, row: int) -> Product:
        """The product for 64 rows alone."""
        shift = row * TILE_BYTES
        return replace(self, rows=1, input=self.input + shift * self.inner, output=self.output + shift * self.columns)


@dataclass(frozen=True)
class ItaJob:
    input: int
    weights: int
    output: int
    bias: int | None
    bias_per_row: bool
    has_output: bool


def product_jobs(product: Product) -> Iterator[ItaJob]:
    """The inner block is the fastest."""
    for row in range(product.rows):
        for column in range(product.columns):
            bias = product.bias
            at = row if product.bias_per_row else column
            for inner in range(product.inner):
                is_last = inner == product.inner - 1
                yield ItaJob(
                    product.input + (row * product.inner + inner) * TILE_BYTES,
                    product.weights + (column * product.inner + inner) * TILE_BYTES,
                    product.output + (row * product.columns + column) * TILE_BYTES,
                    None if bias is None or not is_last else bias + at * BIAS_BYTES,
                    product.bias_per_row,
                    is_last,
                )


def attended_jobs(scores: Product, mixed: Product) -> Iterator[ItaJob]:
    """Of each 64 rows, the scores and then what they mix."""
    for row in range(scores.rows):
        yield from product_jobs(scores.row_block(row))
        yield from product_jobs(mixed.row_block(row))


def job_registers(layer: ItaLayer, jobs: Sequence[ItaJob]) -> list[list[int]]:
    """The words at 0x20 and behind, for each job; each fetches the first weights of the next."""
    following = [*jobs[1:], None]
    return [_registers(layer, job, after, at == 0) for at, (job, after) in enumerate(zip(jobs, following, strict=True))]


def _registers(layer: ItaLayer, job: ItaJob, after: ItaJob | None, is_first: bool) -> list[int]:
    flow = (
        is_first
        | (after is not None) << 1
        | (job.bias is None) << 2
        | job.bias_per_row << 3
        | (not job.has_output) << 4
    )
    return [
        job.input, job.weights, after.weights if after else 0, job.bias or 0, job.output, 0,
        *layer_registers(layer)[:8], flow, *layer_registers(layer)[8:],
    ]  # fmt: skip
