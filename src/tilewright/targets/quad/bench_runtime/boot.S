# Boot of a kernel measurement: every core gets a stack at the end of TCDM and enters tw_bench(core); cores that take no
# part sleep.
#include "platform.h"

    .section .text.start, "ax"
    .globl _start
    .balign 256
_start:
    csrr a0, mhartid
    li t0, TW_CORES
    bgeu a0, t0, asleep
    la sp, tw_tcdm_end
    li t0, TW_BENCH_STACK
    mul t0, t0, a0
    sub sp, sp, t0
    li t0, TW_EVENT_UNIT
    li t1, 1 << 16          # wake at barriers
    sw t1, 0(t0)
    tail tw_bench
asleep:
    wfi
    j asleep
