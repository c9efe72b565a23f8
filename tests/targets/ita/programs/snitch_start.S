# Boot for programs of a Snitch cluster of which one core does everything, DRIVER: it calls main and ends the run with what it returns.
    .section .text.start, "ax"
    .globl _start
_start:
    csrr a0, mhartid
    li   t0, DRIVER
    bne  a0, t0, 2f
    la   sp, stack_top
    la   t0, bss_start
    la   t1, bss_end
1:  sw   zero, 0(t0)
    addi t0, t0, 4
    bltu t0, t1, 1b
    call main
    slli a0, a0, 1
    ori  a0, a0, 1
    la   t0, tohost
    sw   a0, 0(t0)
2:  wfi
    j    2b
    .data
    .balign 8
    .globl tohost
    .globl fromhost
tohost:   .dword 0
fromhost: .dword 0
