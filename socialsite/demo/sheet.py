"""The canvas for the demo's pictures: shapes in relative lengths, matching colours."""

import io
import math
from random import Random

from PIL import Image, ImageDraw

# Drawn twice as large and halved, because ImageDraw does not smooth the edges of shapes.
SCALE = 2
QUALITY = 88

Colour = tuple[int, int, int]
# Upper sky, lower sky, light, then the shapes from far to near.
PALETTES = (
    ("#1b2a49", "#f4a261", "#ffe8c2", "#5b6c8f", "#3d4f73", "#25344f", "#141d30"),
    ("#bfe3f2", "#fdf6e3", "#fff8dc", "#9fc5c9", "#6ea3a0", "#3f7772", "#1f4a47"),
    ("#f7c5cc", "#fef1e6", "#ffffff", "#d79aa5", "#a96b80", "#74465f", "#42263c"),
    ("#0b1026", "#2b3a67", "#f5f3ce", "#34456f", "#263457", "#19233f", "#0d1326"),
    ("#f6d365", "#fda085", "#fff6d8", "#e07a5f", "#b5524a", "#7d3540", "#471f2e"),
    ("#d8e2dc", "#f8edeb", "#ffd7ba", "#9fb8ad", "#7a9e87", "#4f7358", "#2c4735"),
    ("#274060", "#a3cef1", "#fefae0", "#6096ba", "#45759c", "#274c77", "#14304f"),
    ("#efe9e1", "#d9cfc1", "#fffdf8", "#b8a99a", "#8d7f73", "#5f554d", "#35302c"),
    ("#35155d", "#e85d75", "#ffd6a5", "#8a3b7c", "#64307a", "#45255f", "#271640"),
    ("#e3f2fd", "#fffde7", "#ffcc80", "#80cbc4", "#4db6ac", "#00897b", "#00514a"),
)


class Sheet:
    """A picture being drawn, with its colours and random generator. Lengths are relative."""

    def __init__(self, seed: str, width: int, height: int) -> None:
        self.rng = Random(seed)
        self.top, self.bottom, self.light, *shapes = map(rgb, self.rng.choice(PALETTES))
        self.far, self.back, self.middle, self.near = shapes
        self.shapes = shapes
        self.width, self.height = width * SCALE, height * SCALE
        self.image = gradient(self.top, self.bottom, self.width, self.height)
        self.paint: ImageDraw.ImageDraw = ImageDraw.Draw(self.image)

    def x(self, share: float) -> float:
        """Return pixels from the left."""
        return share * self.width

    def y(self, share: float) -> float:
        """Return pixels from the top."""
        return share * self.height

    def disc(self, x: float, y: float, radius: float, colour: Colour) -> None:
        """Draw a disc; the radius is a share of the height."""
        r = radius * self.height
        box = (self.x(x) - r, self.y(y) - r, self.x(x) + r, self.y(y) + r)
        self.paint.ellipse(box, fill=colour)

    def ring(self, x: float, y: float, radius: float, thick: float, colour: Colour) -> None:
        """Draw the outline of a circle."""
        r = radius * self.height
        box = (self.x(x) - r, self.y(y) - r, self.x(x) + r, self.y(y) + r)
        self.paint.ellipse(box, outline=colour, width=max(1, round(thick * self.height)))

    def box(self, left: float, top: float, right: float, bottom: float, colour: Colour) -> None:
        """Draw a filled box."""
        self.paint.rectangle((self.x(left), self.y(top), self.x(right), self.y(bottom)), colour)

    def shape(self, points: list[tuple[float, float]], colour: Colour) -> None:
        """Draw a filled polygon."""
        self.paint.polygon([(self.x(x), self.y(y)) for x, y in points], fill=colour)

    def line(self, points: list[tuple[float, float]], thick: float, colour: Colour) -> None:
        """Draw a line through points."""
        width = max(1, round(thick * self.height))
        self.paint.line([(self.x(x), self.y(y)) for x, y in points], colour, width, joint="curve")

    def ridge(self, base: float, rough: float, colour: Colour) -> None:
        """Fill the area below a line of hills."""
        waves = [
            (self.rng.uniform(0.7, 1.3) * n, self.rng.uniform(0, math.tau), rough / n)
            for n in (1, 2, 4, 7, 13)
        ]
        points = []
        for step in range(161):
            at = step / 160
            y = base + sum(a * math.sin(f * at * math.tau + p) for f, p, a in waves)
            points.append((at, y))
        self.shape([*points, (1, 1), (0, 1)], colour)

    def glow(self, x: float, y: float, radius: float) -> None:
        """Draw the sun or the moon in a haze."""
        for ring in range(6, 0, -1):
            haze = mix(self.light, self._sky(y), ring / 7)
            self.disc(x, y, radius * (1 + ring * 0.28), haze)
        self.disc(x, y, radius, self.light)

    def file(self) -> io.BytesIO:
        """Return the picture as a JPEG file."""
        out = io.BytesIO()
        self.image.reduce(SCALE).save(out, "JPEG", quality=QUALITY)
        out.seek(0)
        return out

    def _sky(self, y: float) -> Colour:
        return mix(self.top, self.bottom, y)


def rgb(text: str) -> Colour:
    return int(text[1:3], 16), int(text[3:5], 16), int(text[5:7], 16)


def mix(one: Colour, other: Colour, share: float) -> Colour:
    """Return a colour between two others, `share` of the way to the second."""
    r, g, b = (round(a + (z - a) * share) for a, z in zip(one, other, strict=True))
    return r, g, b


def gradient(top: Colour, bottom: Colour, width: int, height: int) -> Image.Image:
    column = Image.new("RGB", (1, 32))
    for y in range(32):
        column.putpixel((0, y), mix(top, bottom, y / 31))
    # In two steps: smoothing a column is cheap, and all columns are the same.
    column = column.resize((1, height), Image.Resampling.BILINEAR)
    return column.resize((width, height), Image.Resampling.NEAREST)
