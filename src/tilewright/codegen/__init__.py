"""A schedule as a folder of C."""
