"""Shares of masked scores where masking clips and shifts: what a mask makes unimportant is not computed."""

from __future__ import annotations

from dataclasses import asdict
from math import prod
from typing import cast

import numpy as np

from tilewright.errors import present
from tilewright.ir.op import Op, Params
from tilewright.ir.types import TensorType, limits
from tilewright.ops._linear import NARROW
from tilewright.target.kernel import Kernel, Types
from tilewright.targets.pulp import masked_softmax_tables
from tilewright.targets.pulp.dialect import share_tables, softmax_unsupported
from tilewright.targets.pulp.masked_softmax_features import features, samples
from tilewright.targets.pulp.masked_softmax_operator import BYTE, MaskedSoftmax, score_requant
from tilewright.targets.pulp.score_tables import course, masks, scoring, unmasked_scores
from tilewright.targets.pulp.sizes import by_cores

MOST_COLUMNS = 512
LONG = 32
"""Bytes of rows up to which their scores belong here: products of many longer ones are faster in blocks, apart."""
FEW_COLUMNS = 32
"""Up to which tables, if they do, are faster: there is less to do before and after each row."""


def params(op: Op, types: Types) -> Params:
    fused = cast(MaskedSoftmax, op)
    *heads, rows, length = types["A"].shape
    columns, mask = types["B"].shape[-2], types["M"]
    found = present(score_requant(fused.score, length), fused.kind, "its scores have no requantisation in 32 bits")
    masking = present(masks(fused, length, mask.dtype), fused.kind, "its mask cannot be described")
    unmasked = unmasked_scores(fused, found, mask.dtype)
    return {
        "heads": prod(heads), "rows": rows, "columns": columns,
        "mask_row": columns if len(mask.shape) > 1 and mask.shape[-2] > 1 else 0, **asdict(course(fused.softmax)),
        "scores": scoring(length, unmasked, found), "masks": masking, "tables": share_tables(fused.softmax),
    }  # fmt: skip


def unsupported_reason(op: Op, types: Types) -> str | None:
    columns = types["B"].shape[-2]
    if columns <= FEW_COLUMNS and masked_softmax_tables.unsupported_reason(op, types) is None:
        return f"{columns} columns are too few"
    return clipping_unsupported(op, types)


def clipping_unsupported(op: Op, types: Types) -> str | None:
    """What masked_heads.h relies on."""
    fused, columns, mask, length = cast(MaskedSoftmax, op), types["B"].shape[-2], types["M"], types["A"].shape[-1]
    if length % 4 or columns > MOST_COLUMNS:
        return f"{columns} rows of {length} bytes; at most {MOST_COLUMNS} of whole words are supported"
    if length > LONG and types["A"].shape[-2] > 1:
        return f"many rows of {length} bytes; separate kernels are faster"
    if mask.shape[-1:] != (columns,) or prod(mask.shape[:-2]) != 1:
        return "a mask that is not one row or one matrix for all heads"
    masked = fused.masking.out.requant.dtype
    if np.ptp(limits(masked)) >= BYTE or score_requant(fused.score, length) is None:
        return "scores of more than 8 bits"
    if masks(fused, length, mask.dtype) is None:
        return "a mask that does more than to clip and to shift scores"
    return softmax_unsupported(fused.softmax, {"X": TensorType(masked, types["Y"].shape)})


REASONS = (unsupported_reason, masked_softmax_tables.unsupported_reason)
"""Why each of the kernels does not take an operator."""


def kernels(cores: int) -> tuple[Kernel, ...]:
    """For a cluster of so many."""
    return (
        Kernel(
            MaskedSoftmax, "masked_softmax.c", "A:int8 B:int8 M -> Y", {"M": NARROW, "Y": NARROW}, params,
            by_cores("tw_masked_softmax_scratch", cores), unsupported_reason, cooperative=True,
            unsplit_loops=frozenset({"k", "n"}), features=features, samples=samples,
        ),
        *masked_softmax_tables.kernels(cores),
    )  # fmt: skip
