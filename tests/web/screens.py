"""Pages as they looked when somebody looked at them, and how far a page is from that now."""

from io import BytesIO
from pathlib import Path

import numpy as np
from PIL import Image

STORED = Path(__file__).parent.parent / "data" / "screens"
SHRINK = 4  # a stored screen has a quarter of the pixels each way: letters blur, parts stay
FAR = 40  # grey levels by which a pixel is another one
MOST = 0.04  # share of such pixels: fonts and versions of a browser move them a little


def difference(screen, stored):
    """The share of pixels that are others; all of them where the sizes differ."""
    if screen.shape != stored.shape:
        return 1.0
    return float((np.abs(screen.astype(int) - stored.astype(int)).max(axis=2) > FAR).mean())


def shrunk(png):
    """A screenshot as an array, at the size in which it is stored."""
    image = Image.open(BytesIO(png)).convert("RGB")
    size = image.width // SHRINK, image.height // SHRINK
    return np.asarray(image.resize(size, Image.Resampling.BOX))


def looks_as_stored(page, name, update=False):
    """Whether the part of the page that is on the screen looks as it did.

    With `update` it is stored as it is now.
    """
    screen = shrunk(page.screenshot())
    path = STORED / f"{name}.png"
    if update:
        STORED.mkdir(exist_ok=True)
        Image.fromarray(screen).save(path, optimize=True)
    stored = np.asarray(Image.open(path).convert("RGB"))
    return difference(screen, stored) <= MOST
