"""Operators cut into tiles: windows of tensors, and the DMA transfers that move them."""
