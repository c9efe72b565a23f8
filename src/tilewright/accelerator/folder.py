"""An accelerator's folder: `accelerator.py`, a model in Python or C, or Verilog, and what else may lie there."""

from __future__ import annotations

import json
import math
from dataclasses import replace
from pathlib import Path
from typing import Any

from tilewright.accelerator.check_declaration import check_declaration
from tilewright.accelerator.crossbars.declaration import Crossbar
from tilewright.accelerator.declaration import Accelerator
from tilewright.accelerator.device import AcceleratorDevice
from tilewright.accelerator.rtl import registers_file, registers_in_verilog, rtl_header
from tilewright.accelerator.unit import ANY, Costs
from tilewright.errors import CompileError
from tilewright.records import dataclass
from tilewright.sim.rtl.build import RtlDevice
from tilewright.sim.user.device import UserDevice
from tilewright.target.user_python import loaded, named

RTL, VERILOG = "rtl", ("device.v", "device.sv")
DECLARATION, PYTHON_MODEL, C_MODEL, DRIVER, COSTS = "accelerator.py", "device.py", "device.c", "driver.c", "costs.json"

CROSSBAR_MODEL = Path(__file__).parent / "crossbars" / "crossbar.c"


@dataclass(frozen=True)
class AcceleratorFolder:
    """What a folder holds."""

    folder: Path
    accelerator: Accelerator
    device: Path
    """The model; of a folder that has none, the first file of Verilog."""
    rtl: RtlDevice | None
    """What runs in the model's place."""
    driver: Path | None
    costs: dict[str, Costs]
    """By the target's name."""


def read_folder(words: str) -> AcceleratorFolder:
    """`FOLDER`, or `FOLDER:parameter=value,...`."""
    place, parameters = _split(words)
    takes_rtl = parameters.pop(RTL, None)
    if takes_rtl not in (None, 0, 1):
        what = f"{RTL} is {takes_rtl}, neither 1 (the Verilog) nor 0 (the model)"
        raise CompileError(f"--accelerator {words}", what, f"for example :{RTL}=1")
    folder = Path(place).resolve()
    if not (folder / DECLARATION).is_file():
        what = f"has no {DECLARATION}" if folder.is_dir() else "is not a folder"
        raise CompileError(f"--accelerator {place}", what, "`tilewright accelerator new NAME` writes one")
    found = _declared(folder)
    given = _checked(found, parameters, place)
    if isinstance(found, Crossbar):
        accelerator = found.with_parameters(given).accelerator(str(folder / DECLARATION))
    else:
        accelerator = replace(found, parameters={**found.parameters, **given})
    check_declaration(accelerator, str(folder / DECLARATION))
    driver = folder / DRIVER
    device, rtl = _device(folder, accelerator, takes_rtl)
    own = driver if driver.is_file() else None
    return AcceleratorFolder(folder, accelerator, device, rtl, own, _costs(folder))


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


def _checked(accelerator: Accelerator | Crossbar, given: dict[str, float], place: str) -> dict[str, float]:
    for name in given:
        if name not in accelerator.parameters:
            known = ", ".join(accelerator.parameters) or "none"
            raise CompileError(f"--accelerator {place}", f"has no parameter '{name}'", f"it has {known}")
    return given


def _device(folder: Path, accelerator: Accelerator, takes_rtl: float | None) -> tuple[Path, RtlDevice | None]:
    """The model, and the Verilog where that is to run: `:rtl=1`, or there is no model."""
    models = [folder / name for name in (C_MODEL, PYTHON_MODEL) if (folder / name).is_file()]
    models += [CROSSBAR_MODEL] if accelerator.reference_passes else []
    sources = verilog(folder, accelerator)
    if not models and not sources:
        known = f"neither {PYTHON_MODEL} nor {C_MODEL} nor {VERILOG[0]}"
        raise CompileError(str(folder), f"has no model: {known}", "see docs/accelerators.md")
    if takes_rtl and not sources:
        raise CompileError(str(folder), f"has no {VERILOG[0]}", "leave :rtl=1 out, or write it: docs/rtl.md")
    if takes_rtl == 0 and not models:
        raise CompileError(str(folder), f"has no model: neither {PYTHON_MODEL} nor {C_MODEL}", "leave :rtl=0 out")
    is_rtl = bool(sources) and (not models or bool(takes_rtl))
    return (models or sources)[0], rtl_device(folder, accelerator) if is_rtl else None


def beside_model(words: str) -> str:
    """The same folder with its Verilog in place of its model; nothing where it lacks one of them or one is chosen."""
    _, parameters = _split(words)
    found = read_folder(words)
    if RTL in parameters or found.rtl is not None or not verilog(found.folder, found.accelerator):
        return ""
    return f"{words}{',' if parameters else ':'}{RTL}=1"


def verilog(folder: Path, accelerator: Accelerator) -> list[Path]:
    """The device's files of Verilog."""
    named = accelerator.rtl.files if accelerator.rtl else ()
    for name in named:
        if not (folder / name).is_file():
            raise CompileError(str(folder / DECLARATION), f"rtl names {name}, which is no file", "Rtl(files=(...))")
    return [folder / name for name in named] or [folder / name for name in VERILOG if (folder / name).is_file()][:1]


def rtl_device(folder: Path, accelerator: Accelerator) -> RtlDevice:
    top = accelerator.rtl.top if accelerator.rtl else ""
    sources = tuple(verilog(folder, accelerator))
    included = {registers_file(accelerator): registers_in_verilog(accelerator)}
    return RtlDevice(
        accelerator.name, sources, top or accelerator.name, rtl_header(accelerator), dict(accelerator.parameters),
        included,
    )  # fmt: skip


def _costs(folder: Path) -> dict[str, Costs]:
    path = folder / COSTS
    if not path.is_file():
        return {}
    try:
        return {target: _cost(values) for target, values in json.loads(path.read_text()).items()}
    except (ValueError, TypeError, AttributeError, RecursionError) as error:
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


def _declared(folder: Path) -> Accelerator | Crossbar:
    found = getattr(loaded(folder / DECLARATION), "ACCELERATOR", None)
    if not isinstance(found, Accelerator | Crossbar):
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
