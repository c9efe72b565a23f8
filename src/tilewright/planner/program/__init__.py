"""The program of a cluster as data: what each agent does in each layer, as trees of events; and what they mean."""
