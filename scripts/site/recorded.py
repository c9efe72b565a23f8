"""What tests saw when they were last recorded (`scripts/record`), in files of the checkout."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any


@dataclass(frozen=True)
class Recorded:
    name: str

    @property
    def path(self) -> Path:
        return Path(__file__).parent / "recorded" / f"{self.name}.json"

    def read(self) -> dict[str, Any]:
        return json.loads(self.path.read_text(encoding="utf-8")) if self.path.is_file() else {}

    def write(self, found: Mapping[str, Any]) -> None:
        self.path.parent.mkdir(exist_ok=True)
        self.path.write_text(json.dumps(found, indent=0, ensure_ascii=False) + "\n", encoding="utf-8")


OPERATORS = Recorded("operators")
"""Operator -> target -> element type of the first operand -> a test that ran it there."""
MESSAGES = Recorded("messages")
"""Message as the code has it -> [place, what, hint, test] of an example."""
