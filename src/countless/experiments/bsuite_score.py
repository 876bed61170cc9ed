"""When bsuite calls DeepSea solved, and how it scores an agent (`bsuite/experiments/deep_sea`).

An episode is bad that leaves the diagonal, which is one without the treasure. bsuite looks at the share
of bad episodes among all so far at a few episodes, about a dozen per power of ten.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

EPISODES = 10_000
SIZES = tuple(range(10, 51, 2))
RATIOS = (10, 12, 14, 17, 20, 25, 30, 40, 50, 60, 70, 80, 90)
MOST_BAD = 0.9
FORGIVENESS = 100  # episodes beyond 2^N that an agent may take


def logged_episodes(most: int = EPISODES) -> NDArray[np.int64]:
    """The episodes after which bsuite looks.

    >>> logged_episodes(30).tolist()
    [1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 12, 14, 17, 20, 25, 30]
    """
    tenths = {ratio * 10**k for ratio in RATIOS for k in range(len(str(most)))}
    found = sorted({n // 10 for n in tenths if n % 10 == 0 and n // 10 <= most})
    return np.array(found, np.int64)


def solution(bad: Sequence[int] | NDArray[np.int64], most: int = EPISODES) -> int | None:
    """The episode at which a run is solved; None if never. `bad` is how many were bad at each look.

    >>> solution([1, 1, 1])  # one bad episode, then two good ones
    2
    """
    episodes = logged_episodes(most)[: len(bad)]
    held = np.asarray(bad) / episodes < MOST_BAD
    return int(episodes[held.argmax()]) if held.any() else None


def solution_of_wins(wins: NDArray[np.bool_], most: int, solved: bool) -> int | None:
    """The same from whether each episode found the treasure.

    A run that was ended as solved, with enough good episodes, counts at the next look.
    """
    episodes = logged_episodes(most)
    seen = episodes[episodes <= len(wins)]
    bad = np.arange(1, len(wins) + 1) - np.cumsum(wins)
    found = solution(bad[seen - 1], most)
    later = episodes[episodes > len(wins)]
    return int(later[0]) if found is None and solved and len(later) else found


def beats_dithering(size: int, episode: int | None) -> bool:
    """Whether a run was solved sooner than random acting would, by about 2^N episodes."""
    return episode is not None and episode < 2**size + FORGIVENESS
