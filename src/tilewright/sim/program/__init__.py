"""Programs as they are loaded: ELF files, and the source lines of their addresses."""
