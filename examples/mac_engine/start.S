# Boot for Siracusa programs: the fabric controller starts cores 0..7, which call cluster_main(core); core 0 then exits.
    .section .text.start, "ax"
    .globl _start
    .balign 256
_start:
    csrr a0, mhartid
    li   t0, 0x3e0
    beq  a0, t0, fabric_controller
    li   sp, 0x10040000        # 2 KiB of stack per core at the top of L1, 16 bytes apart in banks
    slli t1, a0, 11
    slli t2, a0, 4
    add  t1, t1, t2
    sub  sp, sp, t1
    li   t0, 0x10204000        # event unit: listen to the barrier
    li   t1, 0x10000
    sw   t1, 0(t0)
    bnez a0, 1f
    li   t1, 0xff              # barrier 0: all eight
    sw   t1, 0x200(t0)
    sw   t1, 0x20c(t0)
1:  call cluster_main
    li   t0, 0x1a1040a0
    li   t1, 0x80000000
    or   t1, t1, a0
    csrr a1, mhartid
    bnez a1, 2f
    sw   t1, 0(t0)
2:  wfi
    j    2b
fabric_controller:
    li   t0, 0x10200040
    la   t1, _start
    li   t2, 8
3:  sw   t1, 0(t0)
    addi t0, t0, 4
    addi t2, t2, -1
    bnez t2, 3b
    li   t0, 0x10201400        # instruction cache on
    li   t1, -1
    sw   t1, 0(t0)
    li   t0, 0x10200000
    li   t1, 0xff
    sw   t1, 8(t0)
4:  wfi
    j    4b
