"""What a target is made of, as data: engines, kernels, memories, costs; and the mapping of nodes to kernels."""
