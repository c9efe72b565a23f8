"""ITA, the integer transformer accelerator: arithmetic, layouts, jobs; the four ITAs of ITAPool (`pool/`)."""
