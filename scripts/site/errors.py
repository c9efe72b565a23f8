"""The index of error messages, from the refusals in the code; examples are messages that tests and pages hold."""

from __future__ import annotations

import ast
import re
from collections import defaultdict
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import TypeGuard

from scripts.site.recorded import MESSAGES

from tilewright.frontends.onnx import importer as onnx
from tilewright.frontends.tflite import importer as tflite

ROOT = Path(__file__).parents[2]
SOURCES = ROOT / "src" / "tilewright"
FIELDS = ("where", "what", "hint")
PLACELESS = ("what", "hint")
REFUSALS = {
    **dict.fromkeys(("CompileError", "StackOverrun", "VelaError", "Unfinished"), FIELDS),
    **dict.fromkeys(("Refusal", "Undecided", "TooMany"), PLACELESS),
}
"""What each takes, in order. A `Refusal` gets its place from whoever knows the node."""
GAP = "…"
"""What is only known when the message is made, and has no name in the code."""
GAPS = re.compile(f"{GAP}|‹[^›]*›")
"""With what has one."""
SIMPLE = (ast.Name, ast.Attribute)
LEAST = 14
"""Letters of a message's fixed text without which an example could be another's."""

LONGEST = 300
"""Letters of an example."""
PATH = re.compile(r"(?:/[\w.+-]+){2,}/([\w.+-]+)")
FEWEST = 6
"""Letters of fixed text in a message that says something without its names."""

ADVICE = (
    ("accelerator.", "nothing, if another engine computes the layer: `tilewright analyze --explain` shows which"),
    ("targets.", "nothing, if another engine computes the layer: `tilewright analyze --explain` shows which"),
    ("frontends.tflite", tflite.OTHERWISE),
    ("frontends.onnx", onnx.OTHERWISE),
    ("ops.", onnx.OTHERWISE),
    ("ir.", onnx.OTHERWISE),
)
"""Of messages without a hint of their own: what whoever shows them adds, or why a layer is elsewhere."""

HEAD = """\
# Error messages

Every refusal of the compiler, from its source. A message has the form `where: what`, and on the next line
`hint: what to do`. Here, `‹name›` is what a message fills in, and `…` is a longer text that it fills in. Examples are
what the code said in a test, or of a model that was damaged on purpose. To find a message, type a few of its words into
the search field. Faults of Tilewright itself (exit code 3) are not listed: please report them.
"""


@dataclass(frozen=True)
class Refusal:
    where: str
    what: str
    hint: str
    module: str
    """Below the package, with dots."""
    lines: range = range(0)
    """Of the module."""

    @property
    def key(self) -> str:
        """Two messages that differ in names alone are one."""
        return GAPS.sub(GAP, f"{self.where}: {self.what}")

    def fits(self, what: str) -> bool:
        """Whether a text is this one with its gaps filled in."""
        pattern = ".*?".join(map(re.escape, GAPS.split(self.what)))
        return re.fullmatch(pattern, " ".join(what.split()), re.S) is not None

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
    example, tried = recorded_of(one)
    advice = tried or (one.hint if hint else advice_of(one))
    said = {"Cause": cause, "Example": example or example_of(one), "What to do": advice}
    lines = [f"### `{one.title}`\n", *(f"* {name}: {_code(text)}" for name, text in said.items() if text)]
    lines.append(f"* Said by `{one.module}`")
    return "\n".join(lines) + "\n\n"


def advice_of(one: Refusal) -> str:
    return next((advice.replace("`", "'") for beginning, advice in ADVICE if one.module.startswith(beginning)), "")


@cache
def refusals() -> tuple[Refusal, ...]:
    """Each message once, in the order of its module."""
    found: dict[str, Refusal] = {}
    for one in _all_refusals():
        if len(re.sub(r"\W", "", GAPS.sub("", one.what))) >= FEWEST:
            found.setdefault(one.key, one)
    return tuple(found.values())


def refusal_at(module: str, line: int, said: str) -> Refusal | None:
    """The one that a line of a module makes, with what was said."""
    here = (one for one in _all_refusals() if one.module == module and line in one.lines)
    return next((one for one in here if one.fits(said)), None)


@cache
def _all_refusals() -> tuple[Refusal, ...]:
    found: list[Refusal] = []
    for path in sorted(SOURCES.rglob("*.py")):
        text = path.read_text(encoding="utf-8")
        if any(f"{name}(" in text for name in REFUSALS):
            found += _refusals_of(path, text)
    return tuple(found)


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
                words = dict(zip(REFUSALS[call.func.id], call.args, strict=False))
                words |= {word.arg: word.value for word in call.keywords if word.arg}
                lines = range(call.lineno, (call.end_lineno or call.lineno) + 1)
                for what in _alternatives(call, words.get("what"), nodes):
                    given = {name: _text(word, known) for name, word in (words | what).items()}
                    named = (" ".join(given.get(name, "").split()) for name in FIELDS)
                    yield Refusal(*named, module, lines)


def _alternatives(call: ast.Call, what: ast.expr | None, nodes: list[ast.AST]) -> list[dict[str, ast.expr]]:
    """Texts of a message for which a name stands: what it got since the last message that said it. Of a condition, both
    sides."""
    if isinstance(what, ast.IfExp):
        return [{"what": what.body}, {"what": what.orelse}]
    if not isinstance(what, ast.Name):
        return [{}]
    said = [node.lineno for node in nodes if _says(node, what.id) and node.lineno < call.lineno]
    texts = [node for node in nodes if _gives(node, what.id) and node.lineno < call.lineno]
    since = [node for node in texts if node.lineno > max(said, default=0)] or texts[-1:]
    return [{"what": node.value} for node in since] or [{}]


def _says(node: ast.AST, name: str) -> TypeGuard[ast.Call]:
    words = node.args if isinstance(node, ast.Call) and ast.unparse(node.func) in REFUSALS else []
    return any(isinstance(word, ast.Name) and word.id == name for word in words)


def _gives(node: ast.AST, name: str) -> TypeGuard[ast.Assign]:
    target = node.targets[0] if isinstance(node, ast.Assign) else None
    return isinstance(target, ast.Name) and target.id == name and _is_text(node.value)  # type: ignore[attr-defined]


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


def recorded_of(one: Refusal) -> tuple[str, str]:
    """What the code said when the tests were recorded, and its hint; empty where nothing was, or all is fixed text."""
    where, what, hint, _ = _recorded().get(one.key, ("", "", "", ""))
    said = _shortened(f"{where}: {what}" if where else what)
    return ("", _shortened(hint)) if said == one.title else (said, _shortened(hint))


def has_example(one: Refusal) -> bool:
    """Whether the code was seen to say it, or a test or a page holds it."""
    return one.key in _recorded() or bool(example_of(one))


@cache
def _recorded() -> Mapping[str, tuple[str, str, str, str]]:
    return {key: tuple(said) for key, said in MESSAGES.read().items()}


def _shortened(text: str) -> str:
    """In one line, of a few lines at most; paths of the machine that recorded it are not the reader's."""
    line = PATH.sub(r"\1", " ".join(text.replace("`", "'").split()))
    return line if len(line) <= LONGEST else f"{line[:LONGEST]} {GAP}"


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
