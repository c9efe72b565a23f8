"""Siracusa: its memories, links and engines as data (`target.py`), measured costs, boot and runtime (`runtime/`)."""
