"""What all operators share: names of operands, and results that cannot be."""

from __future__ import annotations

import copy
import pickle

import pytest

from tilewright.errors import Refusal
from tilewright.ir.types import TensorType
from tilewright.ops.concat import Concat
from tilewright.ops.conv import Conv
from tilewright.ops.convtranspose import ConvTranspose

pytestmark = pytest.mark.fast


def test_optional_operands_may_be_absent() -> None:
    assert Conv().bind(["x", "w"]) == {"X": "x", "W": "w"}
    assert Conv().bind(["x", "w", None, "m"]) == {"X": "x", "W": "w", "mul": "m"}
    assert Concat().bind(["a", "b", "c"]) == {"X0": "a", "X1": "b", "X2": "c"}


@pytest.mark.parametrize("values", [["x"], ["x", None], [None, "w"], ["x", None, "b"]])
def test_required_operands_may_not(values: list[str | None]) -> None:
    with pytest.raises(Refusal, match=r"input [XW] is missing"):
        Conv().bind(values)


def test_more_operands_than_there_are() -> None:
    with pytest.raises(Refusal, match="6 inputs given, at most 5 expected"):
        Conv().bind(["x"] * 6)


def test_no_result_has_a_negative_size() -> None:
    op = ConvTranspose(strides=(1,), dilations=(1,), before=(4,), spatial=(-5,))
    with pytest.raises(Refusal, match="would have -5 elements"):
        op.infer({"X": TensorType("float32", (1, 1, 2)), "W": TensorType("float32", (1, 1, 2))})


def test_one_whose_index_is_remembered_is_pickled() -> None:
    op, shapes = Conv(padding=(1, 1, 1, 1)), {"X": (1, 2, 5, 5), "W": (3, 2, 3, 3), "Y": (1, 3, 5, 5)}
    index = op.index(shapes)
    for again in (pickle.loads(pickle.dumps(op)), copy.deepcopy(op)):
        assert again == op
        assert again.index(shapes) == index
