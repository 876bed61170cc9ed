"""Bonuses by name: the built-in ones, and those that other packages offer as entry points.

A package of your own plugs a bonus in by an entry point in the group `countless.bonuses` that names
a `BonusKind`:

    [project.entry-points."countless.bonuses"]
    my-bonus = "my_package.bonus:KIND"
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, fields
from functools import cache
from importlib import import_module
from importlib.metadata import entry_points
from typing import Any

from countless.bonuses.protocol import Bonus
from countless.bonuses.spec import Observations, as_observations
from countless.core.errors import BadInput, unknown_name
from countless.core.seeding import check_seed

GROUP = "countless.bonuses"
KINDS = ("states", "vector", "image")


@dataclass(frozen=True)
class BonusKind:
    """A bonus in the registry: its parameters (a frozen dataclass) and how one is made.

    `make(observations, parameters, seed=..., device=..., **more)` gets an `Observations`.
    """

    name: str
    summary: str
    parameters: type[Any]
    make: Callable[..., Bonus]
    observations: tuple[str, ...] = KINDS
    needs_torch: bool = False


# Modules are imported when their bonus is asked for: torch is slow, and may not be there.
_BUILT_IN = {
    "counts": "countless.bonuses.counts",
    "cts": "countless.bonuses.cts",
    "pixelcnn": "countless.bonuses.pixelcnn",
    "rnd": "countless.bonuses.rnd",
    "sr-norm": "countless.bonuses.sr_norm",
    "ssr": "countless.bonuses.ssr",
}


def bonus_names() -> list[str]:
    """The names of all bonuses, the built-in ones first."""
    return [*_BUILT_IN, *sorted(set(_entry_points()) - set(_BUILT_IN))]


@cache
def _entry_points() -> dict[str, Any]:
    return {point.name: point for point in entry_points(group=GROUP)}


def bonus_kind(name: str) -> BonusKind:
    """The entry of a name.

    >>> bonus_kind("counts").observations
    ('states', 'vector', 'image')
    """
    if name in _BUILT_IN:
        kind = import_module(_BUILT_IN[name]).KIND
    elif name in _entry_points():
        point = _entry_points()[name]
        try:
            kind = point.load()
        except Exception as error:
            raise BadInput(f"bonus {name!r}: {point.value} cannot be loaded: {error}") from error
    else:
        raise unknown_name("bonus", name, bonus_names())
    if not isinstance(kind, BonusKind):
        raise BadInput(f"bonus {name!r}: the entry point must name a BonusKind, not {kind!r}")
    return kind


def make_parameters(kind: BonusKind, given: dict[str, Any]) -> Any:
    """The parameters of a bonus with `given` in place of defaults, checked."""
    known = [item.name for item in fields(kind.parameters)]
    for key in given:
        if key not in known:
            raise BadInput(
                f"{kind.name} has no parameter {key!r}; its parameters: {', '.join(known)}"
            )
    return kind.parameters(**given)


def make_bonus(
    name: str,
    observations: Any,
    *,
    seed: int = 0,
    device: str = "cpu",
    key: Callable[[Any], Any] | None = None,
    **parameters: Any,
) -> Bonus:
    """A bonus by name, for observations given as a number of states, a shape or a space.

    `key` (for `counts`) maps one observation to what is counted. Torch modules live on `device`.

    >>> bonus = make_bonus("counts", 6, beta=2.0)
    >>> bonus.observe([3, 3]).tolist()
    [2.0, 1.414213562373095]
    """
    kind = bonus_kind(name)
    spec = as_observations(observations)
    check_kind(kind, spec)
    more: dict[str, Any] = {} if key is None else {"key": key}
    if key is not None and name != "counts":
        raise BadInput(f"{name} takes no key; only counts does")
    return kind.make(
        spec, make_parameters(kind, parameters), seed=check_seed(seed), device=device, **more
    )


def check_kind(kind: BonusKind, spec: Observations) -> None:
    """The bonus can be had for observations like these, or a `BadInput`."""
    if spec.kind not in kind.observations:
        words = {
            "states": "state indices",
            "vector": "vectors",
            "image": "images (H, W) or (C, H, W)",
        }
        takes = " or ".join(words[word] for word in kind.observations)
        raise BadInput(f"{kind.name} takes {takes}, not {words[spec.kind]}")
