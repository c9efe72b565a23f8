# Corner cases, one after "#: name" each; s0 points to 256 bytes of data 0, 1, 2, ...

#: load then use, by every operand
    lw   a0, 0(s0)
    add  a1, a0, zero
    lw   a0, 4(s0)
    add  a1, zero, a0
    lw   a0, 8(s0)
    cv.mac a0, a1, a1
    lw   a0, 12(s0)
    sw   a0, 16(s0)
    lw   a2, 20(s0)
    andi a2, a2, 12
    add  a2, a2, s0
    lw   a2, 0(a2)

#: load whose value is never read
    lw   a0, 0(s0)
    li   a0, 5
    cv.lw a0, (s0), 4
    lui  a0, 7
    lw   a0, 0(s0)
    lw   a0, 4(s0)

#: misaligned words and halves
    lw   a0, 1(s0)
    lw   a1, 2(s0)
    lw   a2, 3(s0)
    lh   a3, 1(s0)
    lh   a4, 3(s0)
    lhu  a5, 131(s0)
    sw   a0, 5(s0)
    sw   a1, 10(s0)
    sw   a2, 15(s0)
    sh   a0, 23(s0)
    sh   a1, 25(s0)
    lw   a0, 4(s0)
    add  a0, a0, a0

#: misaligned with post-increment
    mv   a1, s0
    li   a2, 7
    cv.lw a0, (a1), 3
    cv.lw a3, (a1), a2
    cv.lh a4, (a1), 1
    cv.sw a3, (a1), 5
    cv.sw a0, (a1), a2
    cv.sh a0, (a1), 1

#: post-increment into its own registers
    mv   a1, s0
    cv.lw a1, (a1), 4
    mv   a1, s0
    li   a2, 8
    cv.lw a1, (a1), a2
    mv   a1, s0
    cv.lw a2, (a1), a2
    mv   a1, s0
    cv.sw a1, (a1), 4
    li   a2, 12
    cv.sw a2, (a1), a2
    mv   a1, s0
    cv.lbu a1, a2(a1)
    mv   a1, s0
    cv.lw zero, (a1), 4

#: division
    li   a0, 0x80000000
    li   a1, -1
    div  a2, a0, a1
    rem  a3, a0, a1
    divu a2, a0, a1
    remu a3, a0, a1
    div  a2, a0, zero
    rem  a3, a0, zero
    divu a4, a0, zero
    remu a5, a0, zero
    div  a4, zero, a1
    div  a4, a0, a0
    li   a1, -8
    div  a4, a0, a1
    rem  a4, a1, a0
    li   a1, 1
    div  a4, a0, a1
    remu a4, a4, a4

#: upper products
    li   a0, 0x80000000
    li   a1, -1
    mulh a2, a0, a0
    mulh a3, a0, a1
    mulhu a4, a1, a1
    mulhsu a5, a1, a1
    mulhsu a6, a0, a1
    mulhu a7, a0, a1
    mulh a2, a2, a2
    mul  a2, a2, a3

#: register jumps
    .option norvc
    auipc a0, 0
    jalr ra, 12(a0)
    li   a1, 1
    auipc ra, 0
    jalr ra, 12(ra)
    li   a1, 2
    auipc a0, 0
    sw   a0, 0(s0)
    lw   a2, 0(s0)
    jalr zero, 20(a2)
    li   a1, 3
    lw   a2, 0(s0)
    nop
    jalr zero, 36(a2)
    li   a1, 4
    nop

#: branches to instructions in two words
    .option rvc
    c.nop
    beqz zero, 1f
    c.nop
    .balign 4
    c.nop
1:  .option norvc
    addi a0, zero, 1
    .option rvc
    jal  2f
    .balign 4
    c.nop
2:  .option norvc
    addi a1, zero, 2
    .option rvc
    c.nop

#: immediate branches
    li   a0, -16
    cv.beqimm a0, -16, 1f
    li   a1, 1
1:  cv.bneimm a0, -16, 2f
    li   a1, 2
2:  li   a0, 15
    cv.bneimm a0, 15, 3f
    cv.beqimm a0, 15, 3f
    li   a1, 3
3:  cv.beqimm zero, 0, 4f
    li   a1, 4
4:  nop

#: hardware loop with counts 0, 1 and 2
    .option norvc
    .balign 4
    .insn i 0x2b, 4, x12, x4, 0
    addi a0, a0, 1
    addi a0, a0, 16
    addi a1, a0, 3
    .insn i 0x2b, 4, x12, x4, 1
    addi a0, a0, 1
    addi a0, a0, 16
    addi a1, a0, 3
    .insn i 0x2b, 4, x13, x4, 2
    addi a0, a0, 1
    addi a0, a0, 16
    addi a1, a0, 3
    csrr a2, 0xcc0
    csrr a3, 0xcc1
    csrr a4, 0xcc2
    csrr a5, 0xcc4
    csrr a6, 0xcc5
    csrr a7, 0xcc6

#: hardware loop that ends with a load for its first instruction
    .option norvc
    .balign 4
    mv   a1, s0
    li   a3, 5
    .insn i 0x2b, 4, x14, x13, 4
    add  a2, a2, a0
    addi a4, a4, 1
    cv.lw a0, (a1), 4
    add  a2, a2, a0

#: nested hardware loops, counts read inside
    .option norvc
    .balign 4
    li   a3, 3
    .insn i 0x2b, 4, x15, x13, 9
    addi a0, a0, 1
    .insn i 0x2b, 4, x14, x13, 5
    addi a1, a1, 1
    csrr a5, 0xcc2
    csrr a6, 0xcc6
    xor  a2, a1, a5
    addi a4, a4, 1
    add  a4, a4, a2

#: division, products and stores in a hardware loop
    .option norvc
    .balign 4
    mv   a1, s0
    li   a2, 1000
    .insn i 0x2b, 4, x12, x6, 6
    addi a3, a3, 3
    div  a4, a2, a3
    mulh a5, a4, a2
    cv.sw a4, (a1), 3
    mac_end: cv.mac a2, a3, a4

#: fields that reach beyond the word
    li   a0, 0x89abcdef
    li   a1, 0x3f9
    cv.extractr a2, a0, a1
    cv.extractur a3, a0, a1
    cv.insertr a4, a0, a1
    cv.bclrr a5, a0, a1
    cv.bsetr a6, a0, a1
    cv.extract a2, a0, 31, 25
    cv.extractu a3, a0, 31, 25
    cv.bclr a5, a0, 31, 25
    cv.bset a6, a0, 31, 25

#: control registers
    li   a0, 0x12345678
    csrw mscratch, a0
    csrrs a1, mscratch, s0
    csrrc a2, mscratch, a0
    csrrwi a3, mscratch, 17
    csrrsi a4, mscratch, 8
    csrrci a5, mscratch, 1
    csrr a6, mscratch
    csrr a7, mhartid
    csrw mepc, a0
    csrr t0, mepc
    csrw mcause, zero
    csrr t1, mcause

#: complex products at the edges
    li   a0, 0x80008000
    li   a1, 0x7fff8000
    cv.cplxmul.r a2, a0, a0
    cv.cplxmul.i a3, a0, a0
    cv.cplxmul.i.div8 a4, a0, a0
    cv.cplxmul.r.div2 a5, a0, a1
    cv.cplxmul.r a6, a1, a0
    cv.cplxmul.i.div4 a7, a1, a1
    cv.cplxconj t0, a0
    cv.subrotmj.div2 t1, a0, a1
    cv.add.div4 t2, a0, a0
    cv.sub.div8 t3, a0, a1
