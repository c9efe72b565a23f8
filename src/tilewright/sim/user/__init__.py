"""A user's own device, in C or in Python: how it is attached, what it moves, what ends a call of it that hangs."""
