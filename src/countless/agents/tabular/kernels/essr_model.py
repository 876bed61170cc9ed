"""The model that ESSR plans in, exactly or as the released code does.

A pair without samples is uniform over the states and pays nothing; `pseudo` samples are added to every
(s, a, s'), 0 or 1.
"""

from __future__ import annotations

from typing import NamedTuple

from numba import njit

# Columns of the table of settings.
GAMMA, BETA, EPSILON, PSEUDO = 0, 1, 2, 3


class Options(NamedTuple):
    """What the settings of one kernel call share."""

    source: int  # of the bonus: SSR, COUNTS or NOTHING
    on_entered: bool  # the bonus belongs to the state entered, not to the state left
    ends_only: bool  # epsilon explores the first and the last action only
    scale: float  # how large rewards are


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
def set_payoffs(mdp, bonus, on_entered, count, samples, pseudo, payoff):
    """payoff(s, a) = sum over s' of T(s') (r(s, a, s') + penalty), at the state entered or left."""
    states, width, depth = len(mdp.n_slots), len(mdp.slots), len(mdp.outcomes)
    reward, next_state, penalty = mdp.reward, mdp.next_state, bonus.penalty
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
def expected_value(next_state, ends, count, first, last, mass, pseudo, value, value_sum):
    """sum over s' of T(s') V(s'); an ended episode is worth nothing."""
    if mass == 0.0:
        return value_sum / len(value)
    total = pseudo * value_sum
    for cell in range(first, last):
        if not ends[cell]:
            total += count[cell] * value[next_state[cell]]
    return total / mass
