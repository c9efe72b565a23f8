"""What the user sees: tables, errors and progress in the terminal. Nothing here computes."""
