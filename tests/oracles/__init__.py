"""Slow, literal twins of the compiled kernels: plain Python, one line a line of the algorithm."""
