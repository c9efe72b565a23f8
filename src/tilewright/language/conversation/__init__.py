"""Talking: messages, chat templates, what a context has read already, answers and where they end."""
