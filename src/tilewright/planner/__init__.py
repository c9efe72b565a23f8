"""How a network runs: tiles, memories, prefetching and order, chosen together, checked, written as a schedule."""
