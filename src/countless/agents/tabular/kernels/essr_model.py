"""The model that ESSR plans in, exactly or as the released code does.

A pair without samples is uniform over the states and pays nothing; `pseudo` samples are added to every
(s, a, s'), 0 or 1.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numba import njit
from numpy.typing import NDArray

from countless.agents.tabular.kernels.environment import sample_outcome
from countless.agents.tabular.kernels.planning import Counts, count_sample, new_counts
from countless.agents.tabular.kernels.ssr_bonus import SSRBonus, new_ssr_bonus, observe

# Columns of the table of settings.
GAMMA, BETA, EPSILON, PSEUDO = 0, 1, 2, 3


class Options(NamedTuple):
    """What the settings of one kernel call share."""

    source: int  # of the bonus: SSR, COUNTS or NOTHING
    on_entered: bool  # the bonus belongs to the state entered, not to the state left
    ends_only: bool  # epsilon explores the first and the last action only
    scale: float  # how large rewards are


class Model(NamedTuple):
    """Samples, the bonus they give, and what each pair pays: rewards and bonus."""

    counts: Counts
    bonus: SSRBonus
    payoff: NDArray[np.float64]  # (S * A,)
    pseudo: float
    gamma: float
    beta: float


@njit(cache=True)
def new_model(mdp, setting):
    """Nothing seen yet."""
    states = len(mdp.n_slots)
    payoff = np.zeros(states * len(mdp.slots))
    return Model(
        new_counts(mdp),
        new_ssr_bonus(states),
        payoff,
        setting[PSEUDO],
        setting[GAMMA],
        setting[BETA],
    )


@njit(cache=True)
def value_tolerance(options, setting):
    """Values closer than this are equal."""
    gamma = setting[GAMMA]
    return 1e-9 * (options.scale + setting[BETA] / (1.0 - gamma)) / (1.0 - gamma)


@njit(cache=True)
def explored(n, part, ends_only):
    """The slot that `part` in [0, 1) picks: any of n, or the first or the last."""
    if ends_only:
        return 0 if part < 0.5 else n - 1
    return min(int(part * n), n - 1)


@njit(error_model="numpy", cache=True)
def act_and_learn(mdp, model, options, s, slot, stream):
    """Take `slot` in s; returns the cell of its outcome, the model up to date."""
    cell = sample_outcome(mdp, s, slot, stream)
    count_sample(model.counts, s * len(mdp.slots) + slot, cell, mdp.reward[cell])
    s_next = np.int64(mdp.next_state[cell])
    observe(model.bonus, options.source, model.gamma, model.beta, s, s_next)
    _set_payoffs(mdp, model, options.on_entered)
    return cell


@njit(error_model="numpy", cache=True)
def _set_payoffs(mdp, model, on_entered):
    """payoff(s, a) = sum over s' of T(s') (r(s, a, s') + penalty), at the state entered or left."""
    states, width, depth = len(mdp.n_slots), len(mdp.slots), len(mdp.outcomes)
    reward, next_state, penalty = mdp.reward, mdp.next_state, model.bonus.penalty
    count, samples, payoff = model.counts.outcome, model.counts.pair, model.payoff
    pseudo = model.pseudo
    weight = 1.0 if on_entered else 0.0
    everywhere = weight * penalty.sum()
    for s in range(states):
        fixed = 0.0 if on_entered else penalty[s]
        for slot in range(int(mdp.n_slots[s])):
            i = s * width + slot
            mass = samples[i] + pseudo * states
            if mass == 0.0:
                payoff[i] = fixed + everywhere / states
                continue
            total = pseudo * everywhere
            for cell in range(i * depth, (i + 1) * depth):
                if count[cell] > 0.0:
                    total += (count[cell] + pseudo) * reward[cell]
                    total += count[cell] * weight * penalty[next_state[cell]]
            payoff[i] = fixed + total / mass


@njit(error_model="numpy", cache=True)
def fill_row(mdp, model, i, weight, row):
    """row <- weight T(. | s, a) of pair i."""
    states, depth = len(row), len(mdp.outcomes)
    mass = model.counts.pair[i] + model.pseudo * states
    if mass == 0.0:
        row[:] = weight / states
        return
    row[:] = weight * model.pseudo / mass
    for cell in range(i * depth, (i + 1) * depth):
        if not mdp.ends[cell]:
            row[np.int64(mdp.next_state[cell])] += weight * model.counts.outcome[cell] / mass


@njit(forceinline=True, error_model="numpy")
def backup(mdp, model, value, value_sum, i):
    """Q of pair i: payoff + gamma sum over s' of T(s') V(s'); an ended episode is worth nothing."""
    depth, states = len(mdp.outcomes), len(value)
    mass = model.counts.pair[i] + model.pseudo * states
    if mass == 0.0:
        future = value_sum / states
    else:
        total = model.pseudo * value_sum
        for cell in range(i * depth, (i + 1) * depth):
            if not mdp.ends[cell]:
                total += model.counts.outcome[cell] * value[mdp.next_state[cell]]
        future = total / mass
    return model.payoff[i] + model.gamma * future
