"""Crossbars of 256 x 256 cells with two bits each: ideal as declared, `:noise=0.05,adc_bits=8` for others."""

from tilewright.accelerator import Crossbar

ACCELERATOR = Crossbar(
    name="crossbars",
    summary="weights in cells of two bits, inputs bit by bit",
    rows=256,
    columns=256,
    crossbars=64,
    cell_bits=2,
    input_bits=1,
    read_cycles=4,
    write_cycles=100,
    read_picojoules=200.0,
    write_picojoules=20.0,
)
