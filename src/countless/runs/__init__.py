"""Running things: one agent, a study of many settings, and where their records lie."""
