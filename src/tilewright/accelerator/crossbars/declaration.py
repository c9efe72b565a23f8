"""A crossbar accelerator as its folder declares it: sizes and cells; registers, patterns and the model follow."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import fields, replace

from tilewright.accelerator.crossbars.cells import BYTE_BITS, RANGE, SHARE, SIGNS, Cells, noise_factor
from tilewright.accelerator.crossbars.mapping import mapping_pass
from tilewright.accelerator.declaration import Accelerator, Pattern, Poll, registers
from tilewright.errors import CompileError, raise_all
from tilewright.records import dataclass

KIND = "crossbar"
WORDS = ("name", "summary", "kind")
"""Fields that are no numbers."""
SIZES = {
    "n": "n", "in_h": "in_h", "in_w": "in_w", "c": "c", "out_h": "out_h", "out_w": "out_w", "f": "f",
    "kernel_h": "kernel_h", "kernel_w": "kernel_w", "stride_h": "stride_h", "stride_w": "stride_w",
    "dilation_h": "dilation_h", "dilation_w": "dilation_w", "pad_top": "pad_top", "pad_left": "pad_left",
    "x_zero": "x_zero", "w_zero": "w_zero", "x_signed": "signed_X",
}  # fmt: skip
CELLS = (
    "rows", "columns", "cell_bits", "input_bits", "adc_bits", "adc_range", "noise", "stuck", "seed", "first", "copies",
    "phases", "vectors", "written",
)  # fmt: skip
"""Registers with numbers of the cells, `cell_` before the names of expressions."""
JOB = "ceil_div(cell_vectors, cell_copies) * cell_phases * read_cycles + cell_written * write_cycles"
SPENT = "cell_vectors * cell_phases * cell_crossbars * read_picojoules + cell_written * columns * write_picojoules"


@dataclass(frozen=True)
class Crossbar:
    """Fields that are numbers may be set from outside: `--accelerator FOLDER:noise=0.05,adc_bits=8`."""

    name: str
    summary: str = "products where weights are stored"
    kind: str = KIND
    rows: int = 256
    columns: int = 256
    crossbars: int = 64
    cell_bits: int = 2
    input_bits: int = 1
    """That rows are given at a time."""
    adc_bits: int = 0
    """0 for an ADC that loses nothing."""
    adc_range: float = 1.0
    """What the ADC's highest number stands for, as a share of what a column of all rows may sum to."""
    noise: float = 0.0
    """Deviation of a cell from what was written, as a share of its range."""
    stuck: float = 0.0
    """Share of cells that are stuck, half of them at the least and half at the most."""
    seed: int = 0
    read_cycles: int = 4
    """Of a vector's phase, in all crossbars of a layer at once."""
    write_cycles: int = 100
    """Of a crossbar's row."""
    read_picojoules: float = 0.0
    """Of a crossbar and phase, with its converters."""
    write_picojoules: float = 0.0
    """Of a cell."""

    @property
    def parameters(self) -> Mapping[str, int | float]:
        return {one.name: getattr(self, one.name) for one in fields(self) if one.name not in WORDS}

    def with_parameters(self, given: Mapping[str, float]) -> Crossbar:
        return replace(self, **given)  # type: ignore[arg-type]

    @property
    def cells(self) -> Cells:
        return Cells(
            self.rows, self.columns, self.cell_bits, self.input_bits, self.adc_bits, round(self.adc_range * RANGE),
            noise_factor(self.noise, self.cell_bits), min(round(self.stuck * SHARE), SHARE - 1), self.seed,
        )  # fmt: skip

    def accelerator(self, where: str) -> Accelerator:
        """What drivers, costs and the mapper are made from. `where`: the file that it is declared in."""
        raise_all([CompileError(where, what, hint) for what, hint in self._faults()])
        costs = {name: name for name in ("read_cycles", "write_cycles")}
        conv = Pattern(
            "conv", "CrossbarConv",
            types={"X": ("int8", "uint8"), "W": "int8"},
            layout="channels last",
            required=("B",),
            writes={"x": "X", "weights": "W", "bias": "B", "y": "Y", **SIZES, **costs,
                    **{name: f"cell_{name}" for name in CELLS}},
        )  # fmt: skip
        words = " ".join(conv.writes)
        counted = self.read_picojoules or self.write_picojoules
        return Accelerator(
            name=self.name, summary=self.summary, registers=registers(f"{words} start:w done:r"), patterns=(conv,),
            start="start", done=Poll("done"), cycles=JOB, picojoules=SPENT if counted else "",
            parameters=self.parameters, reference_passes=(mapping_pass(self.name, self.cells, self.crossbars),),
        )  # fmt: skip

    def _faults(self) -> Iterator[tuple[str, str]]:
        """What is wrong, and what to try."""
        if self.kind != KIND:
            yield f"kind is '{self.kind}'", f"'{KIND}'"
        yield from (fault for name, value in self.parameters.items() for fault in _fault(name, value))
        wide, bits = self.columns, self.cell_bits
        if _is_within("cell_bits", bits) and _is_within("columns", wide) and wide < _columns(bits):
            said = f"{SIGNS} signs x {_columns(bits) // SIGNS} slices of {bits} bits"
            yield (
                f"a crossbar has {wide} columns, and one filter takes {_columns(bits)}: {said}",
                f"columns={_columns(bits)} or more, or cells with more bits",
            )


def _fault(name: str, value: object) -> Iterator[tuple[str, str]]:
    low, high = LIMITS[name]
    if isinstance(getattr(Crossbar, name), int) and not isinstance(value, int):
        yield f"{name} is {value!r}", "a whole number"
    elif not _is_within(name, value):
        yield f"{name} is {value!r}", f"a number from {low:g} to {high:g}"


def _is_within(name: str, value: object) -> bool:
    low, high = LIMITS[name]
    is_number = isinstance(value, int | float) and not isinstance(value, bool)
    return is_number and low <= value <= high  # type: ignore[operator]


def _columns(cell_bits: int) -> int:
    """Of a filter."""
    return SIGNS * -(-BYTE_BITS // cell_bits)


LIMITS: Mapping[str, tuple[float, float]] = {
    "rows": (1, 4096), "columns": (1, 4096), "crossbars": (1, 65536), "cell_bits": (1, 8), "input_bits": (1, 8),
    "adc_bits": (0, 24), "adc_range": (1 / RANGE, 1), "noise": (0, 1), "stuck": (0, 1), "seed": (0, 2**31 - 1),
    "read_cycles": (0, 2**20), "write_cycles": (0, 2**20), "read_picojoules": (0, 1e9), "write_picojoules": (0, 1e9),
}  # fmt: skip
