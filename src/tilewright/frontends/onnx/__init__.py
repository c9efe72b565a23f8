"""ONNX in: a file, checked and bound, with its functions, loops and constants unfolded, as typed operators."""
