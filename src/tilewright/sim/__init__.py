"""The virtual SoC: whole chips, simulated cycle by cycle, from a description of their cores, memories and devices.

`simulator.py` is its face: load a program, run it, look inside (`results.py`, `faults.py`, `gdb.py`). A chip is data:
`platform.py` has the words, `platform_rules.py` what a description must keep to. What a run counts is in `activity.py`,
what that costs in `energy.py`. `library.py` compiles the C below on first use. Every `#include` names its folder.

* `platforms/` the chips: Siracusa, Snitch, MemPool, a microcontroller, ...: what is at which address, every latency
* `program/` ELF files, source lines
* `watching/` probes, time of functions, traces
* `engine/` the C that every platform needs, and no chip's: who acts next, the bus, instruction caches, checks,
  snapshots, what Python calls. `sim.h` has the whole state, and the hooks that kinds of cores and devices fill in
* `kinds/` the lists of all kinds of cores and devices, numbered as in `platform.py`
* `isa/` instructions of all kinds of cores: tables, meaning, immediates, what their loops have in common
* `cv32e40p/` cores with XpulpV2 or CORE-V's instructions, and plain ones
* `vectors/` vectors of integers (Zve32x) beside such a core
* `snitch/` Snitch's cores and what only its cluster has: data movers (SSR), DMA; `fpu/` its queue, frep and the unit
  behind it; `frep_fastpath/` a fast path for its loops
* `mempool/` MemPool's cores, banks, caches and DMA
* `floats/` IEEE arithmetic, exact to the bit and the flag
* `devices/` devices that any platform may have: event unit, MCHAN, HyperRAM, timers, console, control registers
* `neureka/` N-EUREKA
* `ita/` ITA, and four of them as ITAPool has
* `ethos_u/` Ethos-U55 and U65, which execute command streams; a library of its own
* `rtl/` devices in Verilog: ports, adapters, what verilator makes of them
* `user/` a user's own device, in C, Python or Verilog
"""
