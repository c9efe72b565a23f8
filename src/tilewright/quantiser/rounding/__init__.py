"""Weights rounded so that layers make the least error on the samples."""
