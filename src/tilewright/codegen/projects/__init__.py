"""A network as a project of somebody's ecosystem: one module for each, found by its name (docs/projects.md)."""

from __future__ import annotations

import importlib
from collections.abc import Mapping
from typing import Protocol

from tilewright.codegen.projects.project import Content, Project

KINDS = ("cmake", "zephyr", "arduino", "platformio", "cmsis-pack", "mlperf-tiny", "esp-idf", "pico-sdk")


class Kind(Protocol):
    """What a module has."""

    def files(self, project: Project) -> Mapping[str, Content]:
        """Relative path -> text, or bytes."""


def files(kind: str, project: Project) -> dict[str, Content]:
    module: Kind = importlib.import_module(f"{__name__}.{kind.replace('-', '_')}")
    return dict(module.files(project))
