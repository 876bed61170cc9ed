"""Hyperparameters as fields of frozen dataclasses: each with its range and its line of help.

The command line, the grid files and the Python API all read the same fields, so that a value out
of range gives the same one-line error everywhere.
"""

from __future__ import annotations

import math
import zlib
from collections.abc import Mapping
from dataclasses import MISSING, Field, dataclass, field, fields
from numbers import Integral, Real
from typing import Any, ClassVar, Protocol, cast

from countless.core.errors import BadInput, named

LONGEST = 120  # letters of a label; longer ones are cut and get a sum


class Parameters(Protocol):
    """A frozen dataclass whose fields were made by the functions below."""

    __dataclass_fields__: ClassVar[dict[str, Field[Any]]]


@dataclass(frozen=True)
class Interval:
    """A range of real numbers, each end open or closed.

    >>> Interval("(0, 1]").contains(0.0), Interval("(0, 1]").contains(1.0)
    (False, True)
    """

    text: str

    def contains(self, value: float) -> bool:
        low, high = (float(end) for end in self.text[1:-1].split(","))
        above = value > low if self.text[0] == "(" else value >= low
        below = value < high if self.text[-1] == ")" else value <= high
        return above and below


def real(default: float, text: str, interval: str) -> Any:
    """A real-valued field. `interval` is written as in mathematics: "(0, 1]", "[1, inf]"."""
    return field(default=default, metadata={"help": text, "interval": Interval(interval)})


def scaled(share: float, text: str, interval: str) -> Any:
    """A real-valued field whose default is a share of the environment's range of rewards.

    Its value is None until the environment is known.
    """
    times = "" if share == 1.0 else f"{share:.12g} times "
    metadata = {
        "help": text,
        "interval": Interval(interval),
        "share": share,
        "rule": f"{times}the range of the rewards",
    }
    return field(default=None, metadata=metadata)


def whole(default: int, text: str, interval: str) -> Any:
    """A field for whole numbers; 1e6 is one."""
    metadata = {"help": text, "interval": Interval(interval), "whole": True}
    return field(default=default, metadata=metadata)


def choice(default: str, text: str, choices: tuple[str, ...]) -> Any:
    """A field that takes one of a few words."""
    return field(default=default, metadata={"help": text, "choices": choices})


def switch(default: bool | None, text: str) -> Any:
    """A field that is True or False; with None as its default, also "as the variant says"."""
    return field(default=default, metadata={"help": text, "switch": True})


def word(default: str, text: str) -> Any:
    """A field that takes any name, checked by whoever looks it up."""
    return field(default=default, metadata={"help": text})


def check_real(name: str, value: object, interval: Interval) -> float:
    """`value` as a float inside `interval`, or a `BadInput` that says what would be right."""
    if isinstance(value, bool) or not isinstance(value, Real):
        raise BadInput(f"{named(name)} must be a number in {interval.text}, not {value!r}")
    try:
        number = float(value)
    except OverflowError:
        number = math.inf
    if math.isnan(number) or not interval.contains(number):
        raise BadInput(f"{named(name)} must lie in {interval.text}, not {number:g}")
    return number


def check_whole(name: str, value: object, interval: Interval) -> int:
    """`value` as an int inside `interval`, or a `BadInput`; 3.0 is 3, 3.5 is an error.

    >>> check_whole("size", 42.0, Interval("[1, inf)"))
    42
    """
    number = check_real(name, value, interval)
    if number != math.floor(number):
        raise BadInput(f"{named(name)} must be a whole number in {interval.text}, not {number:g}")
    return int(number)


def check_count(name: str, value: object, most: int = 10**12, least: int = 1) -> int:
    """`value` as a whole number from `least` to `most`, or a `BadInput`; 3.0 is no count.

    >>> check_count("runs", 100)
    100
    """
    whole = isinstance(value, Integral) and not isinstance(value, bool)
    if not whole or not least <= int(cast(int, value)) <= most:
        raise BadInput(
            f"{named(name)} must be a whole number from {least:,} to {most:,}, not {value!r}"
        )
    return int(cast(int, value))


def check_choice(name: str, value: object, choices: tuple[str, ...]) -> str:
    """`value` if it is one of `choices`, or a `BadInput` that lists them."""
    if value not in choices:
        raise BadInput(f"{named(name)} must be one of {', '.join(choices)}, not {value!r}")
    return str(value)


def check_switch(name: str, value: object, default: bool | None) -> bool | None:
    """`value` if it is True or False (or None, where that is the default), or a `BadInput`."""
    if isinstance(value, bool) or (value is None and default is None):
        return value
    raise BadInput(f"{named(name)} must be True or False, not {value!r}")


def validate(parameters: Parameters) -> None:
    """Check every field of a frozen dataclass, store numbers as such; call in `__post_init__`."""
    for item in fields(parameters):
        value = getattr(parameters, item.name)
        if value is None and "rule" in item.metadata:
            continue
        if "whole" in item.metadata:
            count = check_whole(item.name, value, item.metadata["interval"])
            object.__setattr__(parameters, item.name, count)
        elif "interval" in item.metadata:
            number = check_real(item.name, value, item.metadata["interval"])
            object.__setattr__(parameters, item.name, number)
        elif "choices" in item.metadata:
            check_choice(item.name, value, item.metadata["choices"])
        elif "switch" in item.metadata:
            check_switch(item.name, value, cast("bool | None", item.default))
        elif not isinstance(value, str) or not value:
            raise BadInput(f"{named(item.name)} must be a name, not {value!r}")


def default_of(item: Field[Any]) -> float | str | bool | None:
    """The default of such a field."""
    assert item.default is not MISSING
    return cast("float | str | bool | None", item.default)


def settings_label(*names: str, settings: Mapping[str, Any]) -> str:
    """A name for the file or folder of what was made with these settings.

    >>> settings_label("dqn-mmc-sr", settings={"norm": 2.0, "bonus": "off"})
    'dqn-mmc-sr-bonus=off-norm=2'
    """
    shown = [
        f"{name}={value:g}" if isinstance(value, float) else f"{name}={value}"
        for name, value in sorted(settings.items())
    ]
    label = "-".join((*names, *shown)).replace("/", "-").replace(":", "-")
    if len(label) <= LONGEST:
        return label
    return f"{label[:LONGEST]}-{zlib.crc32(label.encode()):08x}"
