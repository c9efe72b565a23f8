"""OpenCL C out of kernels in C99: one text that every vendor's driver compiles."""
