"""Language models: from a trained decoder to a program that reads text and prints text."""
