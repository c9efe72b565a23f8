# Boot of a kernel measurement: every core gets a stack at the end of TCDM and enters tw_bench(core); cores that take no
# part sleep.
#include "platform.h"

    .section .text.start, "ax"
    .globl _start
    .balign 256
_start:
    csrr a0, mhartid
    csrw mscratch, a0
    la sp, tw_tcdm_end
    li t0, TW_BENCH_STACK
    mul t0, t0, a0
    sub sp, sp, t0
    bnez a0, meet
    la t0, tw_kernel_meeting
    sw zero, 0(t0)
    sw zero, 4(t0)
meet:
    csrr t0, TW_BARRIER
    li t0, TW_CORES
    bgeu a0, t0, asleep
    tail tw_bench
asleep:
    wfi
    j asleep

    .section .htif, "aw", @progbits
    .balign 64
    .globl tohost, fromhost
tohost:
    .dword 0
    .balign 64
fromhost:
    .dword 0
