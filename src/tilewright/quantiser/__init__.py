"""From a float network and samples of its inputs to the same network with quantisers, and what that costs."""
