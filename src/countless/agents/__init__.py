"""The agents: one catalogue, tabular agents, and the deep agents built on DQN."""
