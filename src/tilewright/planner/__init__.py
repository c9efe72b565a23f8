"""How a network runs: tiles, memories, prefetching and order, chosen together, written as a schedule, and checked."""
