"""ESSR as the released code plans: policy iteration from a random policy, and its stopping test.

After every step: sweeps of policy evaluation in place, from the last values, until none changes by
more than 0.01; then every state takes one of its best actions, ties broken at random; until the policy
is "stable". Their test calls a change from action a to b stable where |V(a) - V(b)| <= 0.01: it
compares the values of the *states* numbered like the two actions. With tied actions the policy so goes
on changing until all states happen to draw close ones at once.

Best actions (within 1e-9 of the scale of values) are looked for again only when the values have moved
by more than the smallest lead can bear. After `LITERAL` rounds each state gets a pair of close actions,
as the round in which they stop would have it, and values as many rounds would have left them: in
larger MDPs that round may never come. `released/essr.py` is the released code, draw by draw.
"""

from __future__ import annotations

import math
from typing import NamedTuple

import numpy as np
from numba import njit
from numpy.typing import NDArray

from countless.agents.tabular.kernels.environment import advance, reset, uniform
from countless.agents.tabular.kernels.essr_model import (
    EPSILON,
    Options,
    act_and_learn,
    backup,
    explored,
    fill_row,
    new_model,
    value_tolerance,
)
from countless.agents.tabular.kernels.evaluation_sweeps import (
    Sweeps,
    new_sweeps,
    sweep_times,
    sweep_until_stable,
)
from countless.agents.tabular.kernels.run_loop import record, runs_with

THETA = 0.01
LITERAL = 10  # rounds until their end is drawn
CONVERGED = 1024  # sweeps: 0.95^1024 is below the last bit
MOST_SWEEPS = 1_000_000


class ReleasedPlanning(NamedTuple):
    """ESSR that plans as the released code does."""

    shared: Options


class Planner(NamedTuple):
    """Values, the policy and the one before it, and the best actions of every state."""

    value: NDArray[np.float64]  # (S,)
    policy: NDArray[np.int64]  # (S,)
    last: NDArray[np.int64]  # (S,)
    ties: NDArray[np.int64]  # (S, A) the first n_ties[s] of a row
    n_ties: NDArray[np.int64]  # (S,)
    q: NDArray[np.float64]  # (A,)
    sweeps: Sweeps


@njit(cache=True)
def _new_planner(states, width):
    return Planner(
        np.zeros(states),
        np.zeros(states, dtype=np.int64),
        np.zeros(states, dtype=np.int64),
        np.zeros((states, width), dtype=np.int64),
        np.zeros(states, dtype=np.int64),
        np.zeros(width),
        new_sweeps(states),
    )


@njit(cache=True)
def _below(n, stream):
    """A draw from 0, ..., n - 1; none for n = 1."""
    if n == 1:
        return np.int64(0)
    return min(np.int64(uniform(stream) * n), np.int64(n - 1))


@njit(error_model="numpy", cache=True)
def _follow(mdp, model, s, slot, sweeps):
    """Let the sweeps evaluate `slot` in s."""
    i = s * len(mdp.slots) + slot
    sweeps.levels[0] = 0
    sweeps.reward[s] = model.payoff[i]
    fill_row(mdp, model, i, model.gamma, sweeps.row[s])


@njit(cache=True)
def _same(mdp, model, i, j):
    """Whether two pairs were seen to do the same, so that they tie whatever the values."""
    next_state, depth = mdp.next_state, len(mdp.outcomes)
    count, samples, payoff = model.counts.outcome, model.counts.pair, model.payoff
    if samples[i] != samples[j] or payoff[i] != payoff[j]:
        return False
    for cell in range(i * depth, (i + 1) * depth):
        if count[cell] > 0.0:
            found = False
            for other in range(j * depth, (j + 1) * depth):
                if next_state[other] == next_state[cell]:
                    found = found or count[other] == count[cell]
            if not found:
                return False
    return True


@njit(error_model="numpy", cache=True)
def _find_ties(mdp, model, planner, tolerance):
    """The best actions of every state; returns by how much they lead (0 for a tie by accident)."""
    value, ties, q = planner.value, planner.ties, planner.q
    width = len(mdp.slots)
    lead, value_sum = math.inf, value.sum()
    for s in range(len(value)):
        n = int(mdp.n_slots[s])
        best = -math.inf
        for slot in range(n):
            q[slot] = backup(mdp, model, value, value_sum, s * width + slot)
            best = max(best, q[slot])
        found = 0
        for slot in range(n):
            if q[slot] >= best - tolerance:
                ties[s, found] = slot
                found += 1
                if not _same(mdp, model, s * width + ties[s, 0], s * width + slot):
                    lead = 0.0
            else:
                lead = min(lead, best - q[slot])
        planner.n_ties[s] = found
    return lead


@njit(cache=True)
def close(value, a, b):
    """The released test: actions as indices of states."""
    return a == b or abs(value[a] - value[b]) <= THETA


@njit(error_model="numpy", cache=True)
def _draw_policy(planner, stream):
    """Let every state take one of its best actions; says whether their test calls that stable."""
    stable = True
    for s in range(len(planner.value)):
        new = planner.ties[s, _below(planner.n_ties[s], stream)]
        stable = stable and close(planner.value, planner.policy[s], new)
        planner.policy[s] = new
    return stable


@njit(error_model="numpy", cache=True)
def _plan(mdp, model, planner, tolerance, stream):
    """Policy iteration until their test is met; False if the values do not converge."""
    value, policy, last, sweeps = planner.value, planner.policy, planner.last, planner.sweeps
    states, width = len(value), len(mdp.slots)
    for s in range(states):
        _follow(mdp, model, s, policy[s], sweeps)
    lead, moved = 0.0, math.inf
    for round_ in range(LITERAL + 1):
        change = sweep_until_stable(sweeps, value, THETA, MOST_SWEEPS)
        if change < 0.0:
            return False
        moved += change
        if round_ == LITERAL:
            sweep_times(sweeps, value, CONVERGED)
            moved = math.inf
        if lead <= 2.1 * model.gamma * moved + 2.0 * tolerance:
            lead = _find_ties(mdp, model, planner, tolerance)
            moved = 0.0
        last[:] = policy
        if _draw_policy(planner, stream):
            return True
        for s in range(states):
            i, j = s * width + last[s], s * width + policy[s]
            if i != j and not _same(mdp, model, i, j):
                moved = math.inf
                _follow(mdp, model, s, policy[s], sweeps)
    for s in range(states):
        while not close(value, last[s], policy[s]):
            last[s] = planner.ties[s, _below(planner.n_ties[s], stream)]
            policy[s] = planner.ties[s, _below(planner.n_ties[s], stream)]
    return True


@runs_with(ReleasedPlanning)
def _run(mdp, options, setting, steps, stream, trace):
    shared = options.shared
    epsilon, tolerance = setting[EPSILON], value_tolerance(shared, setting)
    model, planner = new_model(mdp, setting), _new_planner(len(mdp.n_slots), len(mdp.slots))
    s = reset(mdp, stream)
    for j in range(len(planner.policy)):
        planner.policy[j] = _below(int(mdp.n_slots[j]), stream)
    age = 0
    result = 0.0
    for t in range(steps):
        slot = planner.policy[s]
        u = uniform(stream)
        if u < epsilon:
            slot = explored(int(mdp.n_slots[s]), u / epsilon, shared.ends_only)
        cell = act_and_learn(mdp, model, shared, s, slot, stream)
        reward = mdp.reward[cell]
        result += reward
        record(trace, t, s, slot, reward, model.bonus.norm[s], planner.value[s])
        if not _plan(mdp, model, planner, tolerance, stream):
            return result, False
        s, age = advance(mdp, cell, age, stream)
    return result, True
