# Boot for programs of ita_bench: core 0 calls main and ends the run with what it returns, the others call helper(core).
    .section .text.start, "ax"
    .globl _start
    .weak helper
_start:
    csrr a0, mhartid
    la   sp, stack_top
    slli t0, a0, 11
    sub  sp, sp, t0
    bnez a0, 1f
    call main
    li   t0, 0x301000a0
    li   t1, 0x80000000
    or   t1, t1, a0
    sw   t1, 0(t0)
1:  la   t0, helper
    beqz t0, 2f
    jalr t0
2:  wfi
    j    2b
