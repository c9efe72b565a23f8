"""Arm Cortex-M: boards as files (`boards/`); kernels of pairs and of vectors (`pairs/`, `mve/`), with their lines.

`target.py` has kernels and forms by what a core has; the first form that takes a layer is chosen. Convolutions of
integers:

| cores | kernels | taken for |
| --- | --- | --- |
| M4, M7, M33 | `conv_pairs`, `matmul_pairs` (`paired*.py`) | all but depthwise |
| | `depthwise_windows` (`depthwise_windows.py`) | depthwise 3 x 3 of bytes |
| | `depthwise_taps` (`depthwise_taps.py`) | other windows of bytes |
| | `depthwise_halves` (`depthwise_halves.py`) | 16-bit elements |
| M55 | `mve/kernels` (`vector_offers.py`) | |
| M0+, and what the others refuse | `../microcontroller/kernels` | |
"""
