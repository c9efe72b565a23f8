"""Refusals of whole models: inside subgraphs, equal ones together, element types by name."""

from __future__ import annotations

import pytest
from onnx import ModelProto, TensorProto, helper

import tilewright as tw
from tests.support.command import Command
from tests.support.models import model, node
from tilewright.errors import CompileError, ManyErrors
from tilewright.frontends.onnx.accepted import by_definition, only_folded


def branch(*kinds: str) -> helper.GraphProto:  # type: ignore[name-defined]
    names = ["x", *(f"t{i}" for i in range(len(kinds)))]
    nodes = [node(kind, names[i], names[i + 1]) for i, kind in enumerate(kinds)]
    return helper.make_graph(nodes, "branch", [], [helper.make_tensor_value_info(names[-1], TensorProto.FLOAT, [3])])


def chosen(name: str, **branches: object) -> object:
    return helper.make_node("If", ["c"], ["y"], name=name, **branches)


def unsupported_in_branches() -> ModelProto:
    inner = helper.make_graph(
        [chosen("inner", then_branch=branch("NoSuchOperator"), else_branch=branch("Relu"))], "nested", [],
        [helper.make_tensor_value_info("y", TensorProto.FLOAT, [3])],
    )  # fmt: skip
    outer = chosen("outer", then_branch=inner, else_branch=branch("Relu", "Unheard"))
    return model([outer], {"c": (1,), "x": (3,)}, ["y"])


def test_what_is_not_supported_inside_subgraphs_is_listed_too() -> None:
    with pytest.raises(ManyErrors) as caught:
        tw.compile(unsupported_in_branches())
    found = [error.what for error in caught.value.errors]
    assert "operator NoSuchOperator is not supported" in found
    assert "operator Unheard is not supported" in found
    assert not any("Relu" in what for what in found)


def many_unsupported(count: int) -> ModelProto:
    nodes = [node("NoSuchOperator", "x", f"y{i}") for i in range(count)] + [node("Relu", "x", "z")]
    return model(nodes, {"x": (3,)}, [f"y{i}" for i in range(count)] + ["z"])


def test_equal_refusals_are_one_with_their_number() -> None:
    with pytest.raises(CompileError) as caught:
        tw.compile(many_unsupported(14))
    assert not isinstance(caught.value, ManyErrors)
    shown = "14 nodes: 'y0' (NoSuchOperator), 'y1' (NoSuchOperator), 'y2' (NoSuchOperator), ..."
    assert str(caught.value).startswith(f"{shown}: operator NoSuchOperator is not supported")


def test_element_types_have_names() -> None:
    proto = model([node("Cast", "x", "y", to=TensorProto.COMPLEX64)], {"x": (3,)}, ["y"])
    with pytest.raises(CompileError, match="cast to complex64"):
        tw.compile(proto)


def test_what_is_accepted_by_decomposition() -> None:
    found = by_definition()
    assert "Div" in found["DynamicQuantizeLinear"]
    assert "HannWindow" in found
    assert "SoftmaxCrossEntropyLoss" not in only_folded()
    assert {"Shape", "Size", "Constant"} <= set(only_folded())
    assert not set(found) & set(only_folded())


def test_the_list_of_operators_says_so(capsys: pytest.CaptureFixture[str]) -> None:
    command = Command(capsys)
    printed = command("ops").out
    assert "ONNX's definition by" in printed
    assert "a constant, where its operands are constants" in printed
    assert set(command("ops", "--json").json["defined"]) == set(by_definition())
