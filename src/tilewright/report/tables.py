"""Tables of layers and of agreement."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from pathlib import Path

from rich.console import Console
from rich.table import Table
from rich.text import Text

from tilewright.analysis.costs import Analysis, LayerRow
from tilewright.errors import printable
from tilewright.ir.numerics_record import NumericsRecord
from tilewright.ir.short_names import short_names
from tilewright.ir.types import SHORT
from tilewright.report.console import fitting_table, name_text, print_titled
from tilewright.report.energy import energy_text
from tilewright.report.numbers import count, duration, milliseconds, size
from tilewright.run.as_imported import AsImported
from tilewright.run.compare import Agreement
from tilewright.run.result import Check, Result


def print_layers(target: Console, analysis: Analysis) -> None:
    headings: tuple[str, ...] = ("#", "layer", "operator", "kernel", "result", "MACs", "params", "place")
    rows = [_layer_cells(layer) for layer in analysis.layers]
    optional: tuple[str, ...] = ("place", "kernel", "params", "MACs", "#", "result")
    if analysis.numerics_records:
        found = {one.layer: _differing(one) for one in analysis.numerics_records}
        headings, optional = (*headings, "differ"), (*optional, "differ")
        cells = zip(rows, analysis.layers, strict=True)
        rows = [[*row, found.get(layer.name, "") if layer.macs else ""] for row, layer in cells]
    table = fitting_table(target.width, headings, rows, "layer", optional)
    print_titled(target, f"{analysis.name} on {analysis.target}", table)
    for name, layers in analysis.bodies.items():
        rows = [_layer_cells(layer) for layer in layers]
        own = fitting_table(target.width, headings[:8], rows, "layer", optional)
        print_titled(target, f"in a run of {printable(name)}", own)


def print_totals(target: Console, analysis: Analysis) -> None:
    grid = Table.grid(padding=(0, 1))
    grid.add_column(style="bold", no_wrap=True)
    grid.add_column(overflow="fold")
    grid.add_row(
        " work", f"{_layers(analysis.layers)}, {count(analysis.macs)} MACs, {count(analysis.parameters)} parameters"
    )
    for what, scales in (("input", analysis.scales.inputs), ("output", analysis.scales.outputs)):
        for name, scale in scales.items():
            grid.add_row(f" {what}", name_text(f"{name}: real = {scale}"))
    if analysis.l1_bytes:
        gap = f"gap among candidates {analysis.predicted_gap:.1%}"
        grid.add_row(" time", f"{analysis.predicted_cycles:,} cycles predicted; {gap}")
        grid.add_row(" bound", str(analysis.least))
        grid.add_row(f" {analysis.l1_name}", f"{size(analysis.l1_bytes)} of buffers, tensors and stacks")
    if analysis.predicted_seconds is not None:
        measured = "on the machine that was measured: `tilewright calibrate` measures this one"
        grid.add_row(" time", f"{duration(analysis.predicted_seconds)} predicted, {measured}")
    if analysis.clock_mhz is not None:
        grid.add_row(" time", _predicted(analysis.predicted_cycles, analysis.clock_mhz))
        grid.add_row(" bound", str(analysis.least))
        fit = (f"{name} {size(needed)} of {size(there)}" for name, (needed, there) in analysis.memories.items())
        grid.add_row(" fits", f"reserved: {', '.join(fit)}, with stack and code")
    arena = f"{size(analysis.arena_bytes)} arena (lower bound {size(analysis.lower_bound)}, gap {analysis.gap:.1%})"
    more = f" + {analysis.l1_name}" if analysis.l1_bytes else ""
    more += f" + {size(analysis.copied_bytes)} copies of weights" if analysis.copied_bytes else ""
    grid.add_row(
        " RAM",
        f"{size(analysis.planned_ram_bytes)} planned = {arena} + {size(analysis.io_bytes)} inputs and outputs{more}",
    )
    if analysis.states:
        states = f"{len(analysis.states)} state{'s' if len(analysis.states) != 1 else ''}"
        grid.add_row(" state", f"{size(analysis.state_bytes)} of the arena for {states}, kept between calls")
    grid.add_row(" flash", f"{size(analysis.constant_bytes)} of constants")
    if analysis.numerics_records:
        grid.add_row(" numerics", _numerics(analysis.numerics_records))
    for note in analysis.notes:
        grid.add_row(" note", name_text(note, "yellow"))
    target.print(grid)


def _layers(rows: Sequence[LayerRow]) -> str:
    """How many there are; views compute nothing and have no number."""
    computed = sum(row.number is not None for row in rows)
    views = len(rows) - computed
    layers = f"{computed} layer{'s' if computed != 1 else ''}"
    return f"{layers} and {views} view{'s' if views != 1 else ''}" if views else layers


def _predicted(cycles: int, clock_mhz: float) -> str:
    if not cycles:
        return "not predicted: kernel costs are not measured; `tilewright run` counts cycles"
    return f"{cycles:,} cycles predicted: {milliseconds(cycles / clock_mhz / 1000)} at {clock_mhz:g} MHz"


def print_agreements(target: Console, title: str, agreements: Sequence[Agreement], heading: str) -> None:
    floors = any(agreement.floor is not None for agreement in agreements)
    headings = (heading, "elements", "mismatches", "max |error|", "allowed", *(["floor"] if floors else []), "")
    names = short_names(agreement.name for agreement in agreements)
    rows = [_agreement_cells(agreement, names[agreement.name], floors) for agreement in agreements]
    optional = ("floor", "allowed", "elements", "mismatches", "max |error|")
    print_titled(target, title, fitting_table(target.width, headings, rows, heading, optional))


def print_check(target: Console, check: Check, against: str) -> None:
    """The layers where asked for, the outputs, and the verdict in one line."""
    target.print()
    if check.layers:
        print_agreements(target, "every layer against the reference", check.layers, "tensor")
        target.print()
    print_agreements(target, f"outputs against {against}", check.outputs, "output")
    if check.imported is not None:
        target.print(_imported_text(check.imported), soft_wrap=True, highlight=False)
    target.print(_verdict(check, against), soft_wrap=True)
    for line in _board_lines(check.result):
        target.print(line, soft_wrap=True, highlight=False)


def print_written(target: Console, folder: Path, files: int, seconds: float) -> None:
    line = Text.assemble(
        (" C     ", "bold"), f"{files} files in ", name_text(str(folder), "green"), f", {duration(seconds)}"
    )
    target.print(line, soft_wrap=True)


def _differing(rounded: NumericsRecord) -> str:
    return f"{rounded.share:.2%}" if rounded.native else "exact"


def _numerics(rounded: Sequence[NumericsRecord]) -> Text:
    """How many layers have the hardware's requantisation, what that changes at most, and which have not."""
    native, exact = [one for one in rounded if one.native], [one.layer for one in rounded if not one.native]
    most = max((one.share for one in native), default=0.0)
    text = f"{len(native)} of {len(rounded)} layers requantise as the hardware does"
    text += f"; hardware rounding: at most {most:.2%} of sums round one step off" if native else ""
    text += f"; exact: {', '.join(exact)}" if exact else ""
    return name_text(text)


def _layer_cells(layer: LayerRow) -> list[str | Text]:
    result = f"{SHORT[layer.dtype]} {'x'.join(map(str, layer.shape)) or 'scalar'}"
    macs, parameters = (count(value) if value else "" for value in (layer.macs, layer.parameters))
    number = "" if layer.number is None else str(layer.number)
    return [number, name_text(layer.short_name), layer.operator, layer.kernel, result, macs, parameters, layer.place]


def _agreement_cells(agreement: Agreement, name: str, floors: bool) -> list[str | Text]:
    verdict = (
        Text(f"✓ agrees{_turned(agreement)}", "green")
        if agreement.agrees
        else Text(f"✗ {agreement.remark or 'differs'}", "bold red")
    )
    return [
        name_text(name), str(agreement.elements), str(agreement.mismatches), f"{agreement.max_abs_error:.3g}",
        f"{agreement.relative:.3g}" if floors and agreement.relative else f"{agreement.allowed:.3g}",
        *([_floor(agreement)] if floors else []), verdict,
    ]  # fmt: skip


def _turned(agreement: Agreement) -> str:
    if agreement.layers is not None:
        return f", each of {count(agreement.layers)} layers by itself"
    if agreement.spread is not None:
        return " within the spread of rounding"
    return f", {count(agreement.turned)} rounded the other way" if agreement.turned else ""


def _floor(agreement: Agreement) -> str:
    return "" if agreement.floor is None else f"{agreement.floor:.3g}"


def _steps_text(result: Result) -> str:
    """What calls in order took: the first one differs, as it finds no code in caches."""
    calls = f"{result.steps} step{'s' if result.steps != 1 else ''}"
    if not result.step_cycles:
        return f"{calls}, the median call"
    least, most = min(result.step_cycles), max(result.step_cycles)
    cycles = f"{least:,} to {most:,}" if least < most else f"{most:,}"
    energy = f" ({energy_text(result.energy)} in the last)" if result.energy else ""
    return f"{calls} of {cycles} cycles{_board_text(result)}{energy}, simulated in"


def _board_text(result: Result) -> str:
    """Time and instructions of one core."""
    if result.instructions is None or result.milliseconds is None:
        return ""
    return f" ({milliseconds(result.milliseconds)} at {result.clock_mhz:g} MHz), {result.instructions:,} instructions"


def _board_lines(result: Result) -> Iterator[str]:
    """What the program takes of a board's memories, and what its cycles are."""
    taken = result.footprint
    if taken is not None:
        yield (
            f"  measured: RAM {size(taken.ram_bytes)}, of which the stack took {size(taken.stack_bytes)}; "
            f"flash {size(taken.flash_bytes)}, of which {size(taken.code_bytes)} are code"
        )
    if result.soc is not None and result.soc.estimate:
        counts = result.soc.activity.counts
        most, waits = counts.get("most", result.cycles), counts.get("waits", 0)
        range_of_cycles = f"; at most {most:,}" if most != result.cycles else ""
        waited = f", {waits:,} cycles of them" if waits else ""
        yield f"  cycles are an estimate: {result.soc.estimate}{waited}{range_of_cycles}"


def _imported_text(found: AsImported) -> str:
    """How far the outputs are from those of the model as imported, and each quantised tensor from its definition."""
    farthest = max(found.outputs, key=lambda one: (one.steps or 0.0, one.relative), default=None)
    if farthest is None or not farthest.error:
        text = "outputs equal"
    elif farthest.steps is not None:
        text = f"{printable(farthest.name)} at most {farthest.steps:.3g} steps apart"
        text += f", {count(farthest.differing)} of {count(farthest.elements)} elements differ"
    else:
        text = f"{printable(farthest.name)} at most {farthest.relative:.2g} of its largest value apart"
    worst = max((one for one in found.held if one.is_quantised), key=lambda one: one.excess, default=None)
    if worst is not None:
        text += f"; each of {len(found.held)} tensors within {worst.steps:.3g} steps of its definition"
        text += f" ({worst.allowed:.3g} allowed)"
    return f"model as imported: {text}"


def _verdict(check: Check, against: str) -> Text:
    cycles = check.result.cycles
    energy = f", {energy_text(check.result.energy)}" if check.result.energy else ""
    board = _board_text(check.result)
    least = f" (at least {check.least:,} on this machine)" if check.least else ""
    run = f"{cycles:,} cycles{least}{board}{energy}, simulated in" if cycles is not None else "one run"
    if check.result.steps is not None:
        run = _steps_text(check.result)
    times = (
        f"{run} {duration(check.result.seconds)}, compiled in {duration(check.compile_seconds)}, "
        f"built in {duration(check.build_seconds)}"
    )
    if check.agrees:
        return Text.assemble(("✓ agrees", "bold green"), f" with {against}; {times}")
    first = check.first_difference
    place = f", first in {printable(first.name)}" if first is not None else ""
    if check.imported is not None and first == check.imported.first_difference:
        against = "the model as imported"
        place += f" ({first.remark})" if first is not None else ""
    return Text.assemble(("✗ disagrees", "bold red"), f" with {against}{place}; {times}")
