"""One rule for each operator: from a node of the file to operators of the graph."""
