"""Text to tokens and back: tokenizers as plain data, what they mean in Python, and their C."""
