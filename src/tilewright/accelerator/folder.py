"""An accelerator's folder: `accelerator.py`, a model `device.py` or `device.c`, and what else may lie there."""

from __future__ import annotations

import json
import math
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from tilewright.accelerator.check_declaration import check_declaration
from tilewright.accelerator.declaration import Accelerator
from tilewright.accelerator.device import AcceleratorDevice
from tilewright.accelerator.unit import ANY, Costs
from tilewright.errors import CompileError
from tilewright.sim.user.device import UserDevice
from tilewright.target.user_python import loaded, named

DECLARATION, PYTHON_MODEL, C_MODEL, DRIVER, COSTS = "accelerator.py", "device.py", "device.c", "driver.c", "costs.json"


@dataclass(frozen=True)
class AcceleratorFolder:
    """What a folder holds."""

    folder: Path
    accelerator: Accelerator
    device: Path
    driver: Path | None
    costs: dict[str, Costs]
    """By the target's name."""


def read_folder(words: str) -> AcceleratorFolder:
    """`FOLDER`, or `FOLDER:parameter=value,...`."""
    place, parameters = _split(words)
    folder = Path(place).resolve()
    if not (folder / DECLARATION).is_file():
        what = f"has no {DECLARATION}" if folder.is_dir() else "is not a folder"
        raise CompileError(f"--accelerator {place}", what, "`tilewright accelerator new NAME` writes one")
    found = _declared(folder)
    accelerator = replace(found, parameters={**found.parameters, **_checked(found, parameters, place)})
    check_declaration(accelerator, str(folder / DECLARATION))
    driver = folder / DRIVER
    return AcceleratorFolder(folder, accelerator, _model(folder), driver if driver.is_file() else None, _costs(folder))


def _split(words: str) -> tuple[str, dict[str, float]]:
    place, sign, rest = words.rpartition(":")
    if not sign or "=" not in rest or "/" in rest:
        return words, {}
    found: dict[str, float] = {}
    for word in rest.split(","):
        name, _, value = word.partition("=")
        try:
            found[name] = _number(value)
        except ValueError:
            raise CompileError(
                f"--accelerator {words}", f"'{word}' is not NAME=NUMBER", "for example :size=16"
            ) from None
    return place, found


def _number(text: str) -> float:
    """Whole where it is: 16, 0x10, 1e3."""
    try:
        return int(text, 0)
    except ValueError:
        found = float(text)
    if not math.isfinite(found):
        raise ValueError(text)
    return int(found) if found == int(found) else found


def _checked(accelerator: Accelerator, given: dict[str, float], place: str) -> dict[str, float]:
    for name in given:
        if name not in accelerator.parameters:
            known = ", ".join(accelerator.parameters) or "none"
            raise CompileError(f"--accelerator {place}", f"has no parameter '{name}'", f"it has {known}")
    return given


def _model(folder: Path) -> Path:
    found = [folder / name for name in (C_MODEL, PYTHON_MODEL) if (folder / name).is_file()]
    if not found:
        raise CompileError(
            str(folder), f"has no model: neither {PYTHON_MODEL} nor {C_MODEL}", "see docs/accelerators.md"
        )
    return found[0]


def _costs(folder: Path) -> dict[str, Costs]:
    path = folder / COSTS
    if not path.is_file():
        return {}
    try:
        return {target: _cost(values) for target, values in json.loads(path.read_text()).items()}
    except (ValueError, TypeError, AttributeError) as error:
        raise CompileError(
            str(path), f"is not what calibrate writes: {error}", "delete it, or calibrate again"
        ) from None


def _cost(values: dict[str, Any]) -> Costs:
    finish = values.get("finish", {})
    ways = finish if isinstance(finish, dict) else {ANY: finish}
    for name, value in [*values.items(), *ways.items()]:
        if value is not ways and (not isinstance(value, int | float) or not 0 <= value < math.inf):
            raise ValueError(f"{name} is {value!r}, not a number of at least 0")
    return Costs(**{**values, "finish": ways or Costs().finish})


# ---- Python of the user's -------------------------------------------------------------------------------------------


def _declared(folder: Path) -> Accelerator:
    found = getattr(loaded(folder / DECLARATION), "ACCELERATOR", None)
    if not isinstance(found, Accelerator):
        raise CompileError(
            str(folder / DECLARATION), "does not define ACCELERATOR", "ACCELERATOR = Accelerator(name=..., ...)"
        )
    return found


def make_device(path: Path, accelerator: Accelerator) -> UserDevice:
    """The Device of a device.py."""
    kind = getattr(loaded(path), "Device", None)
    if not isinstance(kind, type) or not issubclass(kind, UserDevice):
        raise CompileError(str(path), "does not define a class Device", "class Device(AcceleratorDevice): ...")
    if missing := sorted(getattr(kind, "__abstractmethods__", ())):
        raise CompileError(str(path), f"Device has no {' and no '.join(missing)}", f"def {missing[0]}(self, r): ...")
    with named(path):
        device = kind(accelerator) if issubclass(kind, AcceleratorDevice) else kind()
    device.source = path
    return device
