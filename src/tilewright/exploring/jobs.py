"""Points with the keys that their rows are kept by: a hash of all that a row depends on."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Mapping
from pathlib import Path

from tilewright.accelerator.area import find_yosys
from tilewright.exploring.files import digest_of, sources_digest
from tilewright.exploring.study import FILES, Point, Study
from tilewright.records import dataclass


@dataclass(frozen=True)
class SweepJob:
    key: str
    point: Point

    @property
    def weight(self) -> int:
        """How long it takes, in comparison: large models first leave small ones for the end."""
        return Path(self.point.model.file).stat().st_size


def jobs_of(study: Study) -> list[SweepJob]:
    """Every file is looked at once, and anew each time that somebody asks."""
    points = study.points
    digests = {path: digest_of(path) for path in dict.fromkeys(path for point in points for path in point.paths)}
    sources = sources_digest()
    return [SweepJob(_key(point, sources, digests), point) for point in points]


def _key(point: Point, sources: str, digests: Mapping[str, str]) -> str:
    """Where files lie does not count."""
    said = point.as_dict()
    for name in FILES:
        said["model"][name] = digests.get(said["model"][name], "")
    said["folders"] = {name: digests[path] for name, path in point.folders.items()}
    said["has_yosys"] = bool(point.folders) and find_yosys() is not None
    text = json.dumps([sources, said], sort_keys=True)
    return hashlib.sha256(text.encode()).hexdigest()[:32]
