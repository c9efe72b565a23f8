"""Functions and normalisations that exporters write out in several nodes, found again whatever way they are written."""
