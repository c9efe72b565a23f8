"""The layers of a profile as a table that sorts and filters."""

from __future__ import annotations

from dataclasses import replace

from tilewright.profiling.profile import LayerProfile, Profile
from tilewright.report.energy import microjoules
from tilewright.report.numbers import count, size
from tilewright.report.page.content import Cell, Column, Table
from tilewright.report.page.time_words import TimeWords, time_words
from tilewright.report.profile import is_predicted

PREDICTED, ERROR = "predicted", "error"
COLUMNS = (
    Column("#", "its place in the order", True),
    Column("layer"),
    Column("operator", is_detail=True),
    Column("engine"),
    Column("kernel"),
    Column("tiles", "into how many it is cut; DB: double buffering", True),
    Column("cycles", "until the last core leaves it", True),
    Column("share", "of the whole run", True),
    Column(PREDICTED, "that the plan expected", True),
    Column(ERROR, "of the prediction", True),
    Column("MACs", "", True),
    Column("MAC/cycle", "", True),
    Column("uJ", "of the whole SoC in the same time", True),
    Column("in", "bytes that the DMA fetched", True),
    Column("out", "bytes that the DMA stored", True),
    Column("waiting", "of all core time, waiting for transfers", True),
    Column("instructions", "", True),
    Column("mode", is_detail=True),
    Column("streams from", "the memory that its tensors live in", is_detail=True),
)


def layer_table(profile: Profile) -> Table:
    """Columns that no layer has anything in are left out."""
    rows = [_cells(profile, layer) for layer in profile.layers]
    dropped = () if is_predicted(profile) else (PREDICTED, ERROR)
    columns = _columns(time_words(profile))
    kept = [at for at, one in enumerate(columns) if one.heading not in dropped and any(row[at].text for row in rows)]
    caption = (
        "Click on a heading to sort by it, again for the other direction. Type to filter; rows must contain every word."
    )
    return Table(
        "table", "All layers", caption, tuple(columns[at] for at in kept),
        tuple(tuple(row[at] for at in kept) for row in rows),
    )  # fmt: skip


def _columns(words: TimeWords) -> tuple[Column, ...]:
    called = {"cycles": words.unit, "MAC/cycle": words.short_speed}
    return tuple(
        replace(
            column, heading=called.get(column.heading, column.heading),
            meaning=words.until if column.heading == "cycles" else column.meaning,
        )
        for column in COLUMNS
    )  # fmt: skip


def _cells(profile: Profile, layer: LayerProfile) -> list[Cell]:
    core_time = max(layer.cycles * profile.cores, 1)
    words = time_words(profile)
    share, waiting = layer.cycles / max(profile.cycles, 1), layer.waiting / core_time
    return [
        Cell(str(layer.number), layer.number), Cell(layer.shown), Cell(layer.operator), Cell(layer.engine),
        Cell(layer.kernel), Cell(f"{len(layer.tiles)}{' DB' if layer.double else ''}", len(layer.tiles)),
        Cell(words.figure(layer.cycles), layer.cycles), Cell(f"{share:.1%}", share),
        Cell(words.figure(layer.predicted), layer.predicted), Cell(_signed(layer.error), layer.error),
        _some(count(layer.macs), layer.macs), _some(f"{layer.macs_per_cycle:.2f}", layer.macs_per_cycle),
        _energy(layer), _some(size(layer.bytes_in), layer.bytes_in),
        _some(size(layer.bytes_out), layer.bytes_out), _some(f"{waiting:.1%}", waiting),
        Cell("" if layer.instructions is None else f"{layer.instructions:,}", layer.instructions),
        Cell(layer.mode), Cell(layer.home),
    ]  # fmt: skip


def _signed(share: float) -> str:
    return "0%" if abs(share) < 0.005 else f"{share:+.0%}"


def _energy(layer: LayerProfile) -> Cell:
    return Cell(microjoules(layer.energy), layer.energy.microjoules) if layer.energy else Cell("", None)


def _some(text: str, value: float) -> Cell:
    """Nothing is said of what is not there."""
    return Cell(text if value else "", value)
