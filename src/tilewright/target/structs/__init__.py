"""How operators fill the parameter structs of their kernels: a function for each kind, by the kind of work."""
