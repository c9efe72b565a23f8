"""Texts of a given form: JSON schemas become automata over bytes, and these masks over the tokens of a vocabulary."""
