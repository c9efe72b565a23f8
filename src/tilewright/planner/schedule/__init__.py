"""The last IR: calls, and on a cluster loops over tiles; what those mean, event by event, and numpy executing them."""
