"""Sweeps: many compilations, runs and checks of models on targets with settings, and what each of them gave."""
