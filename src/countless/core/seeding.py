"""One `SeedSequence` tree: run *i* of configuration *c* under seed *s* has a stream of its own.

A configuration is known by a digest of what it *is* (agent, parameters, MDP), not by its place in
a list. So a run has the same bits alone, in a sweep, on any number of threads and in any order,
and two seeds, two configurations or two runs never share a stream.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Iterable, Mapping
from typing import Any

import numpy as np

from countless.core.errors import BadInput, named


def digest(content: Mapping[str, Any]) -> str:
    """A stable hexadecimal name for a JSON-like mapping: same content, same name, on any machine.

    >>> digest({"a": 1, "b": 2}) == digest({"b": 2, "a": 1})
    True
    """
    text = json.dumps(content, sort_keys=True, separators=(",", ":"))
    return hashlib.blake2b(text.encode(), digest_size=16).hexdigest()


def stream_key(content: Mapping[str, Any]) -> tuple[int, int]:
    """Two 32-bit words that name a configuration in the tree of seeds."""
    name = digest(content)
    return int(name[:8], 16), int(name[8:16], 16)


def check_seed(seed: object, bits: int = 63, option: str = "seed") -> int:
    """A seed as a non-negative integer of so many bits: records keep it as a signed number of 64.

    `option` is what the error names: where the seed was given.
    """
    if isinstance(seed, bool) or not isinstance(seed, int | np.integer) or not 0 <= seed < 2**bits:
        raise BadInput(
            f"{named(option)} must be a whole number from 0 to 2^{bits} - 1, not {seed!r}"
        )
    return int(seed)


def check_seeds(seeds: Iterable[object]) -> tuple[int, ...]:
    """The seeds, each of them given once."""
    checked = tuple(check_seed(seed, option="seeds") for seed in seeds)
    if len(set(checked)) < len(checked):
        raise BadInput(f"{named('seeds')} names a seed twice: {' '.join(map(str, checked))}")
    return checked


def derived_seed(seed: int, purpose: str) -> int:
    """A seed for another purpose: no seed that a person would give meets it.

    >>> derived_seed(0, "again") == derived_seed(1, "again")
    False
    """
    return int(digest({"seed": seed, "purpose": purpose})[:12], 16)


def seed_words(seed: int) -> np.ndarray[tuple[int], np.dtype[np.uint32]]:
    """The seed as `SeedSequence` sees it when a spawn key follows: 32-bit words, padded to four."""
    return np.array([seed & 0xFFFFFFFF, seed >> 32, 0, 0], dtype=np.uint32)


def run_stream(seed: int, key: tuple[int, int], run: int) -> np.random.SFC64:
    """The bit generator of one run: what the compiled kernels replay, as NumPy's own object.

    >>> run_stream(0, (1, 2), 0).random_raw() == run_stream(0, (1, 2), 1).random_raw()
    False
    """
    return np.random.SFC64(np.random.SeedSequence(seed, spawn_key=(*key, run)))
