"""Computers: kernels of vectors, with a line each in modules by kind; forms of constants, and what offers them."""
