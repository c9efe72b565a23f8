"""What a network costs on a target, and why each node is where it is."""
