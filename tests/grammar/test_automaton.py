"""What making an automaton takes."""

from __future__ import annotations

import pytest

from tilewright.grammar.automaton import Automaton
from tilewright.grammar.schema import schema_terms
from tilewright.grammar.terms import Terms


@pytest.mark.fast
def test_many_optional_properties(monkeypatch: pytest.MonkeyPatch) -> None:
    """Every term is looked at a few times, however long the chain of those that may be left out."""
    looks, is_finite = [0], Terms._is_finite

    def counted(self: Terms, *rest: object) -> bool:
        looks[0] += 1
        return is_finite(self, *rest)  # type: ignore[arg-type]

    monkeypatch.setattr(Terms, "_is_finite", counted)
    terms, first = schema_terms({"type": "object", "properties": {f"p{i}": {"type": "null"} for i in range(100)}})
    Automaton(terms, first)
    assert looks[0] < 3 * len(terms.all)
