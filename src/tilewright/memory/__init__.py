"""Offsets and orders as pure problems: a Problem in, a Solution out, with its bound and a validator."""
