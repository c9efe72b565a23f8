"""Snitch: kernels with streams and hardware loops, with a line each in modules by kind; its accelerator (`ita/`)."""
