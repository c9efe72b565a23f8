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
REFUSALS = ("CompileError", "StackOverrun", "Refusal")
GAP = "…"
"""What is only known when the message is made: a name, a number."""
LEAST = 14
"""Letters of a message's fixed text without which an example could be another's."""

HEAD = """\
---
search:
  boost: 0.3
---

# Error messages

Every refusal of the compiler, from its source: what is wrong, which part of the compiler says so, and what to do. An
example is there where a test or a page has one. `…` is a name or a number. A message has the form `where: what`, and on
the next line `hint: what to do`. Search this page for a few words of your message.
"""


@dataclass(frozen=True)
class Refusal:
    where: str
    what: str
    hint: str
    module: str
    """Below the package, with dots."""
    part: str
    """What the module is for: the first sentence of its description."""

    @property
    def title(self) -> str:
        return re.sub(f"{GAP}( ?{GAP})+", GAP, f"{self.where}: {self.what}".strip(": "))


def page() -> str:
    folders: dict[str, list[Refusal]] = defaultdict(list)
    for one in refusals():
        folders[one.module.partition(".")[0]].append(one)
    parts = [f"## {folder}\n\n{''.join(map(_entry, entries))}" for folder, entries in sorted(folders.items())]
    return "\n".join([HEAD, *parts])


def _entry(one: Refusal) -> str:
    lines = [f"### `{one.title}`\n", f"* Cause: {_code(one.what)}", f"* Said by `{one.module}`: {_plain(one.part)}"]
    lines.append(f"* What to do: {_code(one.hint)}" if one.hint.strip(GAP + " ") else "* What to do: see the hint")
    example = example_of(one)
    lines += [f"* Example: `{example}`"] if example else []
    return "\n".join(lines) + "\n\n"


@cache
def refusals() -> tuple[Refusal, ...]:
    """Each message once, in the order of its module."""
    found: dict[str, Refusal] = {}
    for path in sorted(SOURCES.rglob("*.py")):
        text = path.read_text(encoding="utf-8")
        if any(f"{name}(" in text for name in REFUSALS):
            for one in _refusals_of(path, text):
                if len(re.sub(rf"[{GAP}\W]", "", one.what)) >= 3:
                    found.setdefault(one.title, one)
    return tuple(found.values())


def _refusals_of(path: Path, text: str) -> Iterator[Refusal]:
    tree = ast.parse(text)
    module = ".".join(path.relative_to(SOURCES).with_suffix("").parts).removesuffix(".__init__")
    part = (ast.get_docstring(tree) or "").partition("\n\n")[0].replace("\n", " ")
    shared = _assigned(tree.body)
    functions = [node for node in ast.walk(tree) if isinstance(node, ast.FunctionDef)]
    for function in functions:
        known = shared | _assigned(list(ast.walk(function)))
        for call in ast.walk(function):
            if isinstance(call, ast.Call) and isinstance(call.func, ast.Name) and call.func.id in REFUSALS:
                words = [_text(word, known) for word in call.args] + [GAP] * 3
                given = {word.arg: _text(word.value, known) for word in call.keywords if word.arg}
                named = (given.get(name, words[at]) for at, name in enumerate(("where", "what", "hint")))
                yield Refusal(*(" ".join(word.split()) for word in named), module, part)


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
        return _text(node.value, known, depth) if isinstance(node.value, ast.Name) else GAP
    if isinstance(node, ast.BinOp) and isinstance(node.op, ast.Add):
        return _text(node.left, known, depth) + _text(node.right, known, depth)
    if isinstance(node, ast.Name) and node.id in known and depth > 0:
        return _text(known[node.id], known, depth - 1)
    return GAP


def example_of(one: Refusal) -> str:
    """A message of a test or a page with the fixed text of this one; empty where none has it."""
    pieces = [piece for piece in one.what.split(GAP) if piece]
    if sum(map(len, pieces)) < LEAST:
        return ""
    longest = max(pieces, key=len).strip()
    pattern = re.compile(r"[^\"\n]{1,60}?".join(map(re.escape, one.what.split(GAP))) + r"\w*")
    lines = (line for line in _examples() if longest in line)
    match = next(filter(None, map(pattern.search, lines)), None)
    said = match[0].strip() if match else ""
    return "" if said == one.what or GAP in said or "{" in said or "\\" in said or "`" in said else said


@cache
def _examples() -> tuple[str, ...]:
    """Lines of tests and of pages."""
    paths = [*(ROOT / "docs").glob("*.md"), *(ROOT / "tests").rglob("test_*.py")]
    return tuple(line for path in sorted(paths) for line in path.read_text(encoding="utf-8").splitlines())


def _code(text: str) -> str:
    """Text in which no letter is markup."""
    return f"`{text}`" if text else ""


def _plain(text: str) -> str:
    return re.sub(r"[<*_\[]", lambda sign: f"\\{sign[0]}", text)
