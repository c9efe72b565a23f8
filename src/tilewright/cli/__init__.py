"""The command line: one file for each command, in `main.py` together; options that several share in groups."""
