"""Bonuses that are neural networks. Only here is torch imported."""
