"""Snitch: kernels with streams and hardware loops, a line each in modules by kind; boot and runtime (`runtime/`)."""
