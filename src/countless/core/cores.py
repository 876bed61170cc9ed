"""How many cores there are for us."""

import os


def usable_cores() -> int:
    """The cores this process may use: a container or `taskset` may leave it fewer than there are.

    >>> usable_cores() >= 1
    True
    """
    return len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1
