"""A small cluster without an accelerator that is no chip: it keeps generic code generic."""
