"""Bringing up an accelerator: a folder to begin with, checks of driver and model, its cost fitted, its page."""
