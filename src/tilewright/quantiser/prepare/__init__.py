"""The network before any value is seen: what is folded and named, and the places where quantisers go."""
