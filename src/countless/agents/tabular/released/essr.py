"""The released ESSR, draw for draw and operation for operation.

What it plans is in the head of `kernels/essr_released_planner.py`. Here sums run over all states in
its order, and the substochastic SR is inverted by NumPy itself: two actions may tie up to rounding, and
then the last bit decides what it does next. Two short cuts change no bit: best actions are
looked for again only where the values have moved too far to be sure of them, and sweeps end where they
change nothing.
"""

from __future__ import annotations

import math
from typing import NamedTuple

import numpy as np
from numba import njit, objmode
from numpy.typing import NDArray

from countless.agents.tabular.kernels.essr_model import BETA, EPSILON, GAMMA, PSEUDO
from countless.agents.tabular.kernels.essr_released_planner import MOST_SWEEPS, THETA, close
from countless.agents.tabular.kernels.ssr_bonus import COUNTS, SSR
from countless.agents.tabular.released.sarsa import released_start
from countless.agents.tabular.released.twister import numpy_below, python_below, uniform_53

MOST_ROUNDS = 10_000_000


class Learned(NamedTuple):
    """The learned model, values and policy of a run."""

    moves: NDArray[np.float64]  # (S, S) n(s, s')
    samples: NDArray[np.float64]  # (S, A, S) with the pseudo-samples
    reward: NDArray[np.float64]  # (S, A, S) running means
    payoff: NDArray[np.float64]  # (S, A, S) with the bonus
    chance: NDArray[np.float64]  # (S, A, S)
    rows: NDArray[np.float64]  # (S, S)
    value: NDArray[np.float64]  # (S,)
    policy: NDArray[np.int64]  # (S,)
    ties: NDArray[np.int64]  # (S, A)
    n_ties: NDArray[np.int64]  # (S,)
    q: NDArray[np.float64]  # (A,)


@njit(cache=True)
def _new(states, actions, pseudo):
    return Learned(
        np.zeros((states, states)),
        np.full((states, actions, states), pseudo),
        np.zeros((states, actions, states)),
        np.zeros((states, actions, states)),
        np.full((states, actions, states), 1.0 / states),
        np.zeros((states, states)),
        np.zeros(states),
        np.zeros(states, dtype=np.int64),
        np.zeros((states, actions), dtype=np.int64),
        np.zeros(states, dtype=np.int64),
        np.zeros(actions),
    )


@njit(error_model="numpy", cache=True)
def _sweep(x, gamma, epsilon):
    """Policy evaluation in place; the policy's own row stands for every action of the soft policy."""
    states, actions = len(x.value), x.chance.shape[1]
    largest = 0.0
    for s in range(states):
        chance, payoff = x.chance[s, x.policy[s]], x.payoff[s, x.policy[s]]
        total = 0.0
        for j in range(states):
            target = payoff[j] + gamma * x.value[j]
            if epsilon == 0.0:
                total += chance[j] * target
            else:
                for a in range(actions):
                    share = epsilon / actions
                    if a == x.policy[s]:
                        share = 1.0 - epsilon + epsilon / actions
                    total += share * chance[j] * target
        largest = max(largest, abs(x.value[s] - total))
        x.value[s] = total
    return largest


@njit(error_model="numpy", cache=True)
def _look(x, gamma):
    """The best actions of every state; returns by how much they lead (0 for a tie by accident)."""
    states, actions = len(x.value), x.chance.shape[1]
    lead, q = math.inf, x.q
    for s in range(states):
        for a in range(actions):
            q[a] = 0.0
            for j in range(states):
                q[a] += x.chance[s, a, j] * (x.payoff[s, a, j] + gamma * x.value[j])
        best = q.max()
        x.n_ties[s] = 0
        for a in range(actions):
            if q[a] < best:
                lead = min(lead, best - q[a])
                continue
            x.ties[s, x.n_ties[s]] = a
            x.n_ties[s] += 1
            first = x.ties[s, 0]
            for j in range(states):
                same = x.chance[s, a, j] == x.chance[s, first, j]
                if not (same and x.payoff[s, a, j] == x.payoff[s, first, j]):
                    lead = 0.0
    return lead


@njit(error_model="numpy", cache=True)
def _plan(x, gamma, epsilon, legacy):
    """Policy iteration until their test is met; False if it never is."""
    lead, moved, change = 0.0, math.inf, math.inf
    sweeps = 0
    for _ in range(MOST_ROUNDS):
        if lead == 0.0 or change > 0.0:
            change = math.inf
            while change > THETA:
                change = _sweep(x, gamma, epsilon)
                moved += change
                sweeps += 1
                if sweeps > MOST_SWEEPS:
                    return False
        if lead <= 2.1 * gamma * moved:
            lead = _look(x, gamma)
            moved = 0.0
        stable = True
        for s in range(len(x.value)):
            old = x.policy[s]
            x.policy[s] = x.ties[s, numpy_below(legacy, x.n_ties[s])]
            stable = stable and close(x.value, old, x.policy[s])
        if stable:
            return True
    return False


@njit(error_model="numpy", cache=True)
def _learn(x, options, gamma, beta, pseudo, s, a, s_next, reward):
    """Counts, reward means, the SSR; returns the norm at s."""
    source = options.source
    states = len(x.value)
    x.moves[s, s_next] += 1.0
    x.samples[s, a, s_next] += 1.0
    seen = x.samples[s, a, s_next] - pseudo
    x.reward[s, a, s_next] = ((seen - 1.0) * x.reward[s, a, s_next] + reward) / seen
    x.chance[s, a] = x.samples[s, a] / x.samples[s, a].sum()
    x.rows[s] = x.moves[s] / (x.moves[s].sum() + 1.0)
    norm = np.ones(states)
    if source == SSR:
        matrix = np.eye(states) - gamma * x.rows
        with objmode(norm="float64[:]"):
            norm = np.dot(np.linalg.inv(matrix), np.ones(len(matrix)))
    elif source == COUNTS:
        for j in range(states):
            left = x.moves[j].sum()
            if left > 0.0:
                norm[j] = (1.0 + gamma) - gamma / (left + 1.0)
    weight = beta if source in (SSR, COUNTS) else 0.0
    for i in range(states):
        for b in range(x.samples.shape[1]):
            for j in range(states):
                intrinsic = norm[j] if options.on_entered else norm[i]
                x.payoff[i, b, j] = x.reward[i, b, j] + weight * -intrinsic
    return norm[s]


@njit(error_model="numpy", nogil=True, cache=True)
def released_essr(mdp, options, setting, steps, draws, returns, trace):
    """Runs of the released script, in order; `draws` go on where they stood."""
    python, legacy, start = draws.python, draws.legacy, draws.start
    states, width, depth = len(mdp.n_slots), len(mdp.slots), len(mdp.outcomes)
    gamma, beta, epsilon, pseudo = setting[GAMMA], setting[BETA], setting[EPSILON], setting[PSEUDO]
    if start[0] < 0:
        start[0] = released_start(mdp, python, 0)
    for run in range(len(returns)):
        x = _new(states, width, pseudo)
        for j in range(states):
            x.policy[j] = numpy_below(legacy, width)
        s = start[0]
        for t in range(steps):
            a = x.policy[s]
            if uniform_53(python) / 2.0**53 < epsilon:
                a = (width - 1) * python_below(python, 2)
            cell = (s * width + a) * depth
            u = uniform_53(python)
            while u >= mdp.threshold[cell]:
                cell += 1
            s_next, reward = np.int64(mdp.next_state[cell]), mdp.reward[cell]
            returns[run] += reward
            value = x.value[s]
            norm = _learn(x, options, gamma, beta, pseudo, s, a, s_next, reward)
            if trace.shape[0] > 0:
                trace[run, t, 0], trace[run, t, 1], trace[run, t, 2] = s, a, reward
                trace[run, t, 3], trace[run, t, 4] = norm, value
            if not _plan(x, gamma, epsilon, legacy):
                return False
            s = s_next
        start[0] = released_start(mdp, python, s)
    return True
