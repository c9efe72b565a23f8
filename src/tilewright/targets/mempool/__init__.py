"""MemPool and its kin: kernels in C, with a line each in modules by kind; boot and runtime (`runtime/`)."""
