"""What each operator stands for in ONNX, by kind of operator."""
