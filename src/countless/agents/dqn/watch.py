"""A video of a trained agent: the game, the next frame it predicts, its value and its bonus."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from fractions import Fraction
from pathlib import Path
from typing import Any

import cv2
import numpy as np
from numpy.typing import NDArray

from countless.agents.dqn.trainer import Trainer
from countless.analysis.tables import number
from countless.core.errors import BadInput, CountlessError
from countless.core.progress import SILENT, Reporter

Image = NDArray[np.uint8]
SIDE = 336  # of the two pictures, in pixels
CURVE = 120  # height of a curve
GAP, MARGIN = 12, 28
DARK = 30  # grey level below which a prediction shows nothing
WINDOW = 300  # steps that a curve shows
INK, PAPER, GREY = (40, 40, 40), (250, 250, 250), (150, 150, 150)  # blue, green, red
COLOURS = {"value": (170, 90, 20), "bonus": (30, 90, 200)}
FONT = cv2.FONT_HERSHEY_SIMPLEX


@dataclass(frozen=True)
class Scene:
    """One step of the episode that is watched."""

    screen: Image
    prediction: Image | None
    value: float  # the largest q(s, a)
    bonus: float | None  # what is added to the reward of the step
    score: float
    step: int


def play(trainer: Trainer, epsilon: float, steps: int, seed: int) -> Iterator[Scene]:
    """`steps` of the agent as it stands, one episode after the other; nothing is learned."""
    actor, learner = trainer.actors[0], trainer.learner
    random = np.random.default_rng(seed)
    actor.begin()
    for i in range(steps):
        explores = random.random() < epsilon
        action = int(random.integers(trainer.spec.actions)) if explores else None
        output, bonus = learner.output(actor.stack, action), trainer.bonus_at(actor.stack)
        step = actor.act(output.action)
        prediction = None if output.prediction is None else _levels(output.prediction, trainer)
        value, score = float(output.q.max()), actor.episode.score
        yield Scene(_screen(actor, trainer), prediction, value, bonus, score, i + 1)
        if step.terminated or step.truncated:
            actor.begin()


def _levels(frame: NDArray[Any], trainer: Trainer) -> Image | None:
    """A frame as a picture; one of a vector's levels is a row of cells."""
    if not trainer.spec.pixels:
        return None
    return np.atleast_2d(frame).clip(0, 255).astype(np.uint8)


def _screen(actor: Any, trainer: Trainer) -> Image:
    try:
        shown: Image = cv2.cvtColor(actor.game.screen(), cv2.COLOR_RGB2BGR)
        return shown
    except BadInput:
        newest = _levels(actor.stack[-1].astype(np.float32), trainer)
        if newest is None:
            raise
        return newest


def write_video(
    path: Path,
    scenes: Iterator[Scene],
    title: str,
    frames_per_second: float,
    steps: int,
    reporter: Reporter = SILENT,
) -> int:
    """Write an MP4 of scenes, in H.264, which browsers play; how many there were."""
    import av

    values: list[float] = []
    bonuses: list[float] = []
    rate = Fraction(frames_per_second).limit_denominator(1000)
    with _opened(path) as container, reporter.task(f"drawing {path.name}", steps) as task:
        stream = container.add_stream(
            "libx264", rate=rate, options={"preset": "veryfast", "crf": "23"}
        )
        stream.pix_fmt = "yuv420p"
        try:
            for scene in scenes:
                values.append(scene.value)
                if scene.bonus is not None:
                    bonuses.append(scene.bonus)
                picture = draw(scene, values, bonuses, title)
                if len(values) == 1:
                    stream.height, stream.width = picture.shape[:2]
                container.mux(stream.encode(av.VideoFrame.from_ndarray(picture, format="bgr24")))
                task.advance(1)
        finally:  # stopped on the way, the video so far is whole
            if values:
                container.mux(stream.encode())
    return len(values)


@contextmanager
def _opened(path: Path) -> Iterator[Any]:
    import av

    try:
        with av.open(str(path), "w") as container:
            yield container
    except (av.FFmpegError, OSError) as error:
        raise CountlessError(f"cannot write a video to {path}: {error}") from None


def draw(scene: Scene, values: list[float], bonuses: list[float], title: str) -> Image:
    """One picture: game and prediction above, value and bonus along time below."""
    curves = [("value", "max q(s, a)", values)]
    if bonuses:
        curves.append(("bonus", "bonus, as added to the reward", bonuses))
    width = 2 * SIDE + 3 * GAP
    height = MARGIN + 18 + SIDE + GAP + len(curves) * (CURVE + 18 + GAP)
    page = np.full((height + height % 2, width + width % 2, 3), PAPER, np.uint8)
    _write(page, f"{title}   step {scene.step:,}   score {number(scene.score)}", (GAP, 20), 0.5)
    top = MARGIN + 18
    pictures = {"game": scene.screen, "predicted next frame": scene.prediction}
    for i, (name, picture) in enumerate(pictures.items()):
        left = GAP + i * (SIDE + GAP)
        dark = name != "game" and picture is not None and picture.max() < DARK
        _write(page, f"{name} (dark: hardly learned yet)" if dark else name, (left, top - 6), 0.42)
        if picture is None:
            _write(page, "none to be drawn", (left + SIDE // 2 - 60, top + SIDE // 2), 0.45)
        else:
            page[top : top + SIDE, left : left + SIDE] = _fit(picture)
    top += SIDE + GAP
    for name, label, series in curves:
        _curve(page, top + 18, series, COLOURS[name], label)
        top += CURVE + 18 + GAP
    return page


def _fit(picture: Image) -> Image:
    way = cv2.INTER_NEAREST if min(picture.shape[:2]) < SIDE else cv2.INTER_AREA
    grown = cv2.resize(picture, (SIDE, SIDE), interpolation=way)
    return cv2.cvtColor(grown, cv2.COLOR_GRAY2BGR) if grown.ndim == 2 else grown  # type: ignore[return-value]


def _curve(page: Image, top: int, series: list[float], colour: Any, label: str) -> None:
    left, right, bottom = GAP, page.shape[1] - GAP, top + CURVE
    shown = np.array(series[-WINDOW:])
    low, high = float(shown.min()), float(shown.max())
    _write(
        page, f"{label}: now {shown[-1]:.3g}, range {low:.3g} to {high:.3g}", (left, top - 6), 0.42
    )
    cv2.rectangle(page, (left, top), (right, bottom), GREY, 1)
    x = left + np.arange(len(shown)) * (right - left) / (WINDOW - 1)
    y = bottom - 4 - (shown - low) / max(high - low, 1e-12) * (CURVE - 8)
    points = np.stack((x, y), axis=1).round().astype(np.int32)
    cv2.polylines(page, [points], isClosed=False, color=colour, thickness=2, lineType=cv2.LINE_AA)


def _write(page: Image, text: str, at: tuple[int, int], size: float) -> None:
    cv2.putText(page, text, at, FONT, size, INK, 1, cv2.LINE_AA)
