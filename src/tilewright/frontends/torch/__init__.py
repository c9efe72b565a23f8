"""PyTorch in: a module is exported, and what has no ONNX form is written out; states by the names of buffers."""
