"""oneOf: exactly one of several schemas. A text of one of them is of no other where no value is of two."""

from __future__ import annotations

import json
from collections.abc import Callable, Sequence
from itertools import combinations
from typing import Any

from tilewright.errors import Refusal

Resolved = Callable[[Any], Any]
MOST_STEPS = 100


def check_exclusive(schemas: Sequence[Any], resolved: Resolved) -> None:
    """Refusal where a value may be of two schemas, as far as types, constants and required properties tell."""
    seen = [_followed(one, resolved) for one in schemas]
    for (at, one), (other_at, other) in combinations(enumerate(seen), 2):
        if not _are_apart(one, other, resolved):
            what = f"a value may be of its oneOf {at} and {other_at} at once"
            raise Refusal(what, "give them different types or a property with different constants, or use anyOf")


def _followed(schema: Any, resolved: Resolved) -> Any:
    for _ in range(MOST_STEPS):
        if not isinstance(schema, dict) or "$ref" not in schema:
            return schema
        schema = resolved(schema["$ref"])
    raise Refusal("its $ref leads back to itself", "check its $defs")


def _are_apart(one: Any, other: Any, resolved: Resolved) -> bool:
    if not isinstance(one, dict) or not isinstance(other, dict):
        return False
    values, others = _constants(one), _constants(other)
    if values is not None and others is not None:
        return not values & others
    kinds, other_kinds = _kinds(one), _kinds(other)
    if kinds and other_kinds and not kinds & other_kinds:
        return True
    return kinds == other_kinds == {"object"} and _differ_in_a_property(one, other, resolved)


def _differ_in_a_property(one: Any, other: Any, resolved: Resolved) -> bool:
    required = [set(map(str, schema.get("required", []))) for schema in (one, other)]
    for name in required[0] & required[1]:
        found = [_followed(schema.get("properties", {}).get(name), resolved) for schema in (one, other)]
        values = [_constants(schema) if isinstance(schema, dict) else None for schema in found]
        if values[0] is not None and values[1] is not None and not values[0] & values[1]:
            return True
    return False


def _constants(schema: dict[str, Any]) -> set[str] | None:
    """Values that a schema lists, as texts; None where it lists none."""
    listed = [schema["const"]] if "const" in schema else schema.get("enum")
    return {json.dumps(value, sort_keys=True) for value in listed} if isinstance(listed, list) else None


def _kinds(schema: dict[str, Any]) -> set[str]:
    """Types; integers are numbers."""
    kinds = schema.get("type", [])
    return {"number" if kind == "integer" else str(kind) for kind in (kinds if isinstance(kinds, list) else [kinds])}
