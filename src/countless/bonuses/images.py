"""From an agent's frames to the small, quantised images that density models read."""

from __future__ import annotations

from functools import lru_cache
from typing import Any

import numpy as np
from numpy.typing import NDArray


def newest_frame(images: NDArray[Any]) -> NDArray[Any]:
    """(B, H, W) out of (B, H, W) or of stacks (B, C, H, W), where the newest frame is last."""
    return images[:, -1] if images.ndim == 4 else images


@lru_cache(maxsize=16)
def overlap(source: int, target: int) -> NDArray[np.float64]:
    """(target, source): which share of each target cell each source cell covers."""
    edges = np.arange(target + 1) * (source / target)
    low = np.maximum(edges[:-1, None], np.arange(source)[None, :])
    high = np.minimum(edges[1:, None], np.arange(1, source + 1)[None, :])
    cover = np.maximum(high - low, 0.0)
    shares: NDArray[np.float64] = cover / cover.sum(axis=1, keepdims=True)
    return shares


def area_mean(frames: NDArray[Any], size: int) -> NDArray[Any]:
    """Frames (B, H, W) at size x size, each new pixel the mean of the area it covers.

    >>> area_mean(np.array([[[0, 4], [8, 20]]], dtype=np.uint8), 1).tolist()
    [[[8.0]]]
    """
    _, height, width = frames.shape
    if height % size == 0 and width % size == 0:
        high, wide = height // size, width // size
        sums = np.zeros((len(frames), size, size), dtype=np.float32)
        for y in range(high):
            for x in range(wide):
                sums += frames[:, y::high, x::wide]
        return sums / np.float32(high * wide)
    resized: NDArray[Any] = (
        overlap(height, size) @ frames.astype(np.float64) @ overlap(width, size).T
    )
    return resized


def quantise(images: NDArray[Any], size: int, levels: int) -> NDArray[np.uint8]:
    """The newest frames (B, size, size) in grey levels 0 to levels - 1, from pixels 0 to 255.

    >>> quantise(np.array([[[0, 31, 32, 255]] * 4], dtype=np.uint8), 4, 8)[0, 0].tolist()
    [0, 0, 1, 7]
    """
    means = area_mean(newest_frame(images), size)
    return np.minimum(means * (levels / 256.0), levels - 1).astype(np.uint8)
