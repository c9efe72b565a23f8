# Boot of a kernel measurement: a stack below the bench's few variables, and tw_bench(0).
    .section .text.start, "ax"
    .globl _start
    .balign 256
_start:
    la sp, tw_variables
#ifdef __riscv_flen
    li t0, 0x2000
    csrs mstatus, t0
#endif
    li a0, 0
    tail tw_bench
