# Boot for MemPool programs: every core takes its stack and calls core_main(hart, cores); what the first one returns ends the run.
    .section .text.start, "ax"
    .globl _start
_start:
#ifndef CORES_REGISTER
#define CORES_REGISTER 0x4000003c
#endif
    li   t0, CORES_REGISTER    # how many there are
    lw   a1, 0(t0)
    csrr a0, mhartid
    addi sp, a0, 1             # 1 KiB each; where every tile has cores, in the core's own
    slli sp, sp, 10
    addi sp, sp, -16
    call core_main
    csrr t0, mhartid
    bnez t0, 1f
    slli a0, a0, 1
    ori  a0, a0, 1
    li   t0, 0x40000000
    sw   a0, 0(t0)
1:  wfi
    j    1b
