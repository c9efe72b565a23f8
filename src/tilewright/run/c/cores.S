/* The number of cores of a kernel bench, for kernels that were compiled without one. See cores.h. */
    .globl tw_cores_by_linker
    .set tw_cores_by_linker, TW_CORES
