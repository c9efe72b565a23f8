"""Samples of a network's inputs, and the network run on them, in one pass and by several processes."""
