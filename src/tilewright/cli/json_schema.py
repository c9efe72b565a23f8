"""`--json-schema FILE`, of commands that let a language model write JSON."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Annotated, Any

import typer

from tilewright.errors import CompileError

JsonSchema = Annotated[
    Path | None, typer.Option("--json-schema", metavar="FILE", help="The text is JSON of the schema in this file.")
]


def read_schema(path: Path | None) -> Any:
    """What the file holds; None without one."""
    if path is None:
        return None
    try:
        return json.loads(path.read_text(encoding="utf-8"))
    except OSError as error:
        raise CompileError(str(path), f"cannot be read: {error.strerror or error}", "name a JSON schema") from None
    except (ValueError, RecursionError) as error:
        raise CompileError(str(path), f"is no JSON: {error}", "name a file with a JSON schema") from None
