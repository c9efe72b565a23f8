"""Requantisations in fewer instructions: what gives the same for every total, as forms that instruction sets have."""
