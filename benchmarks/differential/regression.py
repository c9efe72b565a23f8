"""What was wrong once, as a test: the model, its inputs and what the other runtime gives, in `tests/regressions`."""

from __future__ import annotations

import dataclasses
import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import numpy as np
from benchmarks.differential.case import Case
from benchmarks.differential.judge import Place

from tilewright.target.settings import DEFAULT, Settings

ROOT = Path(__file__).parents[2]
FOLDER = ROOT / "tests" / "regressions"
FOLDERS = ("accelerators", "instructions")
"""Settings that name examples; paths are kept as seen from the repository."""
FEED, EXPECTED, FACTS = "feed/", "expected/", "facts"


def write(case: Case, family: str, seed: int, place: Place, folder: Path = FOLDER) -> Path:
    """Two files: the model, and its arrays beside it."""
    folder.mkdir(parents=True, exist_ok=True)
    path = folder / f"{family}_{seed}_{place.target}{case.suffix}"
    path.write_bytes(case.model)
    asked = {key: value for key, value in dataclasses.asdict(place.settings).items() if value != getattr(DEFAULT, key)}
    asked |= {key: [str(Path(words).relative_to(ROOT)) for words in asked[key]] for key in FOLDERS if key in asked}
    facts = {
        "target": place.target, "settings": asked, "watched": place.is_watched, "allowed": dict(case.allowed),
        "options": dict(case.options), "recipe": dict(case.recipe),
    }  # fmt: skip
    arrays: dict[str, Any] = {FEED + name: value for name, value in case.feeds.items()}
    arrays |= {EXPECTED + name: value for name, value in case.expected.items()}
    np.savez_compressed(path.with_suffix(".npz"), **arrays, **{FACTS: np.array(json.dumps(facts))})
    return path


def read(path: Path) -> tuple[Case, Place]:
    with np.load(path.with_suffix(".npz")) as arrays:
        facts = json.loads(str(arrays[FACTS]))
        feeds, expected = (_part(arrays, start) for start in (FEED, EXPECTED))
    asked = {key: tuple(value) if isinstance(value, list) else value for key, value in facts["settings"].items()}
    asked |= {key: tuple(str(ROOT / words) for words in asked[key]) for key in FOLDERS if key in asked}
    case = Case(path.read_bytes(), feeds, expected, facts["allowed"], facts["options"], facts.get("recipe", {}))
    return case, Place(facts["target"], Settings(**asked), facts["watched"])


def _part(arrays: Mapping[str, Any], start: str) -> dict[str, Any]:
    return {name.removeprefix(start): arrays[name] for name in arrays if name.startswith(start)}
