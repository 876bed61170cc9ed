"""Exact planning in a learned model, warm: policy iteration that changes one row at a time.

A plan holds, for the current policy, its transition rows P, its rewards r, V = (I - gamma P)^-1 r and
that inverse. A new sample, or a better action, replaces one row: the inverse changes by a matrix of
rank one and V along one column. So a step of learning costs O(|S|^2), most often less, where value
iteration would sweep until a change has decayed.
"""

from __future__ import annotations

import math
from typing import NamedTuple

import numpy as np
from numba import njit
from numpy.typing import NDArray

from countless.core.substochastic import invert, replace_row

MOST_PASSES = 1000
REFRESH = 2000  # rank-one updates until the inverse is computed from scratch


class Counts(NamedTuple):
    """What was seen of the MDP: samples of every outcome and pair, and the rewards of every pair."""

    outcome: NDArray[np.float64]  # (S * A * K,)
    pair: NDArray[np.float64]  # (S * A,)
    reward: NDArray[np.float64]  # (S * A,) sums


@njit(cache=True)
def new_counts(mdp):
    """Nothing seen yet."""
    pairs = len(mdp.n_slots) * len(mdp.slots)
    return Counts(np.zeros(pairs * len(mdp.outcomes)), np.zeros(pairs), np.zeros(pairs))


@njit(cache=True)
def count_sample(counts, i, cell, reward):
    """Count an outcome of pair i."""
    counts.outcome[cell] += 1.0
    counts.pair[i] += 1.0
    counts.reward[i] += reward


class Plan(NamedTuple):
    """A policy, what it is worth, and the inverse that says so."""

    policy: NDArray[np.int64]  # (S,) slots
    rows: NDArray[np.float64]  # (S, S)
    reward: NDArray[np.float64]  # (S,)
    value: NDArray[np.float64]  # (S,)
    inverse: NDArray[np.float64]  # (S, S)
    q: NDArray[np.float64]  # (S, A)
    row: NDArray[np.float64]  # (S,) the row to put in
    work: NDArray[np.float64]  # (S,)
    updates: NDArray[np.int64]  # (1,) since the inverse was computed from scratch


@njit(cache=True)
def new_plan(states, width, value):
    """A plan in which every state is worth `value`, whatever happens next."""
    return Plan(
        np.zeros(states, dtype=np.int64),
        np.zeros((states, states)),
        np.full(states, value),
        np.full(states, value),
        np.eye(states),
        np.full((states, width), value),
        np.zeros(states),
        np.zeros(states),
        np.zeros(1, dtype=np.int64),
    )


@njit(cache=True)
def evaluate(plan, gamma):
    """V = inverse r, from scratch; the inverse too, once it has been changed often."""
    if plan.updates[0] >= REFRESH:
        invert(plan.rows, gamma, plan.inverse)
        plan.updates[0] = 0
    for i in range(len(plan.value)):
        total = 0.0
        for j in range(len(plan.value)):
            total += plan.inverse[i, j] * plan.reward[j]
        plan.value[i] = total


@njit(cache=True)
def set_row(plan, gamma, s, slot, reward):
    """Let the policy take `slot` in s, with transition row plan.row and this reward."""
    row, value, inverse = plan.row, plan.value, plan.inverse
    surplus = reward - value[s]
    for j in range(len(row)):
        surplus += gamma * row[j] * value[j]
    replace_row(plan.rows, gamma, inverse, s, row, plan.work)
    plan.policy[s] = slot
    plan.reward[s] = reward
    for i in range(len(value)):
        value[i] += inverse[i, s] * surplus
    plan.updates[0] += 1
    if plan.updates[0] >= REFRESH:
        evaluate(plan, gamma)


def policy_improvement(backup, follow):
    """Policy iteration for one kind of problem: `improve(mdp, plan, problem, tolerance)`.

    For agents that plan seldom: those that plan at every step have loops of their own, because
    reading arrays out of tuples there costs more than the arithmetic.

    The kinds differ in two compiled functions: `backup(mdp, problem, value, i)` is Q of pair i, and
    `follow(mdp, plan, problem, s, slot)` lets the policy take `slot` in s.
    """

    @njit(error_model="numpy")
    def improve(mdp, plan, problem, tolerance):
        """Policy iteration from where the plan stands; False if it does not converge."""
        width = len(mdp.slots)
        n_slots, value, q = mdp.n_slots, plan.value, plan.q
        for _ in range(MOST_PASSES):
            converged = True
            for s in range(len(value)):
                high, choice = -math.inf, 0
                for slot in range(int(n_slots[s])):
                    worth = backup(mdp, problem, value, s * width + slot)
                    q[s, slot] = worth
                    if worth > high:
                        high, choice = worth, slot
                if high > value[s] + tolerance:
                    converged = False
                    follow(mdp, plan, problem, s, choice)
            if converged:
                return True
        return False

    return improve


@njit(cache=True)
def pick_best(q, n, tolerance, u):
    """The slot that a uniform u in [0, 1) picks among those within `tolerance` of the best."""
    best = q[0]
    for j in range(1, n):
        best = max(best, q[j])
    ties = 0
    for j in range(n):
        if q[j] >= best - tolerance:
            ties += 1
    pick = min(int(u * ties), ties - 1)
    for j in range(n):
        if q[j] >= best - tolerance:
            if pick == 0:
                return j
            pick -= 1
    return 0
