"""The typed graph and what it is made of: types, index expressions, operators, requantisation, arrays."""
