"""A tabular agent of your own with the paper's bonus: Sarsa in RiverSwim, with and without.

python examples/own_tabular_agent.py
python examples/own_tabular_agent.py --runs 3
"""

from __future__ import annotations

import argparse

import numpy as np

from countless.bonuses import make_bonus
from countless.envs import MDPEnv

STEPS = 5000


class Sarsa:
    """One-step Sarsa, epsilon-greedy: nothing here knows of a bonus."""

    def __init__(self, states: int, actions: int, alpha: float, epsilon: float, seed: int) -> None:
        self.q = np.zeros((states, actions))
        self.alpha, self.epsilon = alpha, epsilon
        self.rng = np.random.default_rng(seed)

    def act(self, s: int) -> int:
        if self.rng.random() < self.epsilon:
            return int(self.rng.integers(self.q.shape[1]))
        best = np.flatnonzero(self.q[s] == self.q[s].max())
        return int(self.rng.choice(best))

    def learn(self, s: int, a: int, r: float, s_next: int, a_next: int) -> None:
        self.q[s, a] += self.alpha * (r + 0.95 * self.q[s_next, a_next] - self.q[s, a])


def run(with_bonus: bool, seed: int) -> float:
    """The return of 5,000 steps; parameters of the paper's Table 6."""
    env = MDPEnv("riverswim")
    alpha, epsilon = (0.25, 0.1) if with_bonus else (0.005, 0.01)
    agent = Sarsa(6, 2, alpha, epsilon, seed)
    bonus = make_bonus("sr-norm", 6, beta=100.0, eta=0.01, gamma=0.95)
    total = 0.0
    s, _ = env.reset(seed=seed)
    a = agent.act(int(s))
    for _ in range(STEPS):
        s_next, r, _, _, _ = env.step(np.int64(a))
        total += r
        if with_bonus:
            r += float(bonus.observe([s], next_observations=[s_next])[0])
        a_next = agent.act(int(s_next))
        agent.learn(int(s), a, r, int(s_next), a_next)
        s, a = s_next, a_next
    return total


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--runs", type=int, default=10)
    arguments = parser.parse_args()
    for with_bonus in (False, True):
        returns = [run(with_bonus, seed) for seed in range(arguments.runs)]
        label = "with the SR norm" if with_bonus else "Sarsa alone"
        print(f"{label:>16}: mean return of {arguments.runs} runs {np.mean(returns):,.0f}")


if __name__ == "__main__":
    main()
