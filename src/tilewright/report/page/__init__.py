"""One HTML page from a run or a study, with everything that it needs inside: pictures, tables, and what draws them."""
