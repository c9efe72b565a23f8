"""Rewrites that choose the order of axes."""
