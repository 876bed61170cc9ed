"""How arrays travel to the page: a JSON header, then 32-bit floats, one array after the other."""

from __future__ import annotations

import json
import struct
from collections.abc import Mapping
from typing import Any

import numpy as np
from numpy.typing import NDArray

Arrays = Mapping[str, NDArray[np.float64]]


def pack(header: Mapping[str, Any], arrays: Arrays) -> bytes:
    """The length of the header (four bytes, little-endian), the header, the numbers.

    `header["arrays"]` says where each array begins, counted in floats, and its shape. The header is
    padded with spaces so that the numbers begin at a multiple of four.

    >>> len(pack({}, {"x": np.zeros(3)})) % 4
    0
    """
    places: dict[str, Any] = {}
    offset = 0
    for name, array in arrays.items():
        places[name] = {"offset": offset, "shape": list(array.shape)}
        offset += array.size
    text = json.dumps({**header, "arrays": places}, allow_nan=False).encode()
    text += b" " * (-len(text) % 4)
    numbers = [np.ascontiguousarray(array, dtype="<f4").tobytes() for array in arrays.values()]
    return struct.pack("<I", len(text)) + text + b"".join(numbers)
