"""What goes wrong: refusals, which a user can do something about, and our own faults, which nobody may swallow."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from difflib import get_close_matches
from pathlib import Path
from typing import TypeVar

Value = TypeVar("Value")


class CompileError(Exception):
    """A refusal: where it happened, what is wrong (with the numbers), and what to try."""

    def __init__(self, where: str, what: str, hint: str = "") -> None:
        super().__init__(where, what, hint)
        self.where, self.what, self.hint = printable(where), printable(what), printable(hint)

    def __str__(self) -> str:
        text = f"{self.where}: {self.what}"
        return f"{text}\n  hint: {self.hint}" if self.hint else text

    def as_dict(self) -> dict[str, str]:
        return {"where": self.where, "what": self.what, "hint": self.hint}


def unreadable(path: Path, error: OSError, where: str = "") -> CompileError:
    """Of a file; a mistyped name leads to the one that is there."""
    return CompileError(where or str(path), f"cannot be read: {error.strerror or error}", _meant(path))


def _meant(path: Path) -> str:
    if path.exists():
        return "check the path"
    try:
        names = [one.name for one in path.parent.iterdir()]
    except OSError:
        return "check the path"
    close = get_close_matches(path.name, names, 1)
    return f"do you mean {path.with_name(close[0])}?" if close else "check the path"


class StackOverrun(CompileError):
    """A program needs more stack than it has."""


class InternalError(Exception):
    """A fault of Tilewright itself, not a refusal. No code catches it on its way to the report."""

    def __init__(self, where: str, what: str) -> None:
        super().__init__(where, what)
        self.where, self.what = printable(where), printable(what)

    def __str__(self) -> str:
        return f"{self.where}: {self.what}"

    def as_dict(self) -> dict[str, str]:
        return {"where": self.where, "what": self.what}


def present(value: Value | None, where: str, what: str) -> Value:
    """A value that something else guarantees; without it that guarantee is broken, and `what` says how."""
    if value is None:
        raise InternalError(where, what)
    return value


FAULTS = (ArithmeticError, AssertionError, AttributeError, LookupError, TypeError, ValueError)
"""What our own code raises where it takes something for granted that it should have checked."""


@contextmanager
def own_faults(where: str) -> Iterator[None]:
    """Names the place of a fault of ours: what a file holds is checked, and refused with a reason of its own."""
    try:
        yield
    except FAULTS as error:
        raise InternalError(where, f"{type(error).__name__}: {error}") from error


def instance(value: object, kind: type[Value]) -> Value:
    """A value of the kind that something else guarantees."""
    if not isinstance(value, kind):
        raise InternalError(f"{kind.__name__} expected", f"there is {type(value).__name__} instead")
    return value


class Terminated(SystemExit):
    """The process is asked to end: never an exit of the user's code."""


class ManyErrors(CompileError):
    """Several refusals reported at once, so that the user mends them in one go."""

    def __init__(self, errors: Sequence[CompileError]) -> None:
        self.errors = tuple(errors)
        first = self.errors[0]
        super().__init__(first.where, first.what, first.hint)

    def __str__(self) -> str:
        return "\n".join(str(error) for error in self.errors)

    def as_dict(self) -> dict[str, str]:
        return {
            "where": ", ".join(dict.fromkeys(error.where for error in self.errors)),
            "what": "; ".join(f"{error.where}: {error.what}" for error in self.errors),
            "hint": "; ".join(dict.fromkeys(error.hint for error in self.errors if error.hint)),
        }


def raise_all(errors: Sequence[CompileError]) -> None:
    """Raise what was collected: nothing, the one error, or all of them together."""
    if len(errors) == 1:
        raise errors[0]
    if errors:
        raise ManyErrors(errors)


def printable(text: str) -> str:
    """Names come from untrusted files: show control characters instead of obeying them."""
    return "".join(c if c.isprintable() or c == "\n" else f"\\x{ord(c):02x}" for c in text)


class Refusal(Exception):
    """What an operator or a kernel cannot do; whoever knows the node turns it into a CompileError."""

    def __init__(self, what: str, hint: str = "") -> None:
        super().__init__(what, hint)
        self.what, self.hint = what, hint

    def at(self, where: str, hint: str = "") -> CompileError:
        """With a hint for refusals that have none of their own."""
        return CompileError(where, self.what, self.hint or hint)
