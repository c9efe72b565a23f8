"""A language model behind OpenAI's HTTP protocol: one model, many clients in turn."""
