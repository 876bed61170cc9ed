"""The fastest plain-Python loops we could write for each agent: lists, local names, no arrays.

They are the peer that `tabular.py` divides by. Like the kernels they cache each state's greedy
action and keep the l1 norm of the SR by its own recursion.
"""

from __future__ import annotations

import random
from functools import cache
from math import sqrt

from countless.envs.mdp import MDP
from countless.envs.solve import optimal_q


@cache
def tables(mdp: MDP) -> tuple[list[list[list[tuple[float, int, float]]]], list[int], list[float]]:
    """Outcomes by state and action as (cumulative probability, next state, reward); start states."""
    outcomes: list[list[list[tuple[float, int, float]]]] = []
    for s in range(mdp.n_states):
        outcomes.append([])
        for a in mdp.actions(s):
            rows = [i for i in range(len(mdp.state)) if mdp.state[i] == s and mdp.action[i] == a]
            total, entries = 0.0, []
            for i in rows:
                total += float(mdp.probability[i])
                entries.append((total, int(mdp.next_state[i]), float(mdp.reward[i])))
            entries[-1] = (2.0, *entries[-1][1:])
            outcomes[s].append(entries)
    states = [s for s in range(mdp.n_states) if mdp.start[s] > 0]
    return outcomes, states, [float(mdp.start[s]) for s in states]


def greedy(values: list[float]) -> list[int]:
    """The actions that share the largest value."""
    top = max(values)
    if values.count(top) == 1:
        return [values.index(top)]
    return [a for a, value in enumerate(values) if value == top]


def sarsa(mdp: MDP, steps: int, alpha: float, epsilon: float, gamma: float) -> float:
    rand, choice = random.random, random.choice
    outcomes, states, weights = tables(mdp)
    n = mdp.n_actions
    q = [[0.0] * n for _ in outcomes]
    best = [list(range(n)) for _ in outcomes]
    total = 0.0
    s = random.choices(states, weights)[0]
    for _ in range(steps):
        b = best[s]
        a = int(n * rand()) if rand() < epsilon else b[0] if len(b) == 1 else choice(b)
        u = rand()
        for limit, s_next, r in outcomes[s][a]:  # noqa: B007
            if u < limit:
                break
        b = best[s_next]
        a_next = int(n * rand()) if rand() < epsilon else b[0] if len(b) == 1 else choice(b)
        values = q[s]
        old = values[a]
        values[a] = old + alpha * (r + gamma * q[s_next][a_next] - old)
        best[s] = greedy(values)
        s = s_next
        total += r
    return total


def sarsa_sr(
    mdp: MDP,
    steps: int,
    alpha: float,
    eta: float,
    gamma_sr: float,
    beta: float,
    epsilon: float,
    gamma: float,
) -> float:
    rand, choice = random.random, random.choice
    outcomes, states, weights = tables(mdp)
    n = mdp.n_actions
    q = [[0.0] * n for _ in outcomes]
    best = [list(range(n)) for _ in outcomes]
    norm = [0.0] * len(outcomes)
    total = 0.0
    s = random.choices(states, weights)[0]
    for _ in range(steps):
        b = best[s]
        a = int(n * rand()) if rand() < epsilon else b[0] if len(b) == 1 else choice(b)
        u = rand()
        for limit, s_next, r in outcomes[s][a]:  # noqa: B007
            if u < limit:
                break
        b = best[s_next]
        a_next = int(n * rand()) if rand() < epsilon else b[0] if len(b) == 1 else choice(b)
        x = norm[s]
        x += eta * (1.0 + gamma_sr * norm[s_next] - x)
        norm[s] = x
        values = q[s]
        old = values[a]
        values[a] = old + alpha * (r + beta / x + gamma * q[s_next][a_next] - old)
        best[s] = greedy(values)
        s = s_next
        total += r
    return total


def sarsa_sr_l2(
    mdp: MDP,
    steps: int,
    alpha: float,
    eta: float,
    gamma_sr: float,
    beta: float,
    epsilon: float,
    gamma: float,
) -> float:
    rand, choice = random.random, random.choice
    outcomes, states, weights = tables(mdp)
    n = mdp.n_actions
    q = [[0.0] * n for _ in outcomes]
    best = [list(range(n)) for _ in outcomes]
    psi = [[0.0] * len(outcomes) for _ in outcomes]
    keep, pull = 1.0 - eta, eta * gamma_sr
    total = 0.0
    s = random.choices(states, weights)[0]
    for _ in range(steps):
        b = best[s]
        a = int(n * rand()) if rand() < epsilon else b[0] if len(b) == 1 else choice(b)
        u = rand()
        for limit, s_next, r in outcomes[s][a]:  # noqa: B007
            if u < limit:
                break
        b = best[s_next]
        a_next = int(n * rand()) if rand() < epsilon else b[0] if len(b) == 1 else choice(b)
        row = [keep * x + pull * y for x, y in zip(psi[s], psi[s_next], strict=True)]
        row[s] += eta
        psi[s] = row
        values = q[s]
        old = values[a]
        bonus = beta / sqrt(sum([x * x for x in row]))
        values[a] = old + alpha * (r + bonus + gamma * q[s_next][a_next] - old)
        best[s] = greedy(values)
        s = s_next
        total += r
    return total


def sarsa_counts(
    mdp: MDP, steps: int, alpha: float, beta: float, epsilon: float, gamma: float
) -> float:
    rand, choice = random.random, random.choice
    outcomes, states, weights = tables(mdp)
    n = mdp.n_actions
    q = [[0.0] * n for _ in outcomes]
    best = [list(range(n)) for _ in outcomes]
    visits = [0] * len(outcomes)
    total = 0.0
    s = random.choices(states, weights)[0]
    for _ in range(steps):
        b = best[s]
        a = int(n * rand()) if rand() < epsilon else b[0] if len(b) == 1 else choice(b)
        u = rand()
        for limit, s_next, r in outcomes[s][a]:  # noqa: B007
            if u < limit:
                break
        b = best[s_next]
        a_next = int(n * rand()) if rand() < epsilon else b[0] if len(b) == 1 else choice(b)
        x = visits[s] + 1
        visits[s] = x
        values = q[s]
        old = values[a]
        values[a] = old + alpha * (r + beta / sqrt(x) + gamma * q[s_next][a_next] - old)
        best[s] = greedy(values)
        s = s_next
        total += r
    return total


@cache
def best_actions(mdp: MDP, gamma: float) -> list[int]:
    actions: list[int] = optimal_q(mdp, gamma).argmax(axis=1).tolist()
    return actions


def fixed(mdp: MDP, steps: int, gamma: float | None = None) -> float:
    """The optimal agent with a discount, the random one without."""
    rand = random.random
    outcomes, states, weights = tables(mdp)
    n = mdp.n_actions
    policy = None if gamma is None else best_actions(mdp, gamma)
    total = 0.0
    s = random.choices(states, weights)[0]
    for _ in range(steps):
        a = int(n * rand()) if policy is None else policy[s]
        u = rand()
        for limit, s_next, r in outcomes[s][a]:  # noqa: B007
            if u < limit:
                break
        s = s_next
        total += r
    return total
