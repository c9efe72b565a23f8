/* For crt0.S: defines a symbol for each number of cores a network may use, up to the number that boots. See pipeline.h. */
    .altmacro
    .macro boots cores
    .globl tw_boots_\cores\()_cores
    .set tw_boots_\cores\()_cores, \cores
    .endm
    .set count, 0
    .rept TW_CORES
    .set count, count + 1
    boots %count
    .endr
