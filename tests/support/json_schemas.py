"""What `--json` prints, held to the schemas that are documented."""

from __future__ import annotations

import json
from functools import cache
from pathlib import Path
from typing import Any

from jsonschema import Draft202012Validator

from tilewright.cli import process

FOLDER = Path(process.__file__).parent / "schemas"


@cache
def validator(kind: str) -> Draft202012Validator:
    schema = json.loads((FOLDER / f"{kind}.json").read_text())
    Draft202012Validator.check_schema(schema)
    return Draft202012Validator(schema)


def validate(found: dict[str, Any]) -> None:
    kind = found["schema"].removeprefix("tilewright-").partition("/")[0]
    wrong = [f"{one.json_path}: {one.message[:300]}" for one in validator(kind).iter_errors(found)]
    assert not wrong, f"{kind}: {'; '.join(wrong)}"
