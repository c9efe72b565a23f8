"""The index of error messages, from the refusals in the code; examples are messages that tests and pages hold."""

from __future__ import annotations

import ast
import re
from collections import defaultdict
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from functools import cache
from pathlib import Path

ROOT = Path(__file__).parents[2]
SOURCES = ROOT / "src" / "tilewright"
FIELDS = ("where", "what", "hint")
REFUSALS = {"CompileError": FIELDS, "StackOverrun": FIELDS, "Refusal": ("what", "hint")}
"""What each takes, in order. A `Refusal` gets its place from whoever knows the node."""
GAP = "…"
"""What is only known when the message is made, and has no name in the code."""
GAPS = re.compile(f"{GAP}|‹[^›]*›")
"""With what has one."""
SIMPLE = (ast.Name, ast.Attribute)
LEAST = 14
"""Letters of a message's fixed text without which an example could be another's."""

FEWEST = 6
"""Letters of fixed text in a message that says something without its names."""

HEAD = """\
# Error messages

Every refusal of the compiler, from its source. A message has the form `where: what`, and on the next line
`hint: what to do`. Here, `‹name›` is what a message fills in, and `…` is a longer text that it fills in. An example
is there where a test or a page has one. To find a message, type a few of its words into the search field.
"""


@dataclass(frozen=True)
class Refusal:
    where: str
    what: str
    hint: str
    module: str
    """Below the package, with dots."""

    @property
    def key(self) -> str:
        """Two messages that differ in names alone are one."""
        return GAPS.sub(GAP, f"{self.where}: {self.what}")

    @property
    def title(self) -> str:
        place = f"{self.where}: " if any(letter.isalpha() for letter in GAPS.sub("", self.where)) else ""
        return re.sub(f"{GAP}( ?{GAP})+", GAP, f"{place}{self.what}")


def page() -> str:
    folders: dict[str, list[Refusal]] = defaultdict(list)
    for one in refusals():
        folders[one.module.partition(".")[0]].append(one)
    parts = [f"## {folder}\n\n{''.join(map(_entry, entries))}" for folder, entries in sorted(folders.items())]
    return "\n".join([HEAD, *parts])


def _entry(one: Refusal) -> str:
    hint = one.hint.strip(GAP + " ")
    cause = one.what if one.what != one.title else ""
    said = {"Cause": cause, "Example": example_of(one), "What to do": one.hint if hint else ""}
    lines = [f"### `{one.title}`\n", *(f"* {name}: {_code(text)}" for name, text in said.items() if text)]
    lines.append(f"* Said by `{one.module}`")
    return "\n".join(lines) + "\n\n"


@cache
def refusals() -> tuple[Refusal, ...]:
    """Each message once, in the order of its module."""
    found: dict[str, Refusal] = {}
    for path in sorted(SOURCES.rglob("*.py")):
        text = path.read_text(encoding="utf-8")
        if any(f"{name}(" in text for name in REFUSALS):
            for one in _refusals_of(path, text):
                if len(re.sub(r"\W", "", GAPS.sub("", one.what))) >= FEWEST:
                    found.setdefault(one.key, one)
    return tuple(found.values())


def _refusals_of(path: Path, text: str) -> Iterator[Refusal]:
    tree = ast.parse(text)
    module = ".".join(path.relative_to(SOURCES).with_suffix("").parts).removesuffix(".__init__")
    shared = _assigned(tree.body)
    functions = [node for node in ast.walk(tree) if isinstance(node, ast.FunctionDef)]
    for function in functions:
        nodes = list(ast.walk(function))
        known = shared | _assigned(nodes)
        for call in nodes:
            if isinstance(call, ast.Call) and isinstance(call.func, ast.Name) and call.func.id in REFUSALS:
                given = dict(zip(REFUSALS[call.func.id], (_text(word, known) for word in call.args), strict=False))
                given |= {word.arg: _text(word.value, known) for word in call.keywords if word.arg}
                named = (given.get(name, "") for name in FIELDS)
                yield Refusal(*(" ".join(word.split()) for word in named), module)


def _assigned(nodes: list[ast.stmt] | list[ast.AST]) -> dict[str, ast.expr]:
    """Names that get a text, with its expression; of several the last."""
    return {
        node.targets[0].id: node.value
        for node in nodes
        if isinstance(node, ast.Assign) and isinstance(node.targets[0], ast.Name) and _is_text(node.value)
    }


def _is_text(node: ast.expr) -> bool:
    if isinstance(node, ast.BinOp):
        return isinstance(node.op, ast.Add) and (_is_text(node.left) or _is_text(node.right))
    return isinstance(node, ast.JoinedStr) or (isinstance(node, ast.Constant) and isinstance(node.value, str))


def _text(node: ast.AST, known: Mapping[str, ast.expr], depth: int = 3) -> str:
    if isinstance(node, ast.Constant):
        return str(node.value)
    if isinstance(node, ast.JoinedStr):
        return "".join(_text(part, known, depth) for part in node.values)
    if isinstance(node, ast.FormattedValue):
        return _text(node.value, known, depth) if isinstance(node.value, SIMPLE) else GAP
    if isinstance(node, ast.BinOp) and isinstance(node.op, ast.Add):
        return _text(node.left, known, depth) + _text(node.right, known, depth)
    if isinstance(node, ast.Name) and node.id in known and depth > 0:
        return _text(known[node.id], known, depth - 1)
    return f"‹{_name(node)}›" if isinstance(node, SIMPLE) and len(_name(node)) > 1 else GAP


def _name(node: ast.Name | ast.Attribute) -> str:
    """Of a value in a message: `shape of weights` is more than `shape`."""
    if isinstance(node, ast.Attribute) and isinstance(node.value, ast.Name) and node.value.id not in ("self", "one"):
        return f"{node.value.id}.{node.attr}".strip("_")
    return (node.id if isinstance(node, ast.Name) else node.attr).strip("_").replace("_", " ")


def example_of(one: Refusal) -> str:
    """A message of a test or a page with the fixed text of this one; empty where none has it."""
    pieces = [piece for piece in GAPS.split(one.what) if piece]
    if sum(map(len, pieces)) < LEAST:
        return ""
    longest = max(pieces, key=len).strip()
    # What is filled in at the end goes on to the end of the text.
    filled = r"[^\"\n]{1,60}?".join(map(re.escape, GAPS.split(one.what)))
    pattern = re.compile(filled[:-1] if filled.endswith("{1,60}?") else filled)
    match = next(filter(None, map(pattern.search, _lines_with(longest))), None)
    said = match[0].strip() if match else ""
    return "" if said == one.what or GAPS.search(said) or "{" in said or "\\" in said or "`" in said else said


def _lines_with(piece: str) -> Iterator[str]:
    text, at = _examples(), _examples().find(piece)
    while at >= 0:
        end = text.find("\n", at)
        yield text[text.rfind("\n", 0, at) + 1 : end]
        at = text.find(piece, end)


@cache
def _examples() -> str:
    """What tests and pages say."""
    paths = [*(ROOT / "docs").glob("*.md"), *(ROOT / "tests").rglob("test_*.py")]
    return "".join(f"{path.read_text(encoding='utf-8')}\n" for path in sorted(paths))


def _code(text: str) -> str:
    """Text in which no letter is markup."""
    return f"`{text}`" if text else ""
