"""Bonuses by name: the built-in ones, and those that other packages offer as entry points.

A package of your own plugs a bonus in by an entry point in the group `countless.bonuses` that names
a `BonusKind`:

    [project.entry-points."countless.bonuses"]
    my-bonus = "my_package.bonus:KIND"
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field, fields
from functools import cache
from importlib import import_module
from importlib.metadata import entry_points
from typing import Any

from countless.bonuses.protocol import Bonus
from countless.bonuses.scaled import ScaledBonus, Scaling
from countless.core.errors import BadInput, named, unknown_name, unknown_parameter
from countless.core.observations import KINDS, ObservationReader, as_reader
from countless.core.seeding import check_seed

GROUP = "countless.bonuses"
OPTIONS = ("seed", "device", "layout", "key", "scale", "decay", "episodic")  # of `make_bonus`
SCALED_BETA = 0.3  # of a bonus in units of its SD, unless told otherwise


@dataclass(frozen=True)
class BonusKind:
    """A bonus in the registry: its parameters (a frozen dataclass) and how one is made.

    `make(observations, parameters, seed=..., device=..., **more)` gets an `ObservationReader`. `bits`
    is the version of what decides the bonus of vectors and images to the bit; a table's is 1. Where
    images are at another version, it is `image_bits`. `images` has the defaults of parameters for
    images, where they are others than the dataclass has; those named in `later` came after the rest,
    and left the bits of images as they were.
    """

    name: str
    summary: str
    parameters: type[Any]
    make: Callable[..., Bonus]
    observations: tuple[str, ...] = KINDS
    needs_torch: bool = False
    bits: int = 1
    image_bits: int | None = None
    images: Mapping[str, Any] = field(default_factory=dict)
    later: tuple[str, ...] = ()

    def version(self, *, images: bool, vectors: bool) -> dict[str, Any]:
        """What it adds to the identity of a job that shows it images, vectors, or either of them.

        The version, where it is not the first, and the defaults for images.
        """
        bits = self.bits if vectors or self.image_bits is None else self.image_bits
        version: dict[str, Any] = {} if bits == 1 else {"bonus_bits": bits}
        defaults = {name: v for name, v in self.images.items() if name not in self.later}
        return version | ({"bonus_images": defaults} if images and defaults else {})


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


def make_parameters(
    kind: BonusKind, given: Mapping[str, Any], *, images: bool = False, others: Iterable[str] = ()
) -> Any:
    """The parameters of a bonus with `given` in place of its defaults, those for images or others;
    checked. `others` are not its own, but may have been meant."""
    known = [item.name for item in fields(kind.parameters)]
    for key in given:
        if key not in known:
            raise unknown_parameter(kind.name, key, known, others)
    defaults = kind.images if images else {}
    return kind.parameters(**{**defaults, **given})


def make_bonus(
    name: str,
    observations: Any,
    *,
    seed: int = 0,
    device: str = "cpu",
    layout: str | None = None,
    key: Callable[[Any], Any] | None = None,
    scale: str = "none",
    decay: int = 0,
    episodic: bool = False,
    **parameters: Any,
) -> Bonus:
    """Make an exploration bonus for the observations of an environment.

    Parameters
    ----------
    name
        One of `countless list bonuses`: "counts", "cts", "pixelcnn", "rnd", "sr-norm", "ssr", or one
        that another package offers.
    observations
        What the bonus will be given: a Gymnasium space (of one environment), a number of states, or
        the shape of one observation, such as (8,), (84, 84) or (4, 84, 84).
    seed
        Seeds the networks of the bonus; nothing else draws from it.
    device
        Where its networks live: "cpu", "cuda", "cuda:1".
    layout
        Which axis of an image is which, one letter each: T for frames, H for height, W for width, C
        for colours; or "vector" for an array that is no image. By default frames are counted by
        the first axis and colours by the last: "THW", "HWC", "THWC".
    key
        For "counts" only: a function from one observation to what is counted in its place.
    scale
        "none": as the bonus defines it. "std": divided by the running SD of its discounted sums, so
        that `beta` is about the SD of what an agent sees of it in the long run. "standardise": its
        recent mean is taken out as well, so that it does not pay for staying alive.
    decay
        Number of steps, of all environments together, over which the bonus falls to nothing; 0: never.
    episodic
        Whether the discounted sums begin anew with each episode.
    **parameters
        The parameters of the bonus, above all its scale `beta`; `bonus_kind(name).parameters` has all
        of them with their defaults.

    Returns
    -------
    Bonus
        An object with `observe`, `compute`, `update`, `state_dict` and `load_state_dict`.

    Examples
    --------
    >>> bonus = make_bonus("counts", 6, beta=2.0)
    >>> bonus.observe([3, 3]).tolist()
    [2.0, 1.414213562373095]
    >>> import gymnasium
    >>> bonus = make_bonus("sr-norm", gymnasium.spaces.Discrete(3), eta=0.1)
    >>> bonus.observe([0], next_observations=[1]).tolist()
    [0.5]
    """
    kind = bonus_kind(name)
    reader = as_reader(observations, layout)
    check_kind(kind, reader)
    more: dict[str, Any] = {} if key is None else {"key": key}
    if key is not None and name != "counts":
        raise BadInput(f"{name} takes no key; only counts does")
    beta = parameters.pop("beta", SCALED_BETA) if scale != "none" else 1.0
    scaling = Scaling(scale=scale, beta=beta, decay=decay, episodic=episodic)
    if scale != "none" and "beta" in {item.name for item in fields(kind.parameters)}:
        parameters["beta"] = 1.0
    made = make_parameters(kind, parameters, images=reader.kind == "image", others=OPTIONS)
    bonus = kind.make(reader, made, seed=check_seed(seed), device=device, **more)
    return bonus if scaling == Scaling() else ScaledBonus(bonus, scaling)


def check_kind(kind: BonusKind, reader: ObservationReader) -> None:
    """The bonus can read observations of this kind, or a `BadInput`."""
    if reader.kind not in kind.observations:
        words = {"states": "state indices", "vector": "vectors", "image": "images"}
        takes = " or ".join(words[word] for word in kind.observations)
        hint = ""
        if "image" in kind.observations and reader.taken is not None and len(reader.taken) > 1:
            axes = {2: "HW", 3: "HWC", 4: "THWC"}.get(len(reader.taken))
            hint = f"; if they are images, say so with {named('layout', axes)}" if axes else ""
        raise BadInput(f"{kind.name} takes {takes}, not {words[reader.kind]}{hint}")
