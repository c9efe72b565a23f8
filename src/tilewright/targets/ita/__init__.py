"""ITA, the integer transformer accelerator: its arithmetic, its layouts and its jobs."""
