"""A schedule on a board with one core: whether its memories hold it, what would help, and the cycles that it takes."""
