"""Whatever a file holds, a reader answers with a value or one clean line, soon, in little memory."""

import json
import resource
import time
from collections import Counter

from countless.core.errors import CountlessError
from faults.corpus import READERS, inputs

MOST_SECONDS = 2.0  # for one input, other work on the machine included
MOST_BYTES = 300e6  # that the process grows by, over all inputs


def test_spoiled_inputs(long_form):
    count = 1_000_000 if long_form else 4_000
    seen, refused, slowest = Counter(), Counter(), 0.0
    for name, (content, read, _) in READERS.items():
        read(content)  # which is right as it is
        seen[name] = refused[name] = 0
    before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    began = time.perf_counter()
    for name, content in inputs(7, count):
        start = time.perf_counter()
        try:
            READERS[name][1](content)
        except CountlessError:
            refused[name] += 1
        except Exception as error:
            raise AssertionError(f"{name}: {content!r}") from error
        slowest = max(slowest, time.perf_counter() - start)
        seen[name] += 1
    seconds = time.perf_counter() - began
    grown = (resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - before) * 1024
    assert slowest < MOST_SECONDS
    assert grown < MOST_BYTES
    assert all(seen.values())
    print(json.dumps({"inputs": count, "per second": round(count / seconds), "by reader": seen,
                      "refused": refused, "slowest ms": round(1000 * slowest, 1),
                      "memory grown MB": round(grown / 1e6, 1)}))  # fmt: skip
