"""What samples show of activations, and the range that each tensor is quantised with."""
