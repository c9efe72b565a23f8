"""Every operand of a Concat is made by a node for it alone."""

from __future__ import annotations

import pytest

from tests.passes.small import Small, changed_by, integers, kinds
from tilewright.ops.concat import Concat
from tilewright.ops.lookup import Lookup
from tilewright.ops.relu import Relu
from tilewright.passes.fit.join_in_place import JOIN_IN_PLACE, TABLES_FIRST

pytestmark = pytest.mark.fast


def test_inputs_are_copied() -> None:
    small = Small()
    graph = small.graph(small.add(Concat(1), small.input("a", 2, 3), small.add(Relu(), small.input("b", 2, 4))))
    assert sorted(kinds(changed_by(graph, JOIN_IN_PLACE))) == ["Concat", "Identity", "Relu"]


def test_what_others_read_is_copied() -> None:
    small = Small()
    shared = small.add(Relu(), small.input("a", 2, 3))
    graph = small.graph(small.add(Concat(0), shared, shared), small.add(Relu(), shared))
    assert kinds(changed_by(graph, JOIN_IN_PLACE)).count("Identity") == 2


def test_concats_of_concats() -> None:
    small = Small()
    inner = small.add(Concat(0), small.add(Relu(), small.input("a", 2, 3)), small.add(Relu(), small.input("b", 1, 3)))
    graph = small.graph(small.add(Concat(0), inner, small.add(Relu(), small.input("c", 4, 3))))
    assert kinds(changed_by(graph, JOIN_IN_PLACE)).count("Identity") == 1


def test_tables_move_before() -> None:
    small = Small()
    table = small.constant(integers("int8", 256))
    joined = small.add(Concat(1), small.input("cache", 2, 30), small.add(Relu(), small.input("row", 2, 1)))
    found = kinds(changed_by(small.graph(small.add(Lookup(), joined, table)), TABLES_FIRST, JOIN_IN_PLACE))
    assert sorted(found) == ["Concat", "Lookup", "Lookup", "Relu"]
