"""Units of work of attention, as the kernels' C says them, beside what operators say of the keys that a query sees."""

from __future__ import annotations

from functools import partial
from typing import cast

import numpy as np
import pytest

from tests.support.attention_cases import MAKERS
from tilewright.ir.types import TensorType, type_of
from tilewright.ops._attention_rows import AttentionRows
from tilewright.ops.qlinearattention import QLinearAttention
from tilewright.target.params import params_of
from tilewright.targets.generic.sizes import in_c
from tilewright.targets.pulp import attention
from tilewright.targets.pulp.sizes import in_c as pulp_in_c

CASES = 40


def cases(kind: str) -> list[tuple[AttentionRows, dict[str, TensorType], dict[str, int]]]:
    """Operators, the types of their operands, and the extents of a tile."""
    random, found = np.random.default_rng(7), []
    for _ in range(CASES):
        op, arrays = MAKERS[kind](random)
        names = [name.rstrip("?") for name in op.operands]
        types = {name: type_of(array) for name, array in zip(names, arrays, strict=False) if array is not None}
        whole = op.extents({name: one.shape for name, one in types.items()})
        tile = {loop: int(random.integers(1, size + 1)) for loop, size in whole.items()}
        found.append((cast(AttentionRows, op), types, tile))
    return found


def keys_of(op: AttentionRows, types: dict[str, TensorType]) -> float:
    return op.keys_seen({name: kind.shape for name, kind in types.items()})


@pytest.mark.parametrize("kind", sorted(MAKERS))
def test_rows_see_the_keys_that_the_operator_says(kind: str) -> None:
    work = in_c.work(f"tw_{kind.lower()}_work")
    seen = set()
    for op, types, tile in cases(kind):
        rows = tile["b"] * tile["t"] * tile["g"] * tile["r"]
        scores = rows * keys_of(op, types)
        assert work.units(params_of, op, types, tile, 1) == (rows, scores, scores * (tile["d"] + tile["e"]))
        seen.add((op.causal, "position" in types))
    assert len(seen) == 3


@pytest.mark.parametrize("cores", [1, 8])
def test_all_cores_share_the_rows(cores: int) -> None:
    work, params = pulp_in_c.work("tw_attention_dots_work"), partial(attention.params, cores=cores)
    for op, types, tile in cases("QLinearAttention"):
        fused = cast(QLinearAttention, op)
        rows = -(-tile["b"] * tile["t"] * tile["g"] * tile["r"] // cores)
        scores, e = rows * keys_of(op, types), tile["e"]
        words = scores * tile["d"] / (2 if types["K"].dtype == "int16" else 4)
        own = scores if fused.softmax.bits else 0, words, rows * e / 4, scores * e / 4, scores if words > scores else 0
        assert work.units(params, op, types, tile, cores) == (1, rows, scores, *own)
