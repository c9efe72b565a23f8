"""What kernels are said to cost: by the work that they do, on tiles as on whole layers."""

from __future__ import annotations

from dataclasses import replace

import pytest

from tests.targets.pulp.machine import SIRACUSA
from tilewright.ir.requant import full_range
from tilewright.ir.rounding import Rounding
from tilewright.ir.types import TensorType
from tilewright.ops.conv import Conv
from tilewright.ops.reducemax import ReduceMax
from tilewright.target.kernel import Types
from tilewright.targets.hwpe.gathering import Strips
from tilewright.targets.pulp.conv_features import conv_features
from tilewright.targets.pulp.depthwise_features import depthwise_features, planes_of
from tilewright.targets.pulp.linear import depthwise_planes
from tilewright.targets.pulp.reductions import column_features

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


def depthwise(height: int, width: int, channels: int) -> tuple[Conv, Types, dict[str, int]]:
    op, types = replace(SAME, groups=channels), types_of(height, width, channels, channels, channels)
    return op, types, extents_of(op, types)


def test_every_feature_has_a_coefficient() -> None:
    known, types = SIRACUSA.costs.kernels, types_of(8, 8, 16, 16, 1)
    assert len(conv_features(SAME, types, extents_of(SAME, types), 8)) == len(known["conv_dots"])
    assert len(depthwise_features(*depthwise(8, 8, 16), 8, all_cores=8)) == len(known["depthwise_dots"])
    rows = {"X": TensorType("int8", (25, 64)), "Y": TensorType("int8", (1, 64))}
    assert len(column_features(ReduceMax((0,)), rows, {"d0": 25, "d1": 64}, 8)) == len(known["reducemax_columns"])


def test_a_tile_of_one_group_is_a_convolution_without_groups() -> None:
    grouped, alone = replace(SAME, groups=4), types_of(12, 12, 4, 4, 1)
    whole, tile = types_of(12, 12, 16, 16, 4), extents_of(SAME, alone)
    assert conv_features(grouped, whole, tile, 8) == conv_features(SAME, alone, tile, 8)


@pytest.mark.parametrize("size", [(25, 5, 64), (24, 24, 16), (3, 3, 48), (48, 48, 8)])
def test_planes_are_those_of_the_kernel(size: tuple[int, int, int]) -> None:
    op, types, extents = depthwise(*size)
    assert planes_of(op, types, extents, 8) == depthwise_planes(op, types, 8)


def test_pieces_are_made_for_all_cores_also_where_fewer_compute() -> None:
    op, types, extents = depthwise(8, 8, 16)
    pieces = 8  # four quads of channels in two strips
    found = [depthwise_features(op, types, extents, cores, all_cores=8)[2] for cores in (1, 4, 8)]
    assert found == [pieces, pieces // 4, 1]


def test_requantisation_as_hardware_does_it_is_not_looked_at() -> None:
    op, types, extents = depthwise(8, 8, 16)
    native = replace(op, requant=replace(TO_BYTES, rounding=Rounding.NATIVE))
    assert depthwise_features(op, types, extents, 8, all_cores=8)[3] == 1
    assert depthwise_features(native, types, extents, 8, all_cores=8)[3] == 0


def test_every_strip_beyond_the_image_costs_more() -> None:
    within = Strips(1, 2, 11, 8, 2, 8, 12, 1, 0, 0)
    right, both = replace(within, width=9), replace(within, width=2, left=4)
    assert within.cycles(1) < right.cycles(1) < both.cycles(1)
