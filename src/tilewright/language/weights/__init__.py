"""Weights of language models in blocks of few bits: how they are rounded, what that costs, and the file they go to."""
