"""Nodes that are placed on an engine by their names."""

from __future__ import annotations

from functools import cache

import pytest
from benchmarks.npu_mapping import CORES, NPU, residual

from tilewright.errors import CompileError
from tilewright.ir.graph import Graph
from tilewright.pipeline import import_model, stage
from tilewright.target.mapping import Mapped
from tilewright.target.settings import Settings


@cache
def graph() -> Graph:
    model, output = residual()
    return import_model(model.proto(output), example_inputs=model.inputs)


@cache
def mapped(*placed: tuple[str, str]) -> Mapped:
    found = stage(graph(), "siracusa", "mapped", settings=Settings(placed=placed))
    assert isinstance(found, Mapped)
    return found


def engines(found: Mapped, name: str) -> list[set[str]]:
    nodes = [node for node in found.graph.nodes if node.name == name and node.key in found.choices]
    return [{choice.engine.name for choice in found.all_choices(node)} for node in nodes]


@pytest.mark.parametrize("engine", [NPU, CORES])
def test_a_copy_for_the_layout_is_not_placed_with_its_node(engine: str) -> None:
    assert engines(mapped(), "Conv t0") == [{CORES}, {NPU, CORES}]
    assert engines(mapped(("Conv t0", engine)), "Conv t0") == [{CORES}, {engine}]


def test_what_no_node_of_the_name_can_do_is_refused() -> None:
    with pytest.raises(
        CompileError, match="convolutions, products with constant matrices and additions of two tensors only"
    ):
        mapped(("Add t4", NPU))
