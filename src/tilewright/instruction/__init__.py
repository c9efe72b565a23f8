"""Instructions of a user's own, declared in a folder: simulated, in the compiler, in kernels (docs/instructions.md)."""
