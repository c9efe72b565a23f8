"""Arm Cortex-M: boards as files (`boards/`); kernels of pairs and of vectors (`pairs/`, `mve/`), with their lines."""
