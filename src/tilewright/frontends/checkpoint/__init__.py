"""Trained decoders in: a folder in Hugging Face's format or a llama2.c file, as a float ONNX graph of T tokens."""
