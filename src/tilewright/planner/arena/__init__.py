"""Where a network lies that works in one arena: every tensor, what each thread has, and what layers take there."""
