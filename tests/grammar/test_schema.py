"""Texts that masks let through: always JSON of the schema, by an independent judge; and what they should let pass."""

from __future__ import annotations

import json
import random
from typing import Any

import pytest
from jsonschema import Draft202012Validator

from tilewright.errors import CompileError
from tilewright.grammar.automaton import DEAD, START, Automaton
from tilewright.grammar.constraint import Schemas
from tilewright.grammar.schema import schema_terms

pytestmark = pytest.mark.fast

BYTES = tuple(bytes([byte]) for byte in range(256))
WORDS = (
    *BYTES,
    b'{"',
    b'":',
    b'": "',
    b'", "',
    b'"}',
    b'"},',
    b"true",
    b"false",
    b"null",
    b"123",
    b"-1",
    b"0.5",
    b"},{",
    b"]}",
    "größe".encode(),
    "é".encode()[:1] + b"x",
    b'\xa9"',
    b"\\u00",
    b"name",
    b'"name":',
    b" ",
    b"\n  ",
    b"",
    b"12345678",
)
SCHEMAS = Schemas(WORDS)

TREE = {
    "$defs": {
        "node": {
            "type": "object",
            "properties": {
                "value": {"type": "integer"},
                "children": {"type": "array", "items": {"$ref": "#/$defs/node"}, "maxItems": 2},
            },
            "required": ["value"],
        }
    },
    "$ref": "#/$defs/node",
}
PERSON = {
    "type": "object",
    "title": "Person",
    "additionalProperties": False,
    "properties": {
        "name": {"type": "string", "minLength": 1, "maxLength": 5},
        "age": {"type": "integer", "minimum": 0, "maximum": 130},
        "mood": {"enum": ["good", "bad", 3, None, {"a": [1, "é\n"]}]},
        "share": {"type": "number", "minimum": 0, "maximum": 1},
        "tags": {"type": "array", "items": {"type": "string", "maxLength": 2}, "minItems": 1, "maxItems": 3},
        "born": {"type": "string", "format": "date"},
        "is": {"type": ["boolean", "null"]},
    },
    "required": ["name", "tags", "share"],
}
SHAPES = {
    "oneOf": [
        {
            "type": "object",
            "properties": {"kind": {"const": "circle"}, "r": {"type": "number", "exclusiveMinimum": 0}},
            "required": ["kind", "r"],
        },
        {
            "type": "object",
            "properties": {"kind": {"const": "dot"}},
            "required": ["kind"],
            "additionalProperties": {"type": "null"},
        },
        {"type": "integer"},
        {"type": "string", "pattern": "^(ab|c.)+[0-9]{2}$"},
    ]
}
VALID: list[Any] = [
    PERSON,
    TREE,
    SHAPES,
    True,
    {},
    {"type": "object"},
    {"type": "array"},
    {"type": "string"},
    {"type": "number"},
    {"type": "integer"},
    {"type": "boolean"},
    {"const": 'a"b\\c\u2028d'},
    {"enum": [1, 2.5, "x"], "type": "number"},
    {"type": "integer", "minimum": -17, "maximum": 1204},
    {"type": "integer", "exclusiveMinimum": 99},
    {"maximum": -1000},
    {"type": "number", "exclusiveMinimum": -0.25, "exclusiveMaximum": 0.125},
    {"type": "number", "minimum": 12.34},
    {"type": "number", "minimum": -3.5, "maximum": -3.25},
    {"type": "number", "exclusiveMaximum": 0},
    {"type": "integer", "exclusiveMinimum": 0.5, "maximum": 1.5},
    {"type": "string", "pattern": "b+"},
    {"type": "string", "pattern": r"^[^a-y\d]{2,3}|\s$"},
    {"type": "string", "pattern": r'^["\\\n\u00e9-\u00ff\u4e00-\u9fa5]{1,4}$'},
    {"type": "string", "format": "date-time"},
    {"type": "string", "format": "uuid"},
    {"type": "string", "pattern": "^$"},
    {"type": "array", "prefixItems": [{"type": "null"}, {"type": "boolean"}], "items": False, "minItems": 1},
    {"type": "array", "prefixItems": [{"const": 1}], "items": {"const": 2}, "minItems": 2, "maxItems": 4},
    {
        "properties": {"a": {"type": "null"}, "ab": {"type": "null"}, "é": {}},
        "additionalProperties": {"type": "integer"},
    },
    {"type": "object", "required": ["x"], "additionalProperties": {"type": "boolean"}},
    {"type": "object", "required": ["x", "y"], "properties": {"y": {"type": "null"}}},
    {"allOf": [{"anyOf": [{"type": "null"}, {"$ref": "#/allOf/0/anyOf/0"}]}]},
    {"type": "object", "properties": {"": {}, "b": False}},
]


def drawn(schema: Any, chance: random.Random) -> str:
    """A text by tokens drawn at random; after a while those that end things."""
    text, tokens = SCHEMAS.texts(schema), list[int]()
    while not text.must_end:
        allowed = text.allowed().nonzero()[0]
        if text.may_end and (len(tokens) > 40 or chance.random() < 0.2):
            break
        ends = [token for token in allowed if WORDS[token] in (b'"', b"}", b"]", b"n", b"0", b"e", b"b")]
        tokens.append(int(chance.choice(ends if ends and len(tokens) > 30 else allowed)))
        text.took(tokens[-1])
        assert len(tokens) < 2000
    return b"".join(WORDS[token] for token in tokens).decode()


@pytest.mark.in_turns(3)
@pytest.mark.parametrize("schema", VALID, ids=lambda one: json.dumps(one)[:60])
def test_texts_are_json_of_their_schema(schema: Any) -> None:
    judge, chance = Draft202012Validator(schema, format_checker=Draft202012Validator.FORMAT_CHECKER), random.Random(3)
    for _ in range(8):
        judge.validate(json.loads(drawn(schema, chance)))


def accepts(schema: Any, text: str) -> bool:
    automaton = Automaton(*schema_terms(schema))
    state = automaton.after(START, text.encode("utf-8", "surrogatepass"))
    return state != DEAD and automaton.may_end(state)


@pytest.mark.parametrize(
    ("schema", "right", "wrong"),
    [
        (
            PERSON,
            '{"name": "Éva", "age":130,"share":1.0, "tags":["a"]}',
            '{"name":"Eva","age":131,"share":1,"tags":["a"]}',
        ),
        (PERSON, '{\n  "name":"\\u00e9\\"", "share": 0.25, "tags": ["",\n "b"]}', "{}"),
        (TREE, '{"value":1, "children":[{"value":-2}, {"value":3,"children":[]}]}', '{"value":1,"children":[1]}'),
        ({"type": "integer", "minimum": 5}, "5", "4"),
        ({"type": "integer", "maximum": 99}, "-123456", "100"),
        ({"type": "integer", "minimum": 3, "maximum": 3}, "3", "03"),
        ({"type": "integer"}, "-7", "1.0"),
        ({"type": "number", "minimum": 0.5, "maximum": 2.25}, "2.2499", "2.2501"),
        ({"type": "number", "minimum": 0.5, "exclusiveMaximum": 2.25}, "0.50", "2.25"),
        ({"type": "number", "exclusiveMinimum": 0.5}, "0.500001", "0.500"),
        ({"type": "number", "maximum": 0}, "-0.75", "0.1"),
        ({"type": "number"}, "-12.5e+07", "01"),
        ({"type": "string"}, '"\\ud7ff\\/"', '"\\ud800"'),
        ({"type": "string"}, '"\U0001f600"', '"\n"'),
        ({"type": "string", "maxLength": 2}, '"é\\n"', '"abc"'),
        ({"type": "string", "pattern": "a.c"}, '"xxabcx"', '"a\\nc"'),
        ({"type": "string", "pattern": "^a$|^b"}, '"bx"', '"ax"'),
        ({"type": "string", "pattern": "^(?:a{2,}?|[x\\-z]){1,2}$"}, '"aaa-"', '"a"'),
        ({"type": "string", "format": "date"}, '"2024-02-28"', '"2024-02-30"'),
        (
            {"type": "object", "properties": {"ab": {}}, "additionalProperties": {"type": "null"}},
            '{"a":null,"abc":null}',
            '{"ab2":1}',
        ),
        (True, '[{"a":[1,"b",null,{}]}, true]', "[1,]"),
        ({"const": [1, {"a": "é"}]}, '[1,{"a":"é"}]', '[1,{"a":"e"}]'),
        ({"type": "array", "items": {"type": "null"}, "minItems": 2}, "[null,null]", "[null]"),
    ],
)
def test_what_is_right_and_what_is_wrong(schema: Any, right: str, wrong: str) -> None:
    Draft202012Validator.check_schema(schema)
    assert accepts(schema, right)
    assert not accepts(schema, wrong)


def test_masks_say_what_the_automaton_says() -> None:
    """In every state on the way, of every token."""
    text, chance = SCHEMAS.texts(PERSON), random.Random(5)
    for _ in range(60):
        masks, state = text._masks, text._state
        wanted = [bool(piece) and masks.automaton.after(state, piece) != DEAD for piece in WORDS]
        assert text.allowed().tolist() == wanted
        if text.must_end:
            break
        text.took(int(chance.choice(text.allowed().nonzero()[0])))


def test_a_token_that_is_not_allowed_is_refused() -> None:
    text = SCHEMAS.texts({"type": "boolean"})
    with pytest.raises(CompileError, match="does not allow token 97 here"):
        text.took(97)


def test_masks_are_kept() -> None:
    one, other = SCHEMAS.texts(PERSON), SCHEMAS.texts(json.loads(json.dumps(PERSON)))
    assert one._masks is other._masks


@pytest.mark.parametrize(
    ("schema", "place", "what"),
    [
        (3, "", "is of type int, not an object"),
        (False, "", "allows nothing"),
        ({"type": "any"}, "", "type 'any'"),
        (
            {"properties": {"a": {"type": "string", "contentEncoding": "x"}}},
            "properties.a",
            "'contentEncoding' is not supported",
        ),
        ({"type": "array", "uniqueItems": True}, "", "'uniqueItems'"),
        ({"not": {}}, "", "'not' alone is not supported"),
        ({"type": "object", "patternProperties": {}}, "", "'patternProperties'"),
        ({"if": {}}, "", "'if' alone"),
        ({"type": "integer", "multipleOf": 3}, "", "'multipleOf'"),
        ({"type": "object", "minProperties": 1}, "", "'minProperties'"),
        ({"allOf": [{}, {}]}, "", "allOf has 2 schemas"),
        ({"anyOf": []}, "", "anyOf is no list"),
        ({"anyOf": [{}], "minimum": 1}, "", "'minimum' beside anyOf"),
        ({"$ref": "#/$defs/x"}, "", "leads nowhere"),
        ({"$ref": "http://x"}, "", "is not supported"),
        ({"enum": []}, "", "enum is no list"),
        ({"enum": [1], "type": "null"}, "", "no value"),
        ({"enum": [1], "type": {}}, "", "type {} is not supported"),
        ({"required": [[]]}, "", "required is no list of names"),
        ({"const": "\ud800"}, "", "is no JSON"),
        ({"oneOf": [{"type": "integer"}, {"type": "number"}]}, "", "of its oneOf 0 and 1 at once"),
        ({"oneOf": [{"type": "object"}, {"type": "object"}]}, "", "oneOf 0 and 1"),
        ({"type": "string", "pattern": "a", "minLength": 1}, "", "pattern and minLength together"),
        ({"type": "string", "format": "email"}, "", "format 'email'"),
        ({"type": "string", "minLength": -1}, "", "minLength is -1"),
        ({"type": "string", "minLength": 3, "maxLength": 2}, "", "minLength 3 is above maxLength 2"),
        ({"type": "integer", "minimum": 3, "maximum": 2}, "", "no such number from 3 to 2"),
        ({"minimum": "1"}, "", "minimum is '1'"),
        ({"type": "number", "exclusiveMinimum": 1, "maximum": 1}, "", "no such number from 1 to 1"),
        ({"type": "number", "minimum": 1e300}, "", "minimum is 1e\\+300"),
        ({"items": [{}]}, "items", "is of type list"),
        ({"required": ["a"], "additionalProperties": False}, "", "requires 'a', which it does not allow"),
        ({"type": "array", "prefixItems": [{}], "items": False, "minItems": 2}, "", "at least 2 items and at most 1"),
        *(
            ({"type": "string", "pattern": one}, "", what)
            for one, what in (
                ("(?=a)", r"group \(\?= is not supported"),
                (r"\bx", r"\\b is not supported"),
                (r"\p{L}", r"\\p"),
                ("a{3,2}", "not within 0 to"),
                ("(a", "not closed"),
                ("a)", "closes nothing"),
                ("[a", "not closed"),
                ("*a", r"\* at character 1"),
                (r"(a)\1", r"\\1"),
                ("a$b", r"\$ at character 2"),
                ("[b-a]", "ends before it begins"),
                ("\\", "ends with"),
                (r"\uD800", "half a character"),
            )
        ),
    ],
)
def test_what_is_not_supported_is_named(schema: Any, place: str, what: str) -> None:
    with pytest.raises(CompileError, match=what) as refused:
        Schemas(BYTES).texts(schema, "here")
    assert refused.value.where == (f"here, {place}" if place else "here")
    assert refused.value.hint


def test_values_without_an_end_are_refused() -> None:
    endless = {"type": "object", "properties": {"a": {"$ref": "#"}}, "required": ["a"]}
    with pytest.raises(CompileError, match="allows no finite text"):
        Schemas(BYTES).texts(endless)
    assert accepts({"anyOf": [endless | {"properties": {"a": {"$ref": "#/anyOf/0"}}}, {"type": "null"}]}, "null")
    for schema, what in (({"const": float("nan")}, "is no JSON"), ({1: object()}, "is no JSON")):
        with pytest.raises(CompileError, match=what):
            Schemas(BYTES).texts(schema)
    nested: Any = {}
    for _ in range(3000):
        nested = {"type": "array", "items": nested}
    with pytest.raises(CompileError, match=r"is nested too deeply|is no JSON"):
        Schemas(BYTES).texts(nested)


def test_repetitions_beyond_reason_are_refused() -> None:
    schema = {"type": "string", "pattern": "^((a?){10000}){10000}$"}
    text = Schemas(BYTES).texts(schema)
    text.took(ord('"'))
    with pytest.raises(CompileError, match="more than 20000 ways"):
        text.allowed()
