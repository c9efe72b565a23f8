"""What clusters share: loops over tiles, MCHAN, events, and headers of kernels for several cores."""
