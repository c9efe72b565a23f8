"""JSON schemas as terms: every text of the terms is JSON that the schema allows, though not all of it.

Properties come in the schema's order, others only where the schema names what they are; between the parts there is a
space, a new line with spaces, or nothing. What is not supported is refused by its name: it is never ignored.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from decimal import Decimal
from typing import Any

from tilewright.errors import CompileError, Refusal
from tilewright.grammar.alternatives import check_exclusive
from tilewright.grammar.characters import UNESCAPED, any_in_string, of, utf8, without
from tilewright.grammar.numbers import LONGEST_BOUND, Bounds, integer, number
from tilewright.grammar.patterns import pattern
from tilewright.grammar.terms import Terms

Json = Mapping[str, Any]

ANNOTATIONS = frozenset({
    "$anchor", "$comment", "$defs", "$id", "$schema", "default", "definitions", "deprecated", "description",
    "discriminator", "examples", "id", "readOnly", "title", "writeOnly",
})  # fmt: skip
KEYWORDS: Mapping[str, frozenset[str]] = {
    "object": frozenset({"properties", "required", "additionalProperties"}),
    "array": frozenset({"items", "prefixItems", "minItems", "maxItems"}),
    "string": frozenset({"minLength", "maxLength", "pattern", "format"}),
    "number": frozenset({"minimum", "maximum", "exclusiveMinimum", "exclusiveMaximum"}),
    "integer": frozenset({"minimum", "maximum", "exclusiveMinimum", "exclusiveMaximum"}),
    "boolean": frozenset(), "null": frozenset(),
}  # fmt: skip
"""Types, and what may be said of them."""
DATE = "((0[13578]|1[02])-(0[1-9]|[12][0-9]|3[01])|(0[469]|11)-(0[1-9]|[12][0-9]|30)|02-(0[1-9]|1[0-9]|2[0-8]))"
TIME = r"([01][0-9]|2[0-3]):[0-5][0-9]:[0-5][0-9](\.[0-9]{1,6})?(Z|[+-]([01][0-9]|2[0-3]):[0-5][0-9])"
FORMATS = {
    "date": f"^[1-9][0-9]{{3}}-{DATE}$", "time": f"^{TIME}$", "date-time": f"^[1-9][0-9]{{3}}-{DATE}T{TIME}$",
    "uuid": "^[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}$",
}  # fmt: skip
SUPPORTED_TYPES = f"supported types: {', '.join(KEYWORDS)}"
ANY, MOST_SPACES = "any value", 16
ALIKE = "write the alternatives out one by one, or leave it out"


def schema_terms(schema: Any, where: str = "JSON schema") -> tuple[Terms, int]:
    """Terms, and the one of the whole text."""
    reader = _Reader(schema, where)
    try:
        first = reader.value(schema, "")
        reader.finish()
    except RecursionError:
        raise CompileError(where, "is nested too deeply", "use fewer levels") from None
    space = reader.terms.maybe(reader.terms.text(" "))
    return reader.terms, reader.terms.sequence(space, first)


class _Reader:
    def __init__(self, schema: Any, where: str) -> None:
        self.root, self.where, self.terms = schema, where, Terms()
        self.waiting: list[tuple[str, Any]] = []
        self.known: set[str] = set()

    def finish(self) -> None:
        """Define all that is named."""
        while self.waiting:
            name, schema = self.waiting.pop()
            self.terms.names[name] = self.any_value() if name == ANY else self.value(schema, name.removeprefix("#/"))

    # ---- any schema -------------------------------------------------------------------------------------------------

    def value(self, schema: Any, place: str) -> int:
        try:
            return self._value(schema, place)
        except Refusal as refusal:
            raise self._error(place, refusal.what, refusal.hint) from None

    def _value(self, schema: Any, place: str) -> int:
        if schema is True:
            return self.named(ANY, None)
        if not isinstance(schema, dict):
            what = "allows nothing" if schema is False else f"is of type {type(schema).__name__}, not an object"
            raise Refusal(what, "give an object with a type")
        said = {key: value for key, value in schema.items() if key not in ANNOTATIONS}
        for key, read in (("$ref", self._reference), ("enum", self._listed), ("const", self._constant)):
            if key in said:
                return read(said, place)
        for key in ("anyOf", "oneOf", "allOf"):
            if key in said:
                return self._alternatives(key, said, place)
        return self._typed(said, place) if said else self.named(ANY, None)

    def named(self, name: str, schema: Any) -> int:
        if name not in self.known:
            self.known.add(name)
            self.waiting.append((name, schema))
        return self.terms.named(name)

    def _reference(self, said: Json, place: str) -> int:
        self._only(said, "$ref")
        return self.named(str(said["$ref"]), self.resolved(said["$ref"]))

    def resolved(self, pointer: Any) -> Any:
        if not isinstance(pointer, str) or not (pointer == "#" or pointer.startswith("#/")):
            raise Refusal(f"$ref {pointer!r} is not supported", "supported are places in the schema: #/$defs/name")
        found = self.root
        for part in pointer.split("/")[1:]:
            key = part.replace("~1", "/").replace("~0", "~")
            if isinstance(found, list) and key.isdecimal() and int(key) < len(found):
                found = found[int(key)]
            elif isinstance(found, dict) and key in found:
                found = found[key]
            else:
                raise Refusal(f"$ref {pointer!r} leads nowhere: there is no {key!r}", "check its $defs")
        return found

    def _listed(self, said: Json, place: str) -> int:
        self._only(said, "enum", "type")
        values, kinds = said["enum"], said.get("type")
        if not isinstance(values, list) or not values:
            raise Refusal("its enum is no list of values", "give at least one")
        if kinds is not None:
            _check_kinds(kinds if isinstance(kinds, list) else [kinds])
        kept = [value for value in values if _is_of(value, kinds)]
        if not kept:
            raise Refusal("no value of its enum is of its type", "give one that is")
        return self.terms.either(*(self.terms.text(_written(value)) for value in kept))

    def _constant(self, said: Json, place: str) -> int:
        return self._listed({**{k: v for k, v in said.items() if k != "const"}, "enum": [said["const"]]}, place)

    def _alternatives(self, key: str, said: Json, place: str) -> int:
        self._only(said, key, "type")
        listed = said[key]
        if not isinstance(listed, list) or not listed:
            raise Refusal(f"its {key} is no list of schemas", "give at least one")
        if key == "allOf" and len(listed) > 1:
            raise Refusal(f"its allOf has {len(listed)} schemas, which is not supported", "supported is one; join them")
        given = [{"type": said["type"], **one} if "type" in said and isinstance(one, dict) else one for one in listed]
        if key == "oneOf":
            check_exclusive(given, self.resolved)
        return self.terms.either(*(self.value(one, f"{place}/{key}/{at}") for at, one in enumerate(given)))

    def _typed(self, said: Json, place: str) -> int:
        kinds = said.get("type", [kind for kind, keys in KEYWORDS.items() if keys & said.keys()][:1])
        kinds = kinds if isinstance(kinds, list) else [kinds]
        _check_kinds(kinds)
        if not kinds:
            raise Refusal(f"{', '.join(map(repr, said))} alone is not supported", SUPPORTED_TYPES)
        self._only(said, "type", *(key for kind in kinds for key in KEYWORDS[kind]))
        makers = {
            "object": self._object, "array": self._array, "string": self._string, "number": self._number,
            "integer": self._integer, "boolean": self._boolean, "null": self._null,
        }  # fmt: skip
        return self.terms.either(*(makers[kind](said, place) for kind in kinds))

    def _only(self, said: Json, *keys: str) -> None:
        others = sorted(said.keys() - set(keys))
        if others:
            beside = f" beside {keys[0]}" if keys[0] != "type" else ""
            hint = f"supported there: {', '.join(sorted(keys))}" if keys[0] == "type" else ALIKE
            raise Refusal(f"{', '.join(map(repr, others))}{beside} is not supported", hint)

    def _error(self, place: str, what: str, hint: str) -> CompileError:
        at = place.strip("/").replace("/", ".")
        return CompileError(f"{self.where}, {at}" if at else self.where, what, hint)

    # ---- plain values -----------------------------------------------------------------------------------------------

    def _boolean(self, said: Json, place: str) -> int:
        return self.terms.either(self.terms.text("true"), self.terms.text("false"))

    def _null(self, said: Json, place: str) -> int:
        return self.terms.text("null")

    def _integer(self, said: Json, place: str) -> int:
        return integer(self.terms, _bounds(said))

    def _number(self, said: Json, place: str) -> int:
        return number(self.terms, _bounds(said))

    def _string(self, said: Json, place: str) -> int:
        """A pattern or a format says all of a text, or lengths do."""
        ways = [key for key in ("pattern", "format") if key in said]
        lengths = [key for key in ("minLength", "maxLength") if key in said]
        if len(ways) + bool(lengths) > 1:
            raise Refusal(f"{' and '.join([*ways, *lengths])} together are not supported", "leave one of them out")
        if ways:
            return self._quoted(pattern(self.terms, self._expression(said)))
        least, most = _count(said, "minLength"), _count(said, "maxLength", None)
        _check_order("Length", least, most)
        return self._quoted(self.terms.repeat(any_in_string(self.terms), least or 0, most))

    def _expression(self, said: Json) -> str:
        if "pattern" in said:
            if not isinstance(said["pattern"], str):
                raise Refusal("its pattern is no text", "give a regular expression")
            return str(said["pattern"])
        if said["format"] not in FORMATS:
            raise Refusal(f"its format {said['format']!r} is not supported", f"supported: {', '.join(FORMATS)}")
        return FORMATS[said["format"]]

    def _quoted(self, inner: int) -> int:
        quote = self.terms.text('"')
        return self.terms.sequence(quote, inner, quote)

    # ---- arrays and objects -----------------------------------------------------------------------------------------

    @property
    def space(self) -> int:
        spaces = self.terms.repeat(self.terms.text(" "), 0, MOST_SPACES)
        line = self.terms.sequence(self.terms.text("\n"), spaces)
        return self.terms.maybe(self.terms.either(self.terms.text(" "), line))

    @property
    def comma(self) -> int:
        return self.terms.sequence(self.terms.text(","), self.space)

    def _array(self, said: Json, place: str) -> int:
        first = said.get("prefixItems", [])
        if not isinstance(first, list):
            raise Refusal("its prefixItems is no list of schemas", "give a list")
        least, most = _count(said, "minItems") or 0, _count(said, "maxItems", None)
        _check_order("Items", least, most)
        ahead = [self.value(one, f"{place}/prefixItems/{at}") for at, one in enumerate(first)]
        others = said.get("items", True)
        if others is False:
            most = len(ahead) if most is None else min(most, len(ahead))
        if most is not None and least > most:
            raise Refusal(f"it has at least {least} items and at most {most}", "check minItems and items")
        ahead = ahead[: len(ahead) if most is None else most]
        other = self.value(others, f"{place}/items") if most is None or most > len(ahead) else None
        return self._between("[", self._items(ahead, other, least, most), "]")

    def _items(self, ahead: list[int], other: int | None, least: int, most: int | None) -> int:
        """From the last one of those ahead to the first: each but those that must be there may be where it ends."""
        terms, count = self.terms, len(ahead)
        rest = terms.nothing
        if other is not None:
            left = None if most is None else most - count
            rest = terms.repeat(terms.sequence(self.comma, other), max(least - count, 0), left)
        for at in range(count - 1, 0, -1):
            here = terms.sequence(self.comma, ahead[at], rest)
            rest = here if at < least else terms.maybe(here)
        if ahead:
            whole = terms.sequence(ahead[0], rest)
        elif other is None:
            return terms.nothing
        else:
            left = None if most is None else most - 1
            whole = terms.sequence(other, terms.repeat(terms.sequence(self.comma, other), max(least - 1, 0), left))
        return whole if least else terms.maybe(whole)

    def _object(self, said: Json, place: str) -> int:
        """Others than its properties only where it says of which kind, or names none at all."""
        known, required, more = said.get("properties", {}), said.get("required", []), said.get("additionalProperties")
        if not isinstance(known, dict) or not _are_texts(required):
            raise Refusal("its properties are no object, or required is no list of names", "check the schema")
        other = True if more is None else more
        schemas = {**known, **{name: other for name in required if name not in known}}
        impossible = [name for name, one in schemas.items() if one is False and name in required]
        if impossible:
            raise Refusal(f"requires {impossible[0]!r}, which it does not allow", "add it to properties")
        members = [
            (self._member(name, self.value(one, f"{place}/properties/{name}")), name in required)
            for name, one in schemas.items()
            if one is not False
        ]
        is_open = not schemas if more is None else more is not False
        extra = self._extra(schemas, other, place) if is_open else None
        return self._between("{", self._members(members, extra), "}")

    def _member(self, name: str, value: int) -> int:
        return self.terms.sequence(self.terms.text(f"{_written(name)}:"), self.space, value)

    def _extra(self, known: Json, more: Any, place: str) -> int:
        """Another property: its name is no known one, and is written without escapes."""
        name = self._quoted(self._other_name(tuple(sorted(known))))
        value = self.value(more, f"{place}/additionalProperties")
        return self.terms.sequence(name, self.terms.text(":"), self.space, value)

    def _other_name(self, known: tuple[str, ...]) -> int:
        """Texts that are none of these: one that goes on as some of them do, or in another way."""
        terms = self.terms
        first = dict.fromkeys(name[0] for name in known if name)
        any_more = terms.repeat(utf8(terms, UNESCAPED))
        found = [terms.sequence(utf8(terms, without(UNESCAPED, of(first))), any_more)]
        for sign in first:
            if without(of(sign), UNESCAPED):
                continue
            rest = tuple(name[1:] for name in known if name.startswith(sign))
            found.append(terms.sequence(utf8(terms, of(sign)), self._other_name(rest)))
        if "" not in known:
            found.append(terms.nothing)
        return terms.either(*found)

    def _members(self, members: list[tuple[int, bool]], extra: int | None) -> int:
        """From the last to the first: what may come where nothing was written yet, and where something was."""
        terms = self.terms
        behind = terms.nothing if extra is None else terms.repeat(terms.sequence(self.comma, extra))
        start = terms.nothing if extra is None else terms.maybe(terms.sequence(extra, behind))
        for member, is_required in reversed(members):
            first = terms.sequence(member, behind)
            later = terms.sequence(self.comma, member, behind)
            start = first if is_required else terms.either(first, start)
            behind = later if is_required else terms.either(later, behind)
        return start

    def _between(self, begin: str, inner: int, end: str) -> int:
        return self.terms.sequence(self.terms.text(begin), self.space, inner, self.space, self.terms.text(end))

    def any_value(self) -> int:
        anything = {"additionalProperties": True}
        makers = (self._boolean, self._null, self._number, self._string, self._array)
        return self.terms.either(*(make({}, "") for make in makers), self._object(anything, ""))


# ---- what schemas say ---------------------------------------------------------------------------------------------


def _written(value: Any) -> str:
    return json.dumps(value, ensure_ascii=False, separators=(",", ":"), allow_nan=False)


TYPES: Mapping[str, tuple[type, ...]] = {
    "object": (dict,), "array": (list,), "string": (str,), "number": (int, float), "integer": (int,),
    "boolean": (bool,), "null": (type(None),),
}  # fmt: skip


def _are_texts(value: Any) -> bool:
    return isinstance(value, list) and all(isinstance(one, str) for one in value)


def _check_kinds(kinds: list[Any]) -> None:
    unknown = [kind for kind in kinds if not isinstance(kind, str) or kind not in KEYWORDS]
    if unknown:
        raise Refusal(f"its type {unknown[0]!r} is not supported", SUPPORTED_TYPES)


def _is_of(value: Any, kinds: Any) -> bool:
    if kinds is None:
        return True
    listed = kinds if isinstance(kinds, list) else [kinds]
    if isinstance(value, bool):
        return "boolean" in listed
    return any(isinstance(value, TYPES.get(kind, ())) for kind in listed)


def _count(said: Json, key: str, default: int | None = 0) -> int | None:
    value = said.get(key, default)
    if value is default:
        return default
    if isinstance(value, bool) or not isinstance(value, int) or value < 0:
        raise Refusal(f"its {key} is {value!r}, not a whole number from 0 on", "check the schema")
    return value


def _check_order(what: str, least: int | None, most: int | None) -> None:
    if most is not None and (least or 0) > most:
        raise Refusal(f"its min{what} {least} is above max{what} {most}", "check the schema")


def _bounds(said: Json) -> Bounds:
    low, high = _bound(said, "minimum"), _bound(said, "maximum")
    above, below = _bound(said, "exclusiveMinimum"), _bound(said, "exclusiveMaximum")
    is_above = above is not None and (low is None or above >= low)
    is_below = below is not None and (high is None or below <= high)
    return Bounds(above if is_above else low, below if is_below else high, is_above, is_below)


def _bound(said: Json, key: str) -> Decimal | None:
    value = said.get(key)
    if value is None:
        return None
    is_number = isinstance(value, int | float) and not isinstance(value, bool)
    if not is_number or len(f"{Decimal(repr(value)):f}") > LONGEST_BOUND:
        raise Refusal(f"its {key} is {value!r}, not a number of up to {LONGEST_BOUND} digits", "check the schema")
    return Decimal(repr(value))
