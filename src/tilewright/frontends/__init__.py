"""Model formats in, a folder for each; the only places that import the packages of those formats."""
