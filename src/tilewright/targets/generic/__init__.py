"""This machine or any other with a C99 compiler: portable kernels, with a line each in modules by kind."""
