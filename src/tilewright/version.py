"""The version of the package, stated once."""

VERSION = "0.1.0"
