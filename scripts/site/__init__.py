"""Pages of the site that are made from the code whenever it is built."""
