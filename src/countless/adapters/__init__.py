"""Bonuses in other people's agents: Stable-Baselines3, Gymnasium's vector environments, RLeXplore."""
