"""One reader of observations: from any Gymnasium space to what a bonus or a network takes.

What comes out of `ObservationReader.read` is one of three kinds, with one row per environment:

states   (B,)               indices from 0, of a `Discrete` space
vector   (B, D)             numbers: vectors, arrays that are no images, and spaces of several parts
image    (B, [frames,] H, W)  grey levels 0 to 255, with the newest frame last

An array is read as an image where its values are levels (integers up to 255, or floats up to 1 or
255) and its sides are long enough; all other arrays are read as vectors. Which axis is which follows
from one rule: *frames are counted by the first axis, colours by the last*, as Gymnasium does it.
(3, 84, 84) holds three grey frames and (210, 160, 3) one picture in red, green and blue. In the last
axis a number that 3 does not divide counts grey frames, as Stable-Baselines3 stacks them. A space
that breaks the rule is described by `layout`: one letter per axis, T for frames, H for height, W for
width, C for colours ("CHW", "HWT"), or "vector".
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field
from math import prod
from typing import Any

import numpy as np
from gymnasium import spaces
from numpy.typing import NDArray

from countless.core.arrays import check_finite, check_states, to_numpy
from countless.core.errors import BadInput, named

KINDS = ("states", "vector", "image")
SMALLEST_GREY = 8  # shorter sides are no image's
SMALLEST_COLOURED = 32  # shorter sides hold codes: MiniGrid's grids have up to 25 x 25 x 3
MOST_FRAMES = 32  # of a stack
LUMINANCE = np.array([0.299, 0.587, 0.114], dtype=np.float32)

Convert = Callable[[Any], NDArray[Any]]


@dataclass(frozen=True)
class ObservationReader:
    """Reads batches of observations of one space.

    `shape` is that of one observation as it comes out; with `n_states` it is a state index and has no
    shape. `taken` is the shape of one array as it goes in, None where the space has several parts.
    """

    shape: tuple[int, ...]
    n_states: int | None = None
    taken: tuple[int, ...] | None = None
    convert: Convert | None = field(default=None, compare=False)
    start: int = 0  # the lowest state's number
    most: float = 255.0  # the brightest value of an image
    assumed: bool = False  # whether that value was not told by a space

    @property
    def kind(self) -> str:
        """states, vector or image."""
        if self.n_states is not None:
            return "states"
        return "vector" if len(self.shape) == 1 else "image"

    @property
    def unchanged(self) -> bool:
        """Whether observations come out as they go in."""
        return self.convert is None and self.n_states is None

    def read(self, name: str, observations: Any) -> NDArray[Any]:
        """A batch (B, ...) as a NumPy array, or a `BadInput` that begins with `name`.

        >>> as_reader((60, 80, 3)).read("counts", np.full((1, 60, 80, 3), 9)).shape
        (1, 60, 80)
        """
        if self.n_states is not None:
            return check_states(name, observations, self.n_states, self.start)
        if self.taken is None:
            assert self.convert is not None
            values = self.convert(observations)
            check_finite(name, values)
            return values
        values = to_numpy(observations)
        if values.shape[1:] != self.taken or values.ndim != len(self.taken) + 1:
            wanted = ", ".join(["B", *map(str, self.taken)])
            raise BadInput(f"{name}: observations must have shape ({wanted}), not {values.shape}")
        if values.dtype.kind not in "biuf":
            raise BadInput(f"{name}: observations must be numbers, not {values.dtype}")
        check_finite(name, values)
        if self.kind == "image" and values.dtype != np.uint8:
            _check_levels(name, values, self.most)
            if self.assumed and values.dtype.kind == "f" and 0 < values.max(initial=0) <= 1:
                raise BadInput(
                    f"{name}: pixels of floats are at most {values.max():g}, but levels 0 to 255 are "
                    "expected, of which these are black: say what they are with a space, "
                    "gymnasium.spaces.Box(0, 1, shape), or give integers"
                )
        return values if self.convert is None else self.convert(values)

    def read_one(self, name: str, observation: Any) -> NDArray[Any]:
        """One observation: what `read` makes of a batch that holds it alone."""
        row: NDArray[Any] = self.read(name, _batch_of_one(observation))[0]
        return row


def as_reader(given: Any, layout: str | None = None) -> ObservationReader:
    """The reader of a number of states, of the shape of one observation, or of a Gymnasium space.

    A shape with two or more axes is that of an image with levels 0 to 255.

    >>> as_reader(104).kind, as_reader((4, 84, 84)).kind, as_reader((3,)).kind
    ('states', 'image', 'vector')
    >>> as_reader(spaces.Box(0, 255, (210, 160, 3), np.uint8)).shape
    (210, 160)
    """
    if isinstance(given, ObservationReader):
        return given
    if isinstance(given, spaces.Space):
        return _of_space(given, layout)
    if isinstance(given, int | np.integer) and not isinstance(given, bool) and given >= 1:
        _refuse_layout(layout, "state indices")
        return ObservationReader((), int(given))
    if isinstance(given, tuple | list) and 1 <= len(given) <= 4 and all(_is_size(n) for n in given):
        return _of_shape(tuple(int(n) for n in given), layout)
    raise BadInput(
        "observations must be a number of states, a shape such as (4, 84, 84) or (8,), or a "
        f"Gymnasium space, not {given!r}"
    )


def _is_size(value: object) -> bool:
    return isinstance(value, int | np.integer) and not isinstance(value, bool) and bool(value >= 1)


def _of_shape(shape: tuple[int, ...], layout: str | None) -> ObservationReader:
    if len(shape) == 1:
        _refuse_layout(layout, "vectors", "vector")
    if len(shape) == 1 or layout == "vector":
        return _vector(shape)
    axes = layout or guess_layout(shape, smallest_grey=1)
    if axes is None:
        raise _ambiguous(shape)
    return _image(shape, axes, None, None)


def _of_space(space: spaces.Space[Any], layout: str | None) -> ObservationReader:
    if isinstance(space, spaces.Discrete):
        _refuse_layout(layout, "state indices")
        return ObservationReader((), int(space.n), start=int(space.start))
    if isinstance(space, spaces.Box):
        return _of_box(space, layout)
    if isinstance(space, spaces.Dict | spaces.Tuple):
        return _of_parts(space, layout)
    if isinstance(space, spaces.MultiBinary):
        return _vector(space.shape)
    if isinstance(space, spaces.MultiDiscrete):
        return ObservationReader((_width(space),), taken=space.shape, convert=_flattener(space))
    raise BadInput(
        f"observations must be states, vectors, images, or several of them, not {space}: "
        "gymnasium.wrappers.TransformObservation can make them so"
    )


def _of_box(space: spaces.Box, layout: str | None) -> ObservationReader:
    shape = space.shape
    if prod(shape) == 0:
        raise BadInput(f"observations of {space} hold no number")
    most = _brightest(space)
    if len(shape) < 2:
        _refuse_layout(layout, "vectors", "vector")
    if layout == "vector" or len(shape) < 2:
        return _vector(shape)
    if layout is not None:
        return _image(shape, layout, most, space.dtype)
    if most is None:
        return _vector(shape)
    axes = guess_layout(shape)
    if axes is not None:
        return _image(shape, axes, most, space.dtype)
    if sum(n >= SMALLEST_COLOURED for n in shape) > 2 or len(shape) > 4:
        raise _ambiguous(shape)
    return _vector(shape)


def _refuse_layout(layout: str | None, what: str, right: str | None = None) -> None:
    """A `BadInput` for a layout of observations that have no axes to name; `right` is true of them."""
    if layout is not None and layout != right:
        raise BadInput(
            f"{named('layout')} names the axes of images; these are {what}: leave it out"
        )


def guess_layout(
    shape: tuple[int, ...],
    smallest_grey: int = SMALLEST_GREY,
    smallest_coloured: int = SMALLEST_COLOURED,
) -> str | None:
    """Which axis is which in an array of levels; None where it is no image, or unclear.

    >>> guess_layout((210, 160, 3)), guess_layout((3, 84, 84)), guess_layout((7, 7, 3))
    ('HWC', 'THW', None)
    """
    if len(shape) == 2:
        return "HW" if min(shape) >= smallest_grey else None
    if len(shape) == 3:
        first, middle, last = shape
        if last < min(first, middle) and last <= MOST_FRAMES:
            if min(first, middle) < smallest_coloured:
                return None
            return "HWC" if last == 1 or last % 3 == 0 else "HWT"
        if first < min(middle, last) and first <= MOST_FRAMES:
            return "THW" if min(middle, last) >= smallest_grey else None
    if len(shape) == 4 and shape[0] <= MOST_FRAMES:
        for axes in ("THWC", "TCHW"):
            sizes = dict(zip(axes, shape, strict=True))
            least = smallest_grey if sizes["C"] == 1 else smallest_coloured
            if sizes["C"] in (1, 3) and min(sizes["H"], sizes["W"]) >= max(least, sizes["C"] + 1):
                return axes
    return None


def _ambiguous(shape: tuple[int, ...]) -> BadInput:
    letters = {2: "HW", 3: "HWC", 4: "THWC"}.get(len(shape))
    example = f"{named('layout', letters)} or " if letters else ""
    return BadInput(
        f"observations of shape {shape} could be images or not, and which axis is which is unclear: "
        f"give {example}{named('layout', 'vector')} (T frames, H height, W width, C colours)"
    )


def _brightest(space: spaces.Box) -> float | None:
    """The value of white, where the numbers of a space are levels of an image; else None."""
    if space.dtype is None or (space.low < 0).any():
        return None
    high = float(space.high.max())
    if np.issubdtype(space.dtype, np.floating):
        return high if high in (1.0, 255.0) else None
    return 255.0 if np.issubdtype(space.dtype, np.integer) and high == 255.0 else None


def _image(
    shape: tuple[int, ...], layout: str, brightest: float | None, dtype: np.dtype[Any] | None
) -> ObservationReader:
    """An image whose axes are `layout`; floats of a known space become whole levels.

    Where nothing tells the brightest value it is taken to be 255.
    """
    letters = sorted(layout)
    if len(set(letters)) != len(letters) or not {"H", "W"} <= set(letters) <= set("THWC"):
        raise BadInput(
            f"{named('layout')} must be 'vector' or have one letter per axis, H and W among them "
            f"(T frames, H height, W width, C colours), not {layout!r}"
        )
    if len(layout) != len(shape):
        raise BadInput(
            f"{named('layout')} {layout!r} names {len(layout)} axes; observations of shape {shape} "
            f"have {len(shape)}"
        )
    sizes = dict(zip(layout, shape, strict=True))
    colours = sizes.get("C", 1)
    if "T" in sizes and colours not in (1, 3):
        raise BadInput(
            f"{named('layout')} {layout!r} gives frames of {colours} colours; they have 1 or 3"
        )
    if colours != 1 and colours % 3 != 0:
        # Channels that cannot be colours are grey frames.
        return _image(shape, layout.replace("C", "T"), brightest, dtype)
    frames = sizes.get("T", 1) * (1 if colours == 1 else colours // 3)
    stacked = "T" in sizes or colours > 3
    most = 255.0 if brightest is None else brightest
    sides = sizes["H"], sizes["W"]
    to_levels = dtype is not None and dtype != np.uint8
    as_given = layout in ("HW", "THW") and not to_levels
    order = [0, *(1 + layout.index(axis) for axis in "THWC" if axis in sizes)]

    def convert(values: NDArray[Any]) -> NDArray[Any]:
        if to_levels:
            values = np.rint(values * np.float32(255.0 / most)).clip(0, 255).astype(np.uint8)
        values = values.transpose(order)
        if "C" in sizes and colours == 1:
            values = values[..., 0]
        elif "C" in sizes:
            if "T" not in sizes:
                values = np.moveaxis(values.reshape(*values.shape[:3], frames, 3), 3, 1)
            values = np.rint(values.astype(np.float32) @ LUMINANCE).astype(np.uint8)
        return values if stacked else values.reshape(len(values), *sides)

    out = (frames, *sides) if stacked else sides
    return ObservationReader(
        out,
        taken=shape,
        convert=None if as_given else convert,
        most=most,
        assumed=brightest is None,
    )


def _check_levels(name: str, values: NDArray[Any], most: float) -> None:
    if values.size and (values.min() < 0 or values.max() > most):
        raise BadInput(
            f"{name}: pixels are 0 to {most:g}, not {values.min():g} to {values.max():g}"
        )


def _vector(shape: tuple[int, ...]) -> ObservationReader:
    width = prod(shape)
    flat = None if len(shape) == 1 else lambda values: values.reshape(len(values), width)
    return ObservationReader((width,), taken=shape, convert=flat)


def _of_parts(
    space: spaces.Dict | spaces.Tuple[Any], layout: str | None = None
) -> ObservationReader:
    """The one image among the parts, else all that are numbers in one vector; texts are left out."""
    parts = [(path, part) for path, part in _leaves(space) if _is_numeric(part)]
    if not parts:
        raise BadInput(f"observations must have a part that is made of numbers; {space} has none")
    if layout != "vector":
        pictures = [
            (path, reader)
            for path, part in parts
            if isinstance(part, spaces.Box)
            and len(part.shape) > 1
            and (reader := _of_box(part, layout if len(parts) == 1 else None)).kind == "image"
            and min(reader.shape[-2:]) >= SMALLEST_COLOURED
        ]
        if len(pictures) > 1:
            names = ", ".join(_name(path) for path, _ in pictures)
            raise BadInput(
                f"observations have several images ({names}); keep one of them, for example with "
                f"gymnasium.wrappers.FilterObservation, or give {named('layout', 'vector')}"
            )
        if pictures:
            path, reader = pictures[0]

            def picture(batch: Any) -> NDArray[Any]:
                return reader.read(_name(path), _part(batch, path))

            return ObservationReader(reader.shape, convert=picture, most=reader.most)
    flatteners = [(path, _flattener(part)) for path, part in parts]

    def vector(batch: Any) -> NDArray[Any]:
        columns = [flatten(_part(batch, path), path) for path, flatten in flatteners]
        counts = {len(rows) for rows in columns}
        if len(counts) > 1:
            raise BadInput(
                f"the parts of observations have {sorted(counts)} rows: give each as many"
            )
        return np.concatenate(columns, axis=1).astype(np.float32)

    return ObservationReader((sum(_width(part) for _, part in parts),), convert=vector)


def _leaves(
    space: spaces.Space[Any], path: tuple[Any, ...] = ()
) -> Iterator[tuple[tuple[Any, ...], spaces.Space[Any]]]:
    """Every part that has no parts itself, with the keys that lead there."""
    if isinstance(space, spaces.Dict | spaces.Tuple):
        keyed = space.spaces.items() if isinstance(space, spaces.Dict) else enumerate(space.spaces)
        for key, part in keyed:
            yield from _leaves(part, (*path, key))
    else:
        yield path, space


def _is_numeric(space: spaces.Space[Any]) -> bool:
    return isinstance(
        space, spaces.Box | spaces.Discrete | spaces.MultiDiscrete | spaces.MultiBinary
    )


def _part(batch: Any, path: tuple[Any, ...]) -> Any:
    for key in path:
        try:
            batch = batch[key]
        except (LookupError, TypeError):
            raise BadInput(
                f"observations lack the part {_name(path)}, which their space has"
            ) from None
    return batch


def _name(path: tuple[Any, ...]) -> str:
    return ".".join(map(str, path))


def _width(space: spaces.Space[Any]) -> int:
    """The numbers that `_flattener` makes of one observation."""
    return prod(spaces.flatten_space(space).shape or ())


def _flattener(space: spaces.Space[Any]) -> Callable[..., NDArray[Any]]:
    """From a batch of a space to (B, D): choices one-hot, as `gymnasium.spaces.flatten` does it.

    The keys of a part name it where it is wrong.
    """
    shape = space.shape or ()

    def checked(values: Any, path: tuple[Any, ...]) -> NDArray[Any]:
        given = to_numpy(values)
        if shape == () and given.ndim == 2 and given.shape[1] == 1:
            given = given[:, 0]
        part = f"the part {_name(path)} of observations" if path else "observations"
        if given.ndim == 0 or given.shape[1:] != shape:
            wanted = ", ".join(["B", *map(str, shape)])
            raise BadInput(f"{part} must have shape ({wanted}), not {given.shape}")
        if given.dtype.kind not in "biuf":
            raise BadInput(f"{part} must be numbers, not {given.dtype}")
        return given

    if isinstance(space, spaces.Discrete):
        choices, starts = np.array([space.n]), np.array([space.start])
    elif isinstance(space, spaces.MultiDiscrete):
        choices, starts = np.asarray(space.nvec).ravel(), np.asarray(space.start).ravel()
    else:
        width = _width(space)
        return lambda values, path=(): checked(values, path).reshape(-1, width)
    offsets = np.cumsum(choices) - choices

    def one_hot(values: Any, path: tuple[Any, ...] = ()) -> NDArray[np.float32]:
        given = checked(values, path).reshape(-1, len(choices))
        whole = given == np.floor(given)
        columns = np.where(whole, given, -1).astype(np.int64) - starts
        if not (whole & (columns >= 0) & (columns < choices)).all():
            raise BadInput(f"an observation lies outside of {space}")
        ones = np.zeros((len(columns), int(choices.sum())), dtype=np.float32)
        np.put_along_axis(ones, columns + offsets, 1.0, axis=1)
        return ones

    return one_hot


def _batch_of_one(observation: Any) -> Any:
    if isinstance(observation, Mapping):
        return {key: _batch_of_one(value) for key, value in observation.items()}
    if isinstance(observation, tuple):
        return tuple(_batch_of_one(value) for value in observation)
    return np.asarray(observation)[None]
