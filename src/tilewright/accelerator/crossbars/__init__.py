"""Arrays of analogue cells that multiply where weights are stored (docs/crossbars.md)."""
