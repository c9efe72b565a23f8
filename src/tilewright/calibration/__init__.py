"""Costs of a target's kernels and transfers, measured on its virtual SoC with made-up operands and fitted."""
