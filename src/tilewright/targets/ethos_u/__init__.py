"""Ethos-U beside a Cortex-M: `cortex-m33+u65-256` is the target of a core with an NPU. `beside.py` makes it,
`kernels/` has the driver, `device.py` is the NPU as the emulated core meets it, `vela.py` calls the NPU's compiler."""
