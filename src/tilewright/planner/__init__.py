"""How a network runs: tiles, memories, prefetching and order, chosen together, checked, and written down as a schedule."""
