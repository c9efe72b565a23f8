"""A GPU beside the processor of a computer: kernels, and what launches them."""
