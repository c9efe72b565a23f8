"""The program of a machine as data: what each agent does in each layer, as trees of events; and what they mean."""
