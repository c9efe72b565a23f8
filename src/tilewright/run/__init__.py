"""Generated C built and run: on this machine or on the virtual SoC, and compared with the reference."""
