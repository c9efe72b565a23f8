"""The tables of loops, fields and types in docs/accelerators.md, held to what declarations may speak of."""

from __future__ import annotations

from pathlib import Path

import pytest

from tilewright import ops
from tilewright.accelerator.chains import flat
from tilewright.accelerator.declaration import Pattern
from tilewright.accelerator.layers import layers
from tilewright.accelerator.numbers import operand_shapes
from tilewright.ir.op import Op
from tilewright.ir.types import BYTES
from tilewright.target.params import params_of

PAGE = Path(__file__).parents[2] / "docs" / "accelerators.md"
OPERATORS = (
    "Conv", "MatMul", "MaxPool", "AveragePool", "QLinearAveragePool", "QLinearReduceMean", "QLinearAdd", "QLinearMul",
    "TfliteAdd", "Relu", "Softmax",
)  # fmt: skip

pytestmark = pytest.mark.fast


def kind_of(name: str) -> type[Op]:
    kind = ops.find(name)
    assert kind is not None
    return kind


def row(name: str) -> str:
    """Operands and results, loops, and fields without those of a requantisation, which the page has once."""
    kind = kind_of(name)
    loops: dict[str, None] = {}
    fields: dict[str, None] = {}
    for op, types in layers(Pattern("any", name, {}), kind):
        loops |= dict.fromkeys(op.extents(operand_shapes(op, types)))
        fields |= dict.fromkeys(field for field, _ in flat(params_of(op, types)))
    own = [field for field in fields if not field.startswith("requant")]
    operands = f"{', '.join(kind.operands)} -> {', '.join(kind.results)}"
    return f"| {name} | `{operands}` | `{' '.join(loops)}` | `{' '.join(own)}` |"


@pytest.mark.parametrize("name", OPERATORS)
def test_rows_are_what_there_is(name: str) -> None:
    assert row(name) in PAGE.read_text().splitlines()


def test_element_types() -> None:
    assert f"Element types are `{' '.join(BYTES)}`." in PAGE.read_text()
