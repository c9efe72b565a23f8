"""Passes of a declaration: what goes wrong in them is an error of the user's, with its line."""

from __future__ import annotations

import traceback
from collections.abc import Callable
from dataclasses import replace

from tilewright.accelerator.unit import Unit
from tilewright.errors import CompileError, InternalError, Refusal
from tilewright.ir.graph import Graph
from tilewright.passes import Pass


def users_passes(unit: Unit) -> list[Pass]:
    return [replace(one, run=_named(one, unit)) for one in unit.accelerator.passes]


def _named(one: Pass, unit: Unit) -> Callable[[Graph], Graph]:
    def run(graph: Graph) -> Graph:
        try:
            made = one.run(graph)
        except (CompileError, InternalError, Refusal):
            raise
        except Exception as error:
            raise CompileError(
                _line(error, unit), f"pass '{one.name}': {type(error).__name__}: {error}", "fix the pass"
            ) from None
        if not isinstance(made, Graph):
            raise CompileError(
                str(unit.folder),
                f"pass '{one.name}' gives {type(made).__name__}, not a Graph",
                "return the rewritten graph",
            )
        return made

    return run


def _line(error: Exception, unit: Unit) -> str:
    frames = [one for one in traceback.extract_tb(error.__traceback__) if one.filename.startswith(str(unit.folder))]
    return f"{frames[-1].filename}:{frames[-1].lineno}" if frames else str(unit.folder)
