"""The columns of a study's results: names, units and meanings. Rows have no others."""

from __future__ import annotations

from tilewright.records import dataclass


@dataclass(frozen=True)
class Column:
    name: str
    """With a star for a name that the target gives: `bytes.*`."""
    unit: str
    meaning: str
    more_is_better: bool = False


METRICS = (
    Column("cycles", "cycles", "from the call of the network to its return, on the virtual SoC"),
    Column("milliseconds", "ms", "the same at the platform's clock"),
    Column("instructions", "", "that all cores together executed in that time"),
    Column("macs", "MACs", "of the network"),
    Column("macs_per_cycle", "MACs/cycle", "how many of them a cycle did", True),
    Column("macs.*", "MACs", "of the layers that an engine computes"),
    Column("predicted_cycles", "cycles", "what the planner expected"),
    Column("energy_uj", "uJ", "of the whole SoC in that time, where its platform has a model of it"),
    Column("energy_accelerators_uj", "uJ", "of accelerators alone, as their declarations say"),
    Column("energy_not_counted", "", "accelerators at work that `energy_uj` lacks: their energy is not declared"),
    Column("planned_ram_bytes", "bytes", "arena, inputs and outputs, and what is used of L1"),
    Column("constant_bytes", "bytes", "of constants"),
    Column("bytes.*", "bytes", "that the network needs of a memory: arena, constants, inputs and outputs there"),
    Column("area", "", "of accelerators and instructions together, as they declare it or their Verilog has gates"),
    Column("code_bytes", "bytes", "of instructions in the whole program"),
    Column("traffic.*", "bytes", "that went over a link between two memories during the call"),
    Column("stalls.stalled", "cycles", "of all cores together, in which they waited for memory, each other or a unit"),
    Column("stalls.asleep", "cycles", "of all cores together, in which they slept until an event"),
    Column("stalls.refills", "lines", "of code that caches had to fetch"),
    Column(
        "stalls.*", "cycles", "part of stalls.stalled, by cause: load_use, branch, muldiv, conflict, memory, fetch, fpu"
    ),
    Column("utilisation.cores", "share", "of the time of cores that are on, in which they executed instructions", True),
    Column("utilisation.*", "share", "of the cycles that an accelerator was at work, or a link's bytes take", True),
    Column("accuracy", "share", "of labelled inputs that are put into their class, where a model has some", True),
    Column("max_abs_error", "", "the largest difference of an output from what was expected"),
    Column("mismatches", "elements", "of outputs that differ by more than is allowed"),
    Column("compile_seconds", "s", "from the model to C, on the machine that computed the point"),
    Column("build_seconds", "s", "from C to a program, likewise"),
    Column("run_seconds", "s", "simulating, or one run on this machine where the target is no simulated one"),
    Column("seconds", "s", "the whole point took"),
)

IDENTITY = (
    Column("model", "", "its name in the study"),
    Column("target", "", "its name"),
    Column("status", "", "agrees, disagrees, refused, timed out, died or fault"),
    Column("reason", "", "why it is not `agrees`"),
    Column("best", "", "whether no other point of the model is as good in all objectives and better in one"),
    Column("key", "", "a hash of all that the row depends on"),
)
"""What every row has; the axes of the study stand behind the target."""


def is_metric(name: str) -> bool:
    return column_of(name) is not None


def column_of(name: str) -> Column | None:
    """The column itself, or the family that it is of."""
    known, family = {column.name: column for column in METRICS}, f"{name.partition('.')[0]}.*"
    return known.get(name) or (known.get(family) if "." in name else None)


def metric_names() -> list[str]:
    return [column.name for column in METRICS]


def in_order(names: set[str]) -> list[str]:
    """As `METRICS` has them, those of a family by their names."""
    places = {column.name: place for place, column in enumerate(METRICS)}
    return sorted(names, key=lambda name: (places[found.name] if (found := column_of(name)) else len(places), name))
