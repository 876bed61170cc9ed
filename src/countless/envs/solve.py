"""Exact answers: v of a policy, q*, the successor representation, the best return and gain."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from countless.core.errors import BadInput
from countless.envs.mdp import MDP

DENSE_LIMIT = 4000
SOLVED_STATES = 1000
MOST_POLICIES = 1000
MOST_SWEEPS = 100_000

Array = NDArray[np.float64]


def uniform_policy(mdp: MDP) -> Array:
    """The policy (|S|, |A|) that picks among a state's actions with equal probability."""
    policy = np.zeros((mdp.n_states, mdp.n_actions))
    policy[mdp.pair_state, mdp.pair_action] = 1.0
    uniform: Array = policy / policy.sum(axis=1, keepdims=True)
    return uniform


def greedy_policy(values: Array) -> Array:
    """The deterministic policy (|S|, |A|) of action values; the lowest action wins a tie."""
    policy = np.zeros_like(values)
    policy[np.arange(len(values)), values.argmax(axis=1)] = 1.0
    return policy


def transition_matrix(mdp: MDP, policy: Array) -> Array:
    """P_pi (|S|, |S|); a transition that ends an episode leads nowhere, so its row sums below 1."""
    if mdp.n_states > DENSE_LIMIT:
        raise BadInput(
            f"{mdp.name}: has {mdp.n_states:,} states; matrices are made for {DENSE_LIMIT:,} at most"
        )
    matrix = np.zeros((mdp.n_states, mdp.n_states))
    weight = policy[mdp.state, mdp.action] * mdp.probability * ~mdp.terminated
    np.add.at(matrix, (mdp.state, mdp.next_state), weight)
    return matrix


def expected_reward(mdp: MDP, policy: Array) -> Array:
    """r_pi (|S|,): the expected one-step reward under a policy."""
    weight = policy[mdp.state, mdp.action] * mdp.probability * mdp.reward
    rewards: Array = np.bincount(mdp.state, weights=weight, minlength=mdp.n_states).astype(float)
    return rewards


def successor_representation(mdp: MDP, policy: Array, gamma: float) -> Array:
    """Psi_pi = (I - gamma P_pi)^-1 (the paper's Eq. 5).

    >>> from countless.envs.domains import riverswim
    >>> mdp = riverswim()
    >>> psi = successor_representation(mdp, uniform_policy(mdp), 0.95)
    >>> bool(np.allclose(psi.sum(axis=1), 20.0))
    True
    """
    matrix = np.eye(mdp.n_states) - gamma * transition_matrix(mdp, policy)
    return np.asarray(np.linalg.inv(matrix), dtype=np.float64)


def policy_values(mdp: MDP, policy: Array, gamma: float) -> Array:
    """v_pi = (I - gamma P_pi)^-1 r_pi (the paper's Eq. 1)."""
    matrix = np.eye(mdp.n_states) - gamma * transition_matrix(mdp, policy)
    return np.asarray(np.linalg.solve(matrix, expected_reward(mdp, policy)), dtype=np.float64)


def _backup(mdp: MDP, values: Array, gamma: float, after_end: float) -> Array:
    """One Bellman backup, one value per (state, action) pair; an ended episode is worth `after_end`."""
    future = np.where(mdp.terminated, after_end, values[mdp.next_state])
    return np.add.reduceat(mdp.probability * (mdp.reward + gamma * future), mdp.pair_offsets[:-1])


def optimal_q(mdp: MDP, gamma: float, tolerance: float = 1e-10) -> Array:
    """q* (|S|, |A|); an action that a state does not offer is -inf.

    Policy iteration with exact solves; above a thousand states value iteration, until no value can
    be off by more than `tolerance` relative to the largest.
    """
    values = np.zeros(mdp.n_states)
    if mdp.n_states <= SOLVED_STATES:
        values = _policy_iteration(mdp, gamma)
    bound = np.inf
    while bound > tolerance * max(1.0, float(np.abs(values).max())):
        pairs = _backup(mdp, values, gamma, 0.0)
        new = np.maximum.reduceat(pairs, mdp.state_offsets[:-1])
        bound = float(np.abs(new - values).max()) * gamma / (1.0 - gamma)
        values = new
    q = np.full((mdp.n_states, mdp.n_actions), -np.inf)
    q[mdp.pair_state, mdp.pair_action] = _backup(mdp, values, gamma, 0.0)
    return q


def _policy_iteration(mdp: MDP, gamma: float) -> Array:
    """v*: evaluate, improve where something is truly better, until nothing is."""
    values = np.zeros(mdp.n_states)
    chosen = mdp.state_offsets[:-1].copy()
    for _ in range(MOST_POLICIES):
        policy = np.zeros((mdp.n_states, mdp.n_actions))
        policy[np.arange(mdp.n_states), mdp.pair_action[chosen]] = 1.0
        values = policy_values(mdp, policy, gamma)
        pairs = _backup(mdp, values, gamma, 0.0)
        best = np.maximum.reduceat(pairs, mdp.state_offsets[:-1])
        better = best > pairs[chosen] + 1e-12 * max(1.0, float(np.abs(values).max()))
        if not better.any():
            break
        for s in np.flatnonzero(better):
            own = slice(mdp.state_offsets[s], mdp.state_offsets[s + 1])
            chosen[s] = mdp.state_offsets[s] + int(np.argmax(pairs[own]))
    return values


def optimal_return(mdp: MDP, steps: int) -> float:
    """The best expected undiscounted return of `steps` steps; ended episodes start again."""
    values = np.zeros(mdp.n_states)
    start = mdp.start / mdp.start.sum()
    for _ in range(steps):
        pairs = _backup(mdp, values, 1.0, float(start @ values))
        values = np.maximum.reduceat(pairs, mdp.state_offsets[:-1])
    return float(start @ values)


def optimal_gain(mdp: MDP, tolerance: float = 1e-9) -> float:
    """The best long-run average reward per step; ended episodes start again.

    Value iteration in which every second step, on average, nothing happens: that keeps episodes of
    one length from ringing on for ever, and halves the gain. It lies between the smallest and the
    largest change of a value (Odoni 1969); where those do not meet, the best average depends on the
    start, and that is a `BadInput`. An MDP with an `episode_limit` is taken without it.

    >>> from countless.envs.domains import deepsea
    >>> round(optimal_gain(deepsea(10)), 6)  # 0.99 in every ten steps
    0.099
    """
    values = np.zeros(mdp.n_states)
    start = mdp.start / mdp.start.sum()
    scale = max(1e-300, float(np.abs(mdp.reward).max()))
    for _ in range(MOST_SWEEPS):
        pairs = _backup(mdp, values, 1.0, float(start @ values))
        change = (np.maximum.reduceat(pairs, mdp.state_offsets[:-1]) - values) / 2.0
        if float(np.ptp(change)) <= tolerance * scale:
            return float(change.max() + change.min())
        values += change - change.min()
    raise BadInput(
        f"{mdp.name}: the best average reward is not the same from every state, or not found within "
        f"{MOST_SWEEPS:,} sweeps"
    )


def policy_return(mdp: MDP, policy: Array, steps: int) -> float:
    """The expected undiscounted return of `steps` steps under a policy; episodes start again."""
    values = np.zeros(mdp.n_states)
    start = mdp.start / mdp.start.sum()
    weight = policy[mdp.pair_state, mdp.pair_action]
    for _ in range(steps):
        pairs = weight * _backup(mdp, values, 1.0, float(start @ values))
        values = np.add.reduceat(pairs, mdp.state_offsets[:-1])
    return float(start @ values)
