"""Parameters of tiles: the array and the C that picks from it give each tile what its kernel wants."""

from __future__ import annotations

from typing import cast

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.support.examples import examples
from tests.tiling.random_grids import CUT_OPERATORS, random_grids
from tilewright import targets
from tilewright.errors import Refusal
from tilewright.ir.op import Op, Params
from tilewright.ir.requant import full_range
from tilewright.ir.types import TensorType
from tilewright.ops.conv import Conv
from tilewright.planner.cluster.tile_params import Variants, kinds, most_scratch, variants
from tilewright.target.kernel import Kernel
from tilewright.tiling.tiles import Cut, TileGrid

pytestmark = pytest.mark.fast

KERNELS = [kernel for engine in targets.find("siracusa").engines for kernel in engine.kernels]


def taken(kernel: Kernel, grid: TileGrid) -> bool:
    """Whether a kernel computes what is on the grid, as the mapping asks."""
    if kernel.op is not type(grid.op) or {cut.loop for cut in grid.cuts} & kernel.unsplit_loops:
        return False
    for argument in kernel.arguments():
        allowed = kernel.allowed(argument)
        for name, kind in grid.types.items():
            mine = name == argument.stem or (argument.variadic and name.startswith(argument.stem))
            if mine and allowed is not None and kind.dtype not in allowed:
                return False
    try:
        return kernel.unsupported_reason(grid.op, grid.types) is None and bool(
            kernel.params(grid.op, grid.types) or True
        )
    except Refusal:
        return False


def picked(found: Variants, indices: dict[str, int]) -> Params:
    """The element that the C expressions name."""
    at = 0
    for selector in found.selectors:
        # In C a comparison is a number, as in Python.
        position = eval(selector.text, {}, dict(indices))
        at = at * len(selector.representatives) + int(position)
    return found.params[at]


@pytest.mark.in_turns(6)
@pytest.mark.parametrize("operator", CUT_OPERATORS, ids=lambda operator: operator.__name__)
@examples(5)
@given(data=st.data())
def test_every_tile_gets_its_parameters_and_no_more_working_memory_than_is_there(
    operator: type[Op], data: st.DataObject
) -> None:
    drawn = data.draw(random_grids(operator))
    for kernel in (kernel for kernel in KERNELS if taken(kernel, drawn.grid)):
        found, most = variants(kernel, drawn.grid), most_scratch(kernel, drawn.grid)
        assert kinds(kernel, drawn.grid) == len(found.params)
        for indices in drawn.tiles():
            op, types = drawn.grid.local_op(indices), drawn.grid.local_types(indices)
            assert picked(found, indices) == cast(Params, kernel.params(op, types)), (kernel.source, indices)
            assert kernel.scratch_bytes(op, types) <= most, (kernel.source, indices)


def depthwise(size: int) -> TileGrid:
    """33 channels, cut."""
    vector = TensorType("int32", (33,))
    types = {
        "X": TensorType("uint8", (1, 11, 17, 33)), "W": TensorType("int8", (33, 3, 3, 1)), "B": vector, "mul": vector,
        "Y": TensorType("uint8", (1, 5, 8, 33)),
    }  # fmt: skip
    op = Conv((2, 2), (1, 1), (1, 0, 0, 1), 33, channels_last=True, requant=full_range(8, "uint8"))
    return TileGrid.of(op, types, ("Y",), (Cut("g", 33, size),))


@pytest.mark.asks_c
def test_the_smaller_tile_needs_more_working_memory() -> None:
    kernel, grid = next(kernel for kernel in KERNELS if kernel.stem == "depthwise_dots"), depthwise(20)
    first, last = (kernel.scratch_bytes(grid.local_op({"g": g}), grid.local_types({"g": g})) for g in (0, 1))
    assert first < last == most_scratch(kernel, grid)
