# Calls kernel(); the time between the labels begin and end is measured.
    .section .text.start, "ax"
    .globl _start, begin, end
_start:
    la   sp, stack_top
begin:
    call kernel
    la   t0, result
    sw   a0, 0(t0)
end:
    j    end
    .bss
    .balign 16
    .space 4096
stack_top:
    .globl result
result:
    .space 4
