"""Tabular agents: parameters, compiled kernels, and the simulation that drives them."""
