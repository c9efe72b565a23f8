"""What a run on a virtual SoC spends its cycles on, layer by layer and tile by tile, found by watching it."""
