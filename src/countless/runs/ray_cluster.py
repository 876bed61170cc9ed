"""A connection to Ray, and what its nodes offer."""

from __future__ import annotations

import contextlib
import math
import os
import signal
from collections.abc import Iterator
from dataclasses import dataclass
from importlib.util import find_spec
from typing import Any

from countless.core.errors import BadInput, install_hint, named

# Records go to the disk: Ray's store of objects holds next to nothing, and /dev/shm may be small.
OBJECT_STORE = 100_000_000
LOCAL = "local"
SIGNALS = (signal.SIGINT, signal.SIGTERM)


def require_ray() -> None:
    """A clear error where Ray is not installed."""
    if find_spec("ray") is None:
        raise BadInput(
            f"{named('engine', 'ray')} needs Ray, which is not installed: {install_hint('ray')}"
        )


def connect(address: str | None) -> None:
    """Join the cluster at `address`, or start Ray on this machine; it ends with this process.

    Without an address the environment variable RAY_ADDRESS counts. A process that is connected
    already stays so.
    """
    require_ray()
    os.environ.setdefault("RAY_USAGE_STATS_ENABLED", "0")  # nothing is sent anywhere
    import ray

    if ray.is_initialized():
        joined = ray.get_runtime_context().gcs_address
        if address not in (None, LOCAL, "auto", joined):
            raise BadInput(
                f"this process is connected to Ray at {joined} already; leave {named('address')} out, "
                "or call ray.shutdown() first"
            )
        return
    address = address or os.environ.get("RAY_ADDRESS") or LOCAL
    if address.startswith("ray://"):
        raise BadInput(
            f"{named('address')} {address}: run the command on a node of the cluster, with the address "
            "HOST:PORT of its head or auto; ray:// would keep its store on another machine"
        )
    quiet: dict[str, Any] = {"log_to_driver": False, "logging_level": "ERROR"}
    if address == LOCAL:
        quiet |= {"object_store_memory": OBJECT_STORE, "include_dashboard": False}
    with _own_signals():
        try:
            ray.init(address=address, **quiet)
        except (ConnectionError, ValueError, RuntimeError) as error:
            reason = str(error).split("\n")[0].rstrip(".")
            raise BadInput(
                f"there is no Ray cluster to join at {address} ({reason}); start one with "
                "`ray start --head --port=6379` (docs/cluster.md)"
            ) from None
    # Ray prints the death of a node on stdout, where programs read our JSON; the engine tells of it.
    ray._private.worker._worker_logs_enabled = False


@contextlib.contextmanager
def _own_signals() -> Iterator[None]:
    """Ray sets handlers of its own, which would end the process before its jobs are saved."""
    try:
        before = {number: signal.getsignal(number) for number in SIGNALS}
        yield
        for number, handler in before.items():
            signal.signal(number, handler)
    except ValueError:  # not the main thread, which alone has handlers
        pass


@dataclass(frozen=True)
class Needs:
    """What one task takes; Ray only schedules by it and enforces none of it."""

    cpus: float
    gpus: float = 0.0
    memory: int = 0  # bytes

    def options(self) -> dict[str, Any]:
        """As options of a Ray task."""
        memory = {"memory": self.memory} if self.memory else {}
        return {"num_cpus": self.cpus, "num_gpus": self.gpus, **memory}

    def fits(self, offer: dict[str, float]) -> int:
        """How many such tasks a node has room for."""
        rooms = [
            offer.get(name, 0.0) / wanted
            for name, wanted in (("CPU", self.cpus), ("GPU", self.gpus), ("memory", self.memory))
            if wanted
        ]
        return math.floor(min(rooms)) if rooms else 1

    def __str__(self) -> str:
        gpus = f", {self.gpus:g} GPUs" if self.gpus else ""
        memory = f", {self.memory / 1e9:.1f} GB" if self.memory else ""
        return f"{self.cpus:g} CPUs{gpus}{memory}"


def offers() -> list[dict[str, float]]:
    """What each node that is alive has in all."""
    import ray

    nodes = ray.nodes()  # type: ignore[no-untyped-call]
    return [dict(node["Resources"]) for node in nodes if node["Alive"]]


def slots(needs: Needs) -> int:
    """How many such tasks run at once; a `BadInput` if no node has room for one."""
    there = offers()
    rooms = sum(needs.fits(offer) for offer in there)
    if rooms == 0:
        has = "; ".join(
            f"{offer.get('CPU', 0):g} CPUs, {offer.get('GPU', 0):g} GPUs, "
            f"{offer.get('memory', 0) / 1e9:.1f} GB"
            for offer in there
        )
        raise BadInput(
            f"a job needs {needs}, and no node of the cluster has that (they have {has}); see "
            f"{named('cpus_per_job')}, {named('gpus_per_job')}, {named('memory_per_job')}"
        )
    return rooms
