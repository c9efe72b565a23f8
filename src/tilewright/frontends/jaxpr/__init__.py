"""JAX in: a jaxpr is read equation by equation, one small rule for each primitive, into an ONNX model."""
