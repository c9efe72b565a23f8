"""Instruction sets of the cores: tables of instructions, their operands and meaning, decoding, names of registers."""
