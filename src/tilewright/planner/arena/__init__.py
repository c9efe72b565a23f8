"""Where a network lies that has no cluster: every tensor in one arena, and what each thread of a computer has."""
