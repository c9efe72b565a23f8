"""Twelve families of image classifiers at 96 x 96, two networks of each, with random weights."""
