"""What kernels are said to cost: by the work that they do, on tiles as on whole layers."""

from __future__ import annotations

from dataclasses import replace
from functools import partial

import pytest

from tests.targets.pulp.machine import SIRACUSA
from tilewright.ir.requant import full_range
from tilewright.ir.rounding import Rounding
from tilewright.ir.types import TensorType
from tilewright.ops.conv import Conv
from tilewright.ops.lstmcells import LSTMCells
from tilewright.ops.packedmatmul import PackedMatMul
from tilewright.ops.reducemax import ReduceMax
from tilewright.ops.requantshift import RequantShift
from tilewright.target.extents import Extents
from tilewright.target.kernel import Types
from tilewright.target.params import params_of
from tilewright.targets.hwpe.gathering import Strips
from tilewright.targets.pulp.linear import conv_dots_params, depthwise_params
from tilewright.targets.pulp.reductions import column_features
from tilewright.targets.pulp.sizes import in_c

TO_BYTES = full_range(16, "int8")
SAME = Conv((1, 1), padding=(1, 1, 1, 1), channels_last=True, requant=TO_BYTES)


def types_of(height: int, width: int, channels: int, filters: int, groups: int) -> Types:
    image = {
        "X": (1, height, width, channels),
        "W": (filters, 3, 3, channels // groups),
        "Y": (1, height, width, filters),
    }
    return {name: TensorType("int8", shape) for name, shape in image.items()}


def extents_of(op: Conv, types: Types) -> dict[str, int]:
    return op.extents({name: types[name].shape for name in "XW"})


def conv_units(op: Conv, types: Types, extents: Extents, cores: int) -> tuple[float, ...]:
    return in_c.work("tw_conv_dots_work").units(conv_dots_params, op, types, extents, cores)


def depthwise_units(op: Conv, types: Types, extents: Extents, cores: int) -> tuple[float, ...]:
    params = partial(depthwise_params, cores=8)
    return in_c.work("tw_depthwise_dots_work", 8).units(params, op, types, extents, cores)


def depthwise(height: int, width: int, channels: int) -> tuple[Conv, Types, dict[str, int]]:
    op, types = replace(SAME, groups=channels), types_of(height, width, channels, channels, channels)
    return op, types, extents_of(op, types)


def test_every_feature_has_a_coefficient() -> None:
    known, types = SIRACUSA.costs.kernels, types_of(8, 8, 16, 16, 1)
    assert len(conv_units(SAME, types, extents_of(SAME, types), 8)) == len(known["conv_dots"])
    assert len(depthwise_units(*depthwise(8, 8, 16), 8)) == len(known["depthwise_dots"])
    rows = {"X": TensorType("int8", (25, 64)), "Y": TensorType("int8", (1, 64))}
    assert len(column_features(ReduceMax((0,)), rows, {"d0": 25, "d1": 64}, 8)) == len(known["reducemax_columns"])


def test_a_tile_of_one_group_is_a_convolution_without_groups() -> None:
    grouped, alone = replace(SAME, groups=4), types_of(12, 12, 4, 4, 1)
    whole, tile = types_of(12, 12, 16, 16, 4), extents_of(SAME, alone)
    assert conv_units(grouped, whole, tile, 8) == conv_units(SAME, alone, tile, 8)


@pytest.mark.parametrize("size", [(25, 5, 64), (24, 24, 16), (3, 3, 48), (48, 48, 8)])
def test_planes_are_those_of_the_kernel(size: tuple[int, int, int]) -> None:
    """Bytes that a plane is filled with: as the scratch memory of a core, without its taps."""
    op, types, extents = depthwise(*size)
    scratch = in_c("tw_depthwise_dots_scratch", 1)(depthwise_params(op, types, 8), types)
    assert 4 * depthwise_units(op, types, extents, 8)[1] == scratch - 16 * 3


def test_pieces_are_made_for_all_cores_also_where_fewer_compute() -> None:
    op, types, extents = depthwise(8, 8, 16)
    pieces = 8  # four quads of channels in two strips
    found = [depthwise_units(op, types, extents, cores)[2] for cores in (1, 4, 8)]
    assert found == [pieces, pieces // 4, 1]


def test_requantisation_as_hardware_does_it_is_not_looked_at() -> None:
    op, types, extents = depthwise(8, 8, 16)
    native = replace(op, requant=replace(TO_BYTES, rounding=Rounding.NATIVE))
    assert depthwise_units(op, types, extents, 8)[3] == 1
    assert depthwise_units(native, types, extents, 8)[3] == 0


def test_every_strip_beyond_the_image_costs_more() -> None:
    within = Strips(1, 2, 11, 8, 2, 8, 12, 1, 0, 0)
    right, both = replace(within, width=9), replace(within, width=2, left=4)
    assert within.cycles(1) < right.cycles(1) < both.cycles(1)


def test_units_of_a_convolution_by_hand() -> None:
    """8 x 8 pixels, 16 channels and filters, 3 x 3 taps, one core: strips of a row with its padding."""
    types = types_of(8, 8, 16, 16, 1)
    found = conv_units(SAME, types, extents_of(SAME, types), 1)
    rows, quads, words = 8, 4, 3 * 3 * 4
    blocks = rows * 2 * quads
    assert found[:6] == (1, rows * quads, blocks, blocks, blocks * words, 0)
    assert found[21:] == (blocks * 3, rows * 3, rows * 3 * 10 * 4)
    assert conv_dots_params(SAME, types)["strips"] == 1


def test_units_of_windows_that_are_gathered_by_hand() -> None:
    """6 x 6 pixels of 3 channels, 8 filters of 3 x 3 taps two apart along a row: no window is one run."""
    op = replace(SAME, dilations=(1, 2), padding=(1, 2, 1, 2))
    image = {"X": (1, 6, 6, 3), "W": (8, 3, 3, 3), "Y": (1, 6, 6, 8)}
    types = {name: TensorType("int8", shape) for name, shape in image.items()}
    found = conv_units(op, types, extents_of(op, types), 1)
    pixels, words = 36, 7
    assert found[:5] == (1, 2 * 3, 9 * 2, 9 * 2, 9 * 2 * words)
    assert found[9:14] == (0, 0, 0, pixels, 9 * pixels)
    assert found[18] == 8 * words


def test_units_of_packed_products_by_hand() -> None:
    """Five rows of 40 codes of four bits and ten columns on two cores."""
    op = PackedMatMul(4, -8, TO_BYTES)
    shapes = {"A": (5, 40), "B": (10, 20), "mul": (10,), "Y": (5, 10)}
    kinds = {"A": "int8", "B": "uint8", "mul": "int32", "Y": "int8"}
    types = {name: TensorType(kinds[name], shape) for name, shape in shapes.items()}
    found = in_c.work("tw_matmul_packed_dots_work").units(params_of, op, types, {"d0": 5, "n": 10}, 2)
    strips = 2  # of four columns, of the core that has two of three
    assert found == (1, 5 * 40, strips * 2, strips * 2, strips * 5, strips * 5 * 40, 0, 0, strips * 5, 0)


def test_units_of_cells_by_hand() -> None:
    """Four gates of ten units on four cores: one has three of them, none of which are four."""
    types = {"X": TensorType("float32", (6, 2, 40)), "R": TensorType("float32", (40, 10))}
    work = in_c.work("tw_cells_shared_work", 4)
    found = work.units(lambda op, types: {"hidden": 10}, LSTMCells(), types, {"t": 6, "b": 2}, 4)
    assert found == (1, 6, 12, 3 * 12, 0, 3 * 4 * 12, 0, 3 * 4 * 12 * 10)


def test_units_of_requantisations_by_hand() -> None:
    """Six channels of two elements are few on two cores, of ten they are many."""
    op, work = RequantShift(requant=TO_BYTES, axis=1), in_c.work("tw_requantshift_columns_work")
    for each, expected in ((2, (1, 0, 0, 0, 0, 3 * 2)), (10, (1, 0, 3 * 10, 3, 0, 0))):
        types = {"X": TensorType("int32", (each, 6)), "mul": TensorType("int32", (6,))}
        assert work.units(params_of, op, types, {"d0": each, "d1": 6}, 2) == expected
