"""Compiled code of the bonuses: plain arrays in and out."""
