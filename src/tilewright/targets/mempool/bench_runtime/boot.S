# Boot of a kernel measurement: the first core clears what is noted near each tile and wakes the others; then each enters
# tw_bench(core) with a stack near it. Cores that take no part sleep.
#include "platform.h"

    .section .text.start, "ax"
    .globl _start
    .balign 64
_start:
    csrr a0, mhartid
    li   t0, TW_CORES
    bgeu a0, t0, asleep
    andi t0, a0, TW_TILE_CORES - 1
    addi t0, t0, 1
    li   t1, TW_NEAR_STACK
    mul  t0, t0, t1
    srli t1, a0, 2
    slli sp, t1, 12
    add  sp, sp, t0
    addi sp, sp, TW_NEAR_NOTES
    bnez a0, wait
    la   t1, tw_code_start
    la   t2, tw_code_end
    li   t0, TW_CACHE_BEGIN
    sw   t1, 0(t0)
    sw   t2, TW_CACHE_END - TW_CACHE_BEGIN(t0)
    li   t1, 1
    sw   t1, TW_CACHE_ON - TW_CACHE_BEGIN(t0)
    li   t0, 0
    li   t1, (TW_CORES + TW_TILE_CORES - 1) / TW_TILE_CORES * TW_NEAR_BYTES
    li   t2, TW_NEAR_BYTES
1:  sw   zero, 0(t0)
    sw   zero, 4(t0)
    sw   zero, 8(t0)
    add  t0, t0, t2
    bltu t0, t1, 1b
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
