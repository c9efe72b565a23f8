"""lookups: functions of bytes by a table, one byte of memory after the other; about 2,000 cells."""

from tilewright.accelerator import Accelerator, Condition, Pattern, Poll, registers

LOOKUP = Pattern(
    "lookup",
    "Lookup",
    types={"X": "int8", "Y": "int8"},
    conditions=(Condition("there must be one table", "channels == 1"),),
    writes={"x": "X", "table": "table", "result": "Y", "count": "elements"},
)

ACCELERATOR = Accelerator(
    name="lookups",
    summary="functions of bytes",
    registers=registers("x table result count start:w done:r"),
    patterns=(LOOKUP,),
    start="start",
    done=Poll("done"),
    cycles="5 * elements",
)
