"""Model formats in; the only places that import the packages of those formats."""
