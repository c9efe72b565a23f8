"""Expressions of a declaration: integer arithmetic over the numbers of a job, as text that is checked first.

"2 * macs + 40"    "kernel_h == kernel_w"    "min(f, 16) * ceil_div(c, 16)"
"""

from __future__ import annotations

import ast
import operator
from collections.abc import Callable, Mapping
from functools import cached_property
from math import ceil, floor

from tilewright.errors import Refusal
from tilewright.records import dataclass

Number = int | float

ARITHMETIC: dict[type[ast.operator], Callable[[Number, Number], Number]] = {
    ast.Add: operator.add, ast.Sub: operator.sub, ast.Mult: operator.mul, ast.FloorDiv: operator.floordiv,
    ast.Div: operator.truediv, ast.Mod: operator.mod, ast.LShift: operator.lshift, ast.RShift: operator.rshift,
    ast.BitAnd: operator.and_, ast.BitOr: operator.or_,
}  # fmt: skip
COMPARISONS: dict[type[ast.cmpop], Callable[[Number, Number], bool]] = {
    ast.Eq: operator.eq, ast.NotEq: operator.ne, ast.Lt: operator.lt, ast.LtE: operator.le, ast.Gt: operator.gt,
    ast.GtE: operator.ge,
}  # fmt: skip
FUNCTIONS: dict[str, Callable[..., Number]] = {
    "min": min, "max": max, "abs": abs, "ceil": ceil, "floor": floor, "ceil_div": lambda a, b: -(-a // b),
}  # fmt: skip


class UnknownName(Refusal):
    """A number that is not there for this layer; others of the operator may have it."""


LONGEST = 1000
"""Characters."""


@dataclass(frozen=True)
class Expression:
    text: str

    @cached_property
    def tree(self) -> ast.expr:
        """Raises `Refusal` for what is no arithmetic."""
        try:
            tree = ast.parse(self.text[: LONGEST + 1].strip(), mode="eval").body
        except (SyntaxError, ValueError):
            raise Refusal(f"'{self.text}' is no expression", 'for example "2 * macs + 40"') from None
        if len(self.text) > LONGEST:
            raise Refusal(f"an expression has {len(self.text)} characters, {LONGEST} are allowed")
        _check(tree, self.text)
        return tree

    @cached_property
    def names(self) -> tuple[str, ...]:
        """Of the numbers that it needs, in order."""
        called = {id(node.func) for node in ast.walk(self.tree) if isinstance(node, ast.Call)}
        found = (n for n in ast.walk(self.tree) if isinstance(n, ast.Name) and id(n) not in called)
        return tuple(dict.fromkeys(node.id for node in sorted(found, key=lambda node: node.col_offset)))

    def __call__(self, numbers: Mapping[str, Number]) -> Number:
        """Its value; `Refusal` where it divides by zero, `UnknownName` where a number is missing."""
        try:
            return _value(self.tree, numbers)
        except KeyError as missing:
            raise UnknownName(f"'{self.text}' needs '{missing.args[0]}', which is not known here") from None
        except ZeroDivisionError:
            raise Refusal(f"'{self.text}' divides by zero") from None
        except (TypeError, ValueError, OverflowError) as error:
            raise Refusal(f"'{self.text}' cannot be computed: {error}") from None


def _check(node: ast.expr, text: str) -> None:
    """Only what `_value` computes; anything else would be a program."""
    if isinstance(node, ast.Constant) and type(node.value) in (int, float, bool):
        return
    if isinstance(node, ast.Name):
        return
    if isinstance(node, ast.Call) and isinstance(node.func, ast.Name) and node.func.id in FUNCTIONS:
        parts = [*node.args, *(keyword.value for keyword in node.keywords)]
    elif isinstance(node, ast.BinOp) and type(node.op) in ARITHMETIC:
        parts = [node.left, node.right]
    elif isinstance(node, ast.Compare) and all(type(op) in COMPARISONS for op in node.ops):
        parts = [node.left, *node.comparators]
    elif isinstance(node, ast.BoolOp):
        parts = node.values
    elif isinstance(node, ast.UnaryOp) and isinstance(node.op, (ast.USub, ast.Not)):
        parts = [node.operand]
    elif isinstance(node, ast.IfExp):
        parts = [node.test, node.body, node.orelse]
    else:
        allowed = f"numbers, names, + - * / // % << >> & |, comparisons, and, or, not, {', '.join(FUNCTIONS)}"
        raise Refusal(f"'{ast.unparse(node)}' in '{text}' is no arithmetic", f"there are {allowed}")
    for part in parts:
        _check(part, text)


def _value(node: ast.expr, numbers: Mapping[str, Number]) -> Number:
    match node:
        case ast.Constant(value=int() | float() as value):
            return value
        case ast.Name(id=name):
            return numbers[name]
        case ast.BinOp(left=left, op=op, right=right):
            return ARITHMETIC[type(op)](_value(left, numbers), _value(right, numbers))
        case ast.UnaryOp(op=ast.USub(), operand=operand):
            return -_value(operand, numbers)
        case ast.UnaryOp(operand=operand):
            return not _value(operand, numbers)
        case ast.BoolOp(op=ast.And(), values=values):
            return all(_value(value, numbers) for value in values)
        case ast.BoolOp(values=values):
            return any(_value(value, numbers) for value in values)
        case ast.IfExp(test=test, body=body, orelse=orelse):
            return _value(body if _value(test, numbers) else orelse, numbers)
        case ast.Call(func=ast.Name(id=name), args=args):
            return FUNCTIONS[name](*(_value(arg, numbers) for arg in args))
        case ast.Compare(left=left, ops=ops, comparators=others):
            return _compared(left, ops, others, numbers)
    raise Refusal(f"'{ast.unparse(node)}' is no arithmetic")


def _compared(left: ast.expr, ops: list[ast.cmpop], others: list[ast.expr], numbers: Mapping[str, Number]) -> bool:
    value = _value(left, numbers)
    for op, other in zip(ops, others, strict=True):
        after = _value(other, numbers)
        if not COMPARISONS[type(op)](value, after):
            return False
        value = after
    return True
