"""The deep agents: network, replay, losses, learner, loop, checkpoint."""
