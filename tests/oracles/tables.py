"""A network without a network: features are one-hot, q and psi are tables, all in float64.

Small MDPs come with it whose probabilities are tenths, so that ten rows a pair are exact.
"""

from __future__ import annotations

import numpy as np
import torch
from torch import nn

from countless.agents.dqn.losses import TransitionTensors
from countless.envs.mdp import MDP, build_mdp

TENTHS = 10


class TableNetwork(nn.Module):
    decoder = None
    has_sr = True
    predicts = "frame"

    def __init__(self, states: int, actions: int, norm: float = 1.0) -> None:
        super().__init__()
        self.norm = norm
        self.q_table = nn.Parameter(torch.zeros(states, actions, dtype=torch.float64))
        self.psi_table = nn.Parameter(torch.zeros(states, states, dtype=torch.float64))

    def features(self, observations):
        phi = observations[:, -1]
        return phi, phi

    def q(self, raw, phi):
        return phi @ self.q_table

    def psi(self, raw, phi):
        return phi @ self.psi_table


def tenths_mdp(seed: int, *, actions: int = 2, episodic: bool = False) -> MDP:
    """Every state leads on to the next, so that a chain without an end is ergodic."""
    random = np.random.default_rng(seed)
    n = int(random.integers(3, 7))
    rows = []
    for s in range(n):
        for a in range(actions):
            others = random.integers(n, size=TENTHS - 1)
            targets, counts = np.unique([(s + 1) % n, *others], return_counts=True)
            for to, k in zip(targets, counts, strict=True):
                ends = episodic and random.random() < 0.2
                rows.append((s, a, int(to), float(random.normal()), k / TENTHS, ends))
    *columns, terminated = (np.array(column) for column in zip(*rows, strict=True))
    start = np.zeros(n)
    start[0] = 1.0
    return build_mdp("tenths", tuple(columns), start, terminated=terminated)


def all_transitions(mdp: MDP, intrinsic=None) -> TransitionTensors:
    """Ten rows a (state, action) pair, as often as their probability; bonuses are the state's."""
    times = np.rint(mdp.probability * TENTHS).astype(int)
    eye = torch.eye(mdp.n_states, dtype=torch.float64)

    def column(values):
        return torch.from_numpy(np.repeat(values, times))

    state = column(mdp.state)
    bonus = torch.zeros(mdp.n_states) if intrinsic is None else torch.as_tensor(intrinsic)
    return TransitionTensors(
        s=eye[torch.cat((state, column(mdp.next_state)))].unsqueeze(1),
        frame_t=eye[column(mdp.next_state)],
        a_tm1=column(mdp.action),
        r_t=column(mdp.reward),
        r_int_t=bonus.to(torch.float64)[state],
        g_tm1=torch.zeros(len(state), dtype=torch.float64),
        terminal_t=column(mdp.terminated.astype(np.float64)),
    )
