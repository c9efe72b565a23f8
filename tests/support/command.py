"""Runs the command line inside the test."""

from __future__ import annotations

import json
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest

from tests.support.json_schemas import validate
from tilewright.cli.main import main


@dataclass(frozen=True)
class Ran:
    code: int
    out: str
    err: str

    @property
    def json(self) -> dict[str, Any]:
        """The one object on stdout, which is as its schema says."""
        found: dict[str, Any] = json.loads(self.out)
        validate(found)
        return found


class Command:
    def __init__(self, capsys: pytest.CaptureFixture[str]) -> None:
        self.capsys = capsys

    def __call__(self, *words: str | Path) -> Ran:
        self.capsys.readouterr()
        with pytest.raises(SystemExit) as ended:
            main([str(word) for word in words])
        out, err = self.capsys.readouterr()
        return Ran(int(ended.value.code or 0), out, err)
