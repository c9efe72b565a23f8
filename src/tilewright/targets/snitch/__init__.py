"""Snitch cluster."""
