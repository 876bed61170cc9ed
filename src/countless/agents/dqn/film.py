"""What is watched, as a video and as a page with a slider."""

from __future__ import annotations

import base64
from collections.abc import Iterator, Sequence
from contextlib import ExitStack, contextmanager
from fractions import Fraction
from io import BytesIO
from pathlib import Path
from typing import Any, Protocol

import cv2
import numpy as np

from countless.agents.dqn.watch import Image, Scene
from countless.analysis.charts import compact
from countless.analysis.html import data_html, page
from countless.analysis.tables import number
from countless.core.errors import CountlessError
from countless.core.progress import SILENT, Reporter

SIDE = 336  # of the two pictures, in pixels
CURVE = 96  # height of a curve
GAP, LINE = 12, 18  # between parts; for a line of text
DARK = 30  # grey level below which a prediction shows nothing
WINDOW = 300  # steps that a curve shows
PAPER = 250  # the grey level of what is empty
INK, GREY = (40, 40, 40), (150, 150, 150)  # blue, green, red
# Of each quantity: its name, and its colour as blue, green, red.
CURVES = {
    "value": ("value, the largest q(s, a)", (178, 114, 0)),
    "norm": ("norm of the successor features, ‖ψ(s)‖", (115, 158, 0)),
    "bonus": ("bonus, as added to the reward", (0, 94, 213)),
}
FONT = cv2.FONT_HERSHEY_SIMPLEX
NO_SCRIPT = "<noscript><p>This page needs JavaScript; the video beside it does not.</p></noscript>"
KEY_FRAMES = 24  # from one picture that stands alone to the next: a slider jumps to any of them


class Writer(Protocol):
    """Takes scenes, and is whole when it is closed, however many there were."""

    def add(self, scene: Scene) -> None: ...

    def close(self) -> None: ...


def record(
    scenes: Iterator[Scene], writers: Sequence[Writer], steps: int, reporter: Reporter = SILENT
) -> int:
    """Give every scene to every writer; how many there were. Stopped on the way, what was written
    so far is whole."""
    count = 0
    with ExitStack() as stack, reporter.task("drawing", steps) as task:
        for writer in writers:
            stack.callback(writer.close)
        for scene in scenes:
            for writer in writers:
                writer.add(scene)
            count += 1
            task.advance(1)
    return count


class Film:
    """Pictures of one size as an MP4 in H.264, which browsers play."""

    def __init__(self, out: Path | BytesIO, rate: float) -> None:
        import av

        self._out = out
        with self._told():
            self._container = av.open(str(out) if isinstance(out, Path) else out, "w", "mp4")
        self._rate = Fraction(rate).limit_denominator(1000)
        self._stream: Any = None

    def add(self, picture: Image) -> None:
        import av

        with self._told():
            if self._stream is None:
                options = {"preset": "veryfast", "crf": "23", "g": str(KEY_FRAMES)}
                self._stream = self._container.add_stream("libx264", self._rate, options)
                self._stream.pix_fmt = "yuv420p"
                self._stream.height, self._stream.width = picture.shape[:2]
            frame = av.VideoFrame.from_ndarray(picture, format="bgr24")
            self._container.mux(self._stream.encode(frame))

    def close(self) -> None:
        with self._told():
            if self._stream is not None:
                self._container.mux(self._stream.encode())
            self._container.close()

    @contextmanager
    def _told(self) -> Iterator[None]:
        import av

        try:
            yield
        except (av.FFmpegError, OSError) as error:
            raise CountlessError(f"cannot write a video to {self._out}: {error}") from None


class Video:
    """An MP4: the pictures, and the curves of the last steps below them."""

    def __init__(self, path: Path, title: str, rate: float) -> None:
        self._title, self._film = title, Film(path, rate)
        self._curves: dict[str, list[float]] = {}

    def add(self, scene: Scene) -> None:
        for name, value in _measured(scene).items():
            self._curves.setdefault(name, []).append(value)
        self._film.add(draw(scene, self._curves, self._title))

    def close(self) -> None:
        self._film.close()


class WatchPage:
    """One HTML file: the pictures as a film, a slider over its steps, and curves that follow."""

    def __init__(self, path: Path, title: str, rate: float) -> None:
        self._path, self._title, self._rate = path, title, rate
        self._bytes = BytesIO()
        self._film = Film(self._bytes, rate)
        self._curves: dict[str, list[float]] = {}
        self._scores: list[float] = []
        self._episodes: list[int] = []

    def add(self, scene: Scene) -> None:
        for name, value in _measured(scene).items():
            self._curves.setdefault(name, []).append(value)
        self._scores.append(scene.score)
        self._episodes.append(scene.episode)
        self._film.add(draw_pictures(scene))

    def close(self) -> None:
        self._film.close()
        content = {
            "rate": self._rate,
            "score": compact(self._scores),
            "episode": self._episodes,
            "curves": [
                {"label": CURVES[name][0], "colour": _hex(CURVES[name][1]), "y": compact(values)}
                for name, values in self._curves.items()
            ],
            "film": base64.b64encode(self._bytes.getvalue()).decode(),
        }
        lead = (
            "The game as it was played, beside the frame that the agent had predicted, and what it "
            "thought of each state. Nothing was learned on the way."
        )
        text = page(
            f"Watch {self._title}", lead, [], [data_html(content, "watched"), NO_SCRIPT], "watch.js"
        )
        try:
            self._path.write_text(text, encoding="utf-8")
        except OSError as error:
            raise CountlessError(f"cannot write a page to {self._path}: {error}") from None


def _measured(scene: Scene) -> dict[str, float]:
    found = {"value": scene.value, "norm": scene.norm, "bonus": scene.bonus}
    return {name: value for name, value in found.items() if value is not None}


def _hex(colour: tuple[int, int, int]) -> str:
    return "#{2:02X}{1:02X}{0:02X}".format(*colour)


def draw(scene: Scene, curves: dict[str, list[float]], title: str) -> Image:
    """One picture of a video: game and prediction above, curves along time below."""
    pictures = draw_pictures(scene)
    top = LINE + GAP
    height = top + len(pictures) + len(curves) * (CURVE + LINE + GAP)
    canvas = _canvas(height, pictures.shape[1])
    _write(canvas, f"{title}   step {scene.step:,}   score {number(scene.score)}", (GAP, 20), 0.5)
    canvas[top : top + len(pictures), : pictures.shape[1]] = pictures
    top += len(pictures)
    for name, series in curves.items():
        label, colour = CURVES[name]
        _curve(canvas, top + LINE, series, colour, label.replace("‖ψ(s)‖", "|psi(s)|"))
        top += CURVE + LINE + GAP
    return canvas


def draw_pictures(scene: Scene) -> Image:
    """Game and prediction side by side, each with its name above it."""
    canvas = _canvas(LINE + SIDE + GAP, 2 * SIDE + 3 * GAP)
    pictures = {"game": scene.screen, "predicted for this step": scene.prediction}
    for i, (name, picture) in enumerate(pictures.items()):
        left = GAP + i * (SIDE + GAP)
        dark = i == 1 and picture is not None and picture.max() < DARK
        _write(canvas, f"{name} (dark: hardly learned yet)" if dark else name, (left, 13), 0.42)
        if picture is None:
            _write(canvas, "nothing is predicted", (left + SIDE // 2 - 70, SIDE // 2), 0.45)
        else:
            canvas[LINE : LINE + SIDE, left : left + SIDE] = _fit(picture)
    return canvas


def _canvas(height: int, width: int) -> Image:
    """Of even sides, which H.264 asks for."""
    return np.full((height + height % 2, width + width % 2, 3), PAPER, np.uint8)


def _fit(picture: Image) -> Image:
    way = cv2.INTER_NEAREST if min(picture.shape[:2]) < SIDE else cv2.INTER_AREA
    grown = cv2.resize(picture, (SIDE, SIDE), interpolation=way)
    return cv2.cvtColor(grown, cv2.COLOR_GRAY2BGR) if grown.ndim == 2 else grown  # type: ignore[return-value]


def _curve(canvas: Image, top: int, series: list[float], colour: Any, label: str) -> None:
    left, right, bottom = GAP, canvas.shape[1] - GAP, top + CURVE
    shown = np.array(series[-WINDOW:])
    low, high = float(shown.min()), float(shown.max())
    text = f"{label}: now {shown[-1]:.3g}, range {low:.3g} to {high:.3g}"
    _write(canvas, text, (left, top - 6), 0.42)
    cv2.rectangle(canvas, (left, top), (right, bottom), GREY, 1)
    x = left + np.arange(len(shown)) * (right - left) / (WINDOW - 1)
    y = bottom - 4 - (shown - low) / max(high - low, 1e-12) * (CURVE - 8)
    points = np.stack((x, y), axis=1).round().astype(np.int32)
    cv2.polylines(canvas, [points], isClosed=False, color=colour, thickness=2, lineType=cv2.LINE_AA)


def _write(canvas: Image, text: str, at: tuple[int, int], size: float) -> None:
    cv2.putText(canvas, text, at, FONT, size, INK, 1, cv2.LINE_AA)
