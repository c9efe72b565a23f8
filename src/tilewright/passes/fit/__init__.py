"""Rewrites that make layers fit the memories of a target."""
