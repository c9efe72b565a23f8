"""What `tilewright profile --json` printed, read again."""

from __future__ import annotations

import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from tilewright.errors import CompileError, unreadable
from tilewright.profiling.memory_map import MemoryMap, Occupied
from tilewright.profiling.profile import CYCLES, Interval, LayerProfile, Moved, Peaks, Profile, Tile
from tilewright.records import dataclass
from tilewright.sim.energy import PER_MICROJOULE, Energy


@dataclass(frozen=True)
class SavedProfile:
    profile: Profile
    """Tiles are as many as there were, without their times."""
    maps: tuple[MemoryMap, ...]
    notes: tuple[str, ...]


def is_saved_profile(path: Path) -> bool:
    return path.suffix == ".json" and path.is_file()


def read_profile(path: Path) -> SavedProfile:
    try:
        return _read(json.loads(path.read_text(encoding="utf-8")))
    except OSError as error:
        raise unreadable(path, error) from None
    except (ValueError, TypeError, KeyError, AttributeError, RecursionError):
        raise CompileError(
            str(path), "is not what `tilewright profile --json` prints", "write it with: tilewright profile ... --json"
        ) from None


def _read(found: Mapping[str, Any]) -> SavedProfile:
    layers = tuple(map(_layer, found["layers"]))
    profile = Profile(
        found["network"], found["target"], found["cores"], found["cycles"], found["predicted"], layers,
        _energy(found, found["cycles"]), found.get("instructions"), found.get("estimate", ""),
        found.get("unit", CYCLES), found.get("least", 0),
    )  # fmt: skip
    names = tuple(f"{layer.number} {layer.shown}" for layer in layers)
    return SavedProfile(profile, tuple(_map(one, names) for one in found["memory"]), tuple(found["notes"]))


def _layer(found: Mapping[str, Any]) -> LayerProfile:
    plain = (
        "number",
        "name",
        "operator",
        "engine",
        "kernel",
        "mode",
        "double",
        "home",
        "predicted",
        "macs",
        "operations",
    )
    time = Interval(found["start"], found["start"] + found["cycles"])
    return LayerProfile(
        **{name: found[name] for name in plain}, time=time, stalls=found["stalls"], waiting=found["waiting"],
        core_time=found["core_time"], tiles=tuple(_tiles(found, time)), energy=_energy(found, time.cycles),
        short_name=found.get("short_name", ""), instructions=found.get("instructions"), touched=found.get("touched", 0),
        peaks=Peaks(**found["peaks"]) if "peaks" in found else None, in_flight=found.get("elapsed"),
    )  # fmt: skip


def _tiles(found: Mapping[str, Any], time: Interval) -> list[Tile]:
    """All bytes are the first one's."""
    first = Tile(0, time, {}, Moved((), found["bytes_in"]), Moved((), found["bytes_out"]))
    return [first, *(Tile(number, time, {}, Moved(), Moved()) for number in range(1, found["tiles"]))]


def _energy(found: Mapping[str, Any], cycles: int) -> Energy | None:
    if "energy" not in found:
        return None
    said = found["energy"]
    spent = {name: round(value * PER_MICROJOULE) for name, value in said["by_component"].items()}
    spread = {"all": said["uncertainty"] * sum(spent.values())} if said["uncertainty"] else {}
    return Energy(spent, spread, cycles, said["hertz"], tuple(said.get("not_counted", ())))


def _map(found: Mapping[str, Any], names: tuple[str, ...]) -> MemoryMap:
    regions = tuple(Occupied(**region) for region in found["regions"])
    steps = max((region.last + 1 for region in regions), default=0)
    known = names if len(names) >= steps else tuple(map(str, range(steps)))
    return MemoryMap(found["memory"], found["capacity"], found["used"], known, regions)
