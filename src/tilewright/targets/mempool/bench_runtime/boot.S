# Boot of a kernel measurement: the first core clears what is noted in each tile and wakes the others; then each enters
# tw_bench(core) with a stack in its tile. Cores that take no part sleep; one that is alone has what its tile has, as some kernels
# that are one core's need more than its own part.
#include "tile_local.h"

    .section .text.start, "ax"
    .globl _start
    .balign 64
_start:
    csrr a0, mhartid
    li   t0, TW_CORES
    bgeu a0, t0, asleep
    take_local_stack
#if TW_CORES == 1
    li   sp, TW_LOCAL_BYTES
#endif
    bnez a0, wait
    declare_code
    clear_notes
    li   t0, TW_WAKE
    li   t1, TW_WAKE_ALL
    fence
    sw   t1, 0(t0)
wait:
    wfi
    tail tw_bench
asleep:
    wfi
    j    asleep

    .globl tw_booted
    .set tw_booted, TW_CORES
