"""Ethos-U55 and U65: NPUs that execute command streams. `npu.py` is their face.

`configurations.py` has the sizes, `payload.py` reads streams from files, `faults.py` says what is wrong with one.
The C beside it: `run.c` goes through the commands of `commands.def`, `registers.c` makes operations of what they set,
`memory.c` checks each access, and has the DMA, `maps.c` reads and writes feature maps, `races.c` finds waits that are
missing. `products.c`, `pooling.c`, `elementwise.c` compute; `scaling.c` and `functions.c` finish.
`weight_stream.c`, `weights.c`, `scales.c` read constants. It is a library of its own, apart from the virtual SoC.
"""
