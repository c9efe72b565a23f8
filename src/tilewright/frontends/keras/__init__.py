"""Keras and TensorFlow in: a model is converted to ONNX, with recurrent layers as they are."""
