"""Search for instructions: what blocks of a program compute, which parts of that could be one instruction, and programs
rewritten to have it."""
