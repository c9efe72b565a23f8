"""A plain RISC-V microcontroller with the kernels of `microcontroller/`."""
