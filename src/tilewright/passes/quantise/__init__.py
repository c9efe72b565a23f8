"""From a float graph with quantisers to the integer network that it stands for."""
