"""Requantisations in the form that hardware has: one product, one sum and one shift in 32 bits."""
