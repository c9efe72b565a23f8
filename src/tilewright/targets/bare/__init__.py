"""What bare-metal programs share: the C library, the program around a network, kernels for a user's instructions."""
