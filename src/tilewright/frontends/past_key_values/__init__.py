"""Decoders as ONNX graphs that take keys and values of earlier tokens, and give them with those of new ones."""
