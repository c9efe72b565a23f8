"""Floats that are quantised by a range which is found when the network runs."""
