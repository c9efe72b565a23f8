"""C compilers, and what they have compiled."""
