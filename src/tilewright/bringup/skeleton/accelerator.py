"""NAME: matrix products of bytes with int32 totals. Change it to what your accelerator is."""

from tilewright.accelerator import Accelerator, Condition, Pattern, Poll, registers

MATMUL = Pattern(
    "matmul",
    "MatMul",
    types={"A": "int8", "B": "int8"},
    required=("C",),
    conditions=(
        Condition("it must be one product, not a batch", "rank == 0"),
        Condition("rows of A must lie side by side", "a_column == 1"),
        Condition("C must have one value for each column", "c_row == 0"),
    ),
    writes={
        "a": "A", "b": "B", "bias": "C", "result": "Y",
        "rows": "rows", "inner": "inner", "columns": "columns",
        "b_row": "b_row", "b_column": "b_column", "a_zero": "a_zero", "b_zero": "b_zero",
    },
)  # fmt: skip

ACCELERATOR = Accelerator(
    name="NAME",
    summary="matrix products of bytes",
    registers=registers("a b bias result rows inner columns b_row b_column a_zero b_zero start:w done:r"),
    patterns=(MATMUL,),
    start="start",
    done=Poll("done"),
    cycles="macs / macs_per_cycle + 20",
    parameters={"macs_per_cycle": 4},
)
