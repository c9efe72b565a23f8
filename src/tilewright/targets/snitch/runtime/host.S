# What a program and the host read of each other.
    .section .htif,"aw",@progbits
    .balign 64
    .globl tohost
tohost:
    .dword 0
    .balign 64
    .globl fromhost
fromhost:
    .dword 0
    .balign 64
    .globl tw_call
tw_call:
    .space 64
