"""Siracusa: kernels in C, with a line each in modules by kind; N-EUREKA (`neureka/`); boot and runtime (`runtime/`)."""
