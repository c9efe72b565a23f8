"""Arm Cortex-M cores, emulated: what a program does, how often each of its blocks runs, and what that takes."""
