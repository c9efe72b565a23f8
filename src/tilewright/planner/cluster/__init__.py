"""A plan for a cluster: tiling options, what is in which memory, prefetching and order, chosen together."""
