"""Long names of tensors keep in C what tells them apart."""

from __future__ import annotations

import pytest

from tilewright.codegen.names import LONGEST, for_identifiers, identifier, unique

pytestmark = pytest.mark.fast


@pytest.mark.parametrize(
    ("text", "word"),
    [
        ("block1.depthwise.conv_mul", "block1_depthwise_conv_mul"),
        ("a/" * 30 + "exponents", "a_a_a_a_a_a_a_a_a_a_a_a_a_a_a_a_a_a_a_exponents"),
        ("x" * 60 + "end", "x" * 35 + "_" + "x" * 9 + "end"),
    ],
)
def test_the_end_of_a_name_stays(text: str, word: str) -> None:
    assert identifier(text) == word
    assert len(word) <= LONGEST


def test_names_of_fused_operators_are_short() -> None:
    fused = [f"net/relu_{n}/Relu;net/conv_{n}/BiasAdd;net/conv_4/Conv2D;net/conv_{n}/Conv2D1" for n in range(3)]
    wanted = for_identifiers([name + what for name in fused for what in ("", "_mul")])
    assert unique(wanted)[fused[1]] == "conv_1_conv2d1"
    assert unique(wanted)[f"{fused[1]}_mul"] == "conv_1_conv2d1_mul"
    assert for_identifiers(["a/b/c"]) == {"a/b/c": "a/b/c"}
