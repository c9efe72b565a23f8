"""Devices in Verilog: their ports checked, verilated, clocked with the machine that they are part of."""
