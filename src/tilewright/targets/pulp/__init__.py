"""Kernels for RISC-V cores with XpulpV2 that share L1: C in `kernels/`, with a line each in modules by kind."""
