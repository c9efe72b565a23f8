"""What quantisation costs, measured on the samples and reported layer by layer, with what would help."""
