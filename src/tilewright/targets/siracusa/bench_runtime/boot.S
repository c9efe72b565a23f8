# Boot of a kernel measurement: the fabric controller starts the cluster and sleeps; every cluster core gets a stack at
# the end of L1 and enters tw_bench(core).
#include "platform.h"
    .equ HART_OF_FABRIC_CONTROLLER, 0x3e0

    .section .text.start, "ax"
    .globl _start
    .balign 256
_start:
    csrr a0, mhartid
    li t0, HART_OF_FABRIC_CONTROLLER
    beq a0, t0, start_cluster
    la sp, tw_l1_end
    li t0, TW_BENCH_STACK
    mul t0, t0, a0
    sub sp, sp, t0
    li t0, TW_EVENT_UNIT
    li t1, 1 << 16          # wake at barriers
    sw t1, 0(t0)
    tail tw_bench

start_cluster:
    li t0, TW_CLUSTER_CONTROL
    la t1, _start
    .irp core, 0, 1, 2, 3, 4, 5, 6, 7
    sw t1, 0x40 + 4 * \core(t0)
    .endr
    li t2, -1
    li t3, TW_INSTRUCTION_CACHE
    sw t2, 0(t3)
    li t1, (1 << TW_CORES) - 1
    sw t1, 8(t0)
asleep:
    wfi
    j asleep
