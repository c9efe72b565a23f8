"""What rv32 and Cortex-M share: kernels for one core without vectors, with a line each in modules. No target."""
