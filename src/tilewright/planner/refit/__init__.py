"""The stage `fitted`: layers that fit the memories, and those that are computed together in strips of rows."""
