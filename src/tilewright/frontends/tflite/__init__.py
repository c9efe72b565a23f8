"""TensorFlow Lite in: a file as plain data, one rule for each operator, typed operators out."""
