"""A target with accelerators: their engines, their drivers, and their models on its platform."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import Any

from tilewright.accelerator.chains import kind_of
from tilewright.accelerator.declaration import Accelerator
from tilewright.accelerator.driver import (
    STATIC,
    device_header,
    driver_header,
    driver_source,
    register_header,
    unit_header,
    unit_table,
    users_file,
)
from tilewright.accelerator.figures import peak_of
from tilewright.accelerator.folder import AcceleratorFolder, make_device, read_folder
from tilewright.accelerator.joining import Pins, joining_passes, sinking_passes, weighing
from tilewright.accelerator.kernels import Driver
from tilewright.accelerator.layouts import layout_passes
from tilewright.accelerator.offers import Weigh, any_takes, offer_of
from tilewright.accelerator.unit import Costs, Unit
from tilewright.accelerator.users_passes import users_passes
from tilewright.errors import CompileError, Refusal
from tilewright.ir.graph import Graph, Node
from tilewright.passes import Pass
from tilewright.passes.int8_to_uint8 import UNSIGNED_IMAGES, Keeps, int8_to_uint8, kept_back
from tilewright.sim.platform import PAGE, Platform
from tilewright.sim.platforms import find_platform
from tilewright.target.runner import Model
from tilewright.target.settings import Settings, check_options
from tilewright.target.target import Engine, Offer, Target
from tilewright.toolchain.generated import generated

FIRST_BASE = 0x7000_0000
RUNTIME = Path(__file__).parents[1] / "targets" / "accelerated"
"""What drives accelerators on clusters."""
ROWS = "requant_row.h"
"""A target's own way to requantise totals, where it has one."""
C_SUFFIX = ".c"
STATE = 64
"""Bytes of L1 for the runtime's part in it, without those of each unit."""


def with_accelerators(target: Target, folders: Sequence[str], placed: Mapping[str, str] | None = None) -> Target:
    """The target with an accelerator for each folder; a folder that is named twice is there twice. Layers that are
    `placed` on another engine, by their names, are no part of a chain."""
    if not folders:
        return target
    check_options(target, Settings(accelerators=tuple(folders)))
    return _added(target, tuple(map(read_folder, folders)), placed or {})


def check_drives(target: Target) -> Target:
    """The target, if the loops of its runtime drive accelerators; single jobs run on all."""
    if target.agents.runtime_waits and not target.agents.moves_apart:
        raise CompileError(
            f"target {target.name}", "has no core that drives accelerators while others compute",
            "choose a cluster with a core of its own for the DMA, or one without a cluster",
        )  # fmt: skip
    return target


def _added(target: Target, found: tuple[AcceleratorFolder, ...], placed: Mapping[str, str]) -> Target:
    _check_alone(target, found)
    units, platform = _placed(find_platform(target.platform), found, target.name)
    has_runtime = target.agents.runtime_waits
    drivers = [Driver(unit, form, not has_runtime) for unit in units for form in unit.forms()]
    files = _files(units, drivers, has_runtime, target.kernel_file(ROWS).is_file())
    made = generated(tuple(sorted(files.items())), "accelerators")
    engines = tuple(_engine(unit, units, [driver for driver in drivers if driver.unit is unit]) for unit in units)
    first = [unit for unit in units if unit.number == _first(unit, units)]
    passes = [one for unit in first for one in (*layout_passes(unit), *users_passes(unit))]
    meaning = [one for unit in first for one in unit.accelerator.reference_passes]
    others = tuple(_without_forms(engine, units) for engine in target.engines)
    runtime = [RUNTIME] if has_runtime and RUNTIME not in target.bases else []
    full = replace(
        target.on_platform(platform, STATE + 4 * len(units) if has_runtime else 0),
        engines=(*others, *engines) if has_runtime else (*engines, *others),
        bases=(made, *runtime, *target.bases),
        passes=(*_with_images(units, partial(any_takes, units), target.passes), *passes),
        reference_passes=(*target.reference_passes, *meaning),
        models=(*target.models, *(_model(unit, made) for unit in units)),
        alternatives=partial(_other_forms, units) if UNSIGNED_IMAGES in (one.name for one in target.passes) else None,
    )  # fmt: skip
    weigh = weighing(full)
    joining = {unit.name: _joining(unit, units, weigh, placed) for unit in units}
    return replace(full, engines=tuple(replace(one, **joining.get(one.name, {})) for one in full.engines))


def _check_alone(target: Target, found: Sequence[AcceleratorFolder]) -> None:
    """Other engines know nothing of cells: they would compute such layers without them."""
    others = [engine.name for engine in target.engines if engine.offer or engine.passes or engine.late_passes]
    for one in found:
        if one.accelerator.reference_passes and others:
            raise CompileError(
                f"accelerator {one.accelerator.name}", f"crossbars cannot be beside {' and '.join(others)}",
                f"target {target.name} has accelerators of its own; choose one that has cores alone: rv32, a Cortex-M",
            )  # fmt: skip


def _without_forms(engine: Engine, units: Sequence[Unit]) -> Engine:
    """An engine beside units whose layers mean something else than they would mean on it: it makes nothing of those."""
    own = {
        kind_of(pattern) for unit in units if unit.accelerator.reference_passes for pattern in unit.accelerator.patterns
    }
    plain = engine.forms
    if plain is None or not own:
        return engine
    return replace(engine, forms=lambda graph, node: () if type(node.op) in own else plain(graph, node))


def _with_images(units: Sequence[Unit], keeps: Keeps, passes: Sequence[Pass]) -> tuple[Pass, ...]:
    """Passes of which the one that makes images unsigned leaves those around some layers, and says so."""
    unsigned = int8_to_uint8(keeps)
    noted = replace(unsigned, run=partial(_saying_what_stays, units, unsigned, keeps))
    return tuple(noted if one.name == UNSIGNED_IMAGES else one for one in passes)


def _other_forms(units: Sequence[Unit], target: Target, layers: frozenset[tuple[str, str]]) -> tuple[Target, ...]:
    """With int8 images and the units' layouts for the layers alone that they compute in one plan, with the layouts
    alone, and with neither."""
    own = {unit.name for unit in units}
    taken = frozenset(name for engine, name in layers if engine in own)
    ways = [(taken, taken), (taken, frozenset[str]()), (frozenset[str](), frozenset[str]())]
    return tuple(_with_forms(units, target, moved, kept) for moved, kept in dict.fromkeys(ways))


def _with_forms(units: Sequence[Unit], target: Target, moved: frozenset[str], kept: frozenset[str]) -> Target:
    """With the units' layouts for some layers, and with int8 images around some."""
    layouts = (layout_passes(unit, lambda node: node.name in moved) for unit in units)
    made = {one.name: one for passes in layouts for one in passes}
    passes = tuple(made.get(one.name, one) for one in target.passes)
    return replace(target, passes=_with_images(units, partial(_stays, units, kept), passes))


def _stays(units: Sequence[Unit], kept: frozenset[str], graph: Graph, node: Node) -> bool:
    return node.name in kept and any_takes(units, graph, node)


def _saying_what_stays(units: Sequence[Unit], unsigned: Pass, keeps: Keeps, graph: Graph) -> Graph:
    """Plans with int8 and with uint8 are compared; what is noted is said of the better one."""
    made, could_stay = unsigned.run(graph), kept_back(partial(any_takes, units), graph)
    if not could_stay:
        return made
    names = " and ".join(dict.fromkeys(unit.accelerator.name for unit in units))
    kept = len(kept_back(keeps, graph))
    images = "1 image stays" if kept == 1 else f"{kept} images stay"
    note = (
        f"{images} int8 for {names}: this is predicted to take fewer cycles than uint8"
        if kept
        else f"images that {names} could read as int8 become uint8: the target is predicted to be faster with it"
    )
    return replace(made, notes=(*made.notes, note))


def _joining(unit: Unit, units: Sequence[Unit], weigh: Weigh, placed: Mapping[str, str]) -> dict[str, Any]:
    """What its engine has besides, where the whole target is known: rewrites to chains, and why layers are none."""
    alike = frozenset(one.name for one in units if one.accelerator == unit.accelerator)
    is_first = unit.number == _first(unit, units)
    passes = joining_passes(unit, weigh, Pins(placed, alike)) if is_first else ()
    sinking = sinking_passes(unit) if is_first else ()
    return {"offer": _taking_turns(unit, units, weigh), "passes": sinking, "late_passes": passes}


def units_of(target: Target, folders: Sequence[str]) -> list[Unit]:
    """The units that `with_accelerators` puts on a target for these folders."""
    names = {model.name for model in target.models}
    bare = replace(target.platform, devices=tuple(d for d in target.platform.devices if d.name not in names))
    return _placed(bare, list(map(read_folder, folders)), target.name)[0]


def _first(unit: Unit, units: Sequence[Unit]) -> int:
    return next(one.number for one in units if one.accelerator.name == unit.accelerator.name)


# ---- places ---------------------------------------------------------------------------------------------------------


def _placed(platform: Platform, found: Sequence[AcceleratorFolder], target: str) -> tuple[list[Unit], Platform]:
    units: list[Unit] = []
    for number, one in enumerate(found, 1):
        accelerator = one.accelerator
        alike = sum(unit.accelerator.name == accelerator.name for unit in units)
        _check_alike(accelerator, units)
        name = f"{accelerator.name}_{alike + 1}" if alike else accelerator.name
        base = _base(platform, accelerator, alike)
        platform = platform.with_device(name, base, PAGE, accelerator.latency)
        costs = one.costs.get(target, Costs())
        units.append(Unit(accelerator, name, number, base, one.folder, one.device, one.driver, costs, one.rtl))
    return units, platform


def _check_alike(accelerator: Accelerator, units: Sequence[Unit]) -> None:
    """Drivers of one name share one header of registers."""
    for unit in units:
        if unit.accelerator.name == accelerator.name and register_header(unit.accelerator) != register_header(
            accelerator
        ):
            raise CompileError(
                f"accelerator {accelerator.name}", "is given twice, with different registers",
                f"give the one of {unit.folder} another name",
            )  # fmt: skip


def _base(platform: Platform, accelerator: Accelerator, alike: int) -> int:
    if accelerator.base and not alike:
        return accelerator.base
    base = accelerator.base or FIRST_BASE
    taken = {device.base for device in platform.devices}
    while base in taken:
        base += PAGE
    return base


# ---- files ----------------------------------------------------------------------------------------------------------


def _files(units: list[Unit], drivers: list[Driver], has_runtime: bool, has_rows: bool) -> dict[str, str]:
    chosen = ("cluster" if has_runtime else "board", "rows" if has_rows else "plain")
    shared = [*STATIC.glob("tw_*.h"), *(path for name in chosen for path in (STATIC / name).glob("*.h"))]
    texts = {f"kernels/{path.name}": path.read_text() for path in shared}
    for unit in units:
        name = unit.accelerator.name
        texts |= {
            f"kernels/{name}_registers.h": register_header(unit.accelerator),
            f"kernels/{unit.name}_unit.h": unit_header(unit, has_runtime),
            f"device_{unit.name}/{name}_registers.h": register_header(unit.accelerator),
            f"device_{unit.name}/{name}_device.h": device_header(unit.accelerator),
            f"device_{unit.name}/crossbar_device.h": f'#include "{name}_device.h"\n',
        }
        texts |= {f"kernels/{users_file(unit)}": unit.own_driver.read_text(encoding="utf-8")} if unit.own_driver else {}
    for driver in drivers:
        texts |= {
            f"kernels/{driver.stem}.h": driver_header(driver),
            f"kernels/{driver.stem}.c": driver_source(driver),
        }
    return texts | ({"runtime/unit_table.h": unit_table(units)} if has_runtime else {})


# ---- engines and models ---------------------------------------------------------------------------------------------


def _engine(unit: Unit, units: Sequence[Unit], drivers: Sequence[Driver]) -> Engine:
    kernels, peak = tuple(driver.kernel() for driver in drivers), peak_of(unit.accelerator)
    return Engine(unit.name, kernels, _taking_turns(unit, units), peak=peak)


def _taking_turns(unit: Unit, units: Sequence[Unit], weigh: Weigh | None = None) -> Callable[[Graph, Node], Offer]:
    """Of several units of one kind, layers go to one after the other: neighbours that do not need each other run at the
    same time."""
    own, alike = offer_of(unit, weigh), [one for one in units if one.accelerator == unit.accelerator]
    if len(alike) == 1:
        return own

    def offer(graph: Graph, node: Node) -> Offer:
        found = own(graph, node)
        turn = alike[_turn(graph, node, own) % len(alike)]
        if turn is not unit:
            raise Refusal(f"{turn.name} takes it: units of one kind take turns")
        return found

    return offer


def _turn(graph: Graph, node: Node, offer: Callable[[Graph, Node], Offer]) -> int:
    """How many of the nodes before a unit of this kind takes."""
    count = 0
    for before in graph.nodes:
        if before.key == node.key:
            break
        count += not before.op.view and _takes(graph, before, offer)
    return count


def _takes(graph: Graph, node: Node, offer: Callable[[Graph, Node], Offer]) -> bool:
    try:
        offer(graph, node)
    except Refusal:
        return False
    return True


def _model(unit: Unit, made: Path) -> Model:
    """What is attached to the simulator."""
    if (rtl := unit.rtl) is not None:
        return Model(unit.name, lambda: rtl)
    if unit.device.suffix == C_SUFFIX:
        return Model(unit.name, lambda: unit.device, (made / f"device_{unit.name}", STATIC))
    return Model(unit.name, lambda: make_device(unit.device, unit.accelerator))
