"""Networks that learn on the device: three graphs with one set of weights, their memory, their C."""
