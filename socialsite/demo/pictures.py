"""Pictures that the demo draws: landscapes, posters and still lifes. Each differs; none is stored.

A drawing is a motif and a seed; the same seed gives the same pixels.
"""

import io
import math
from collections.abc import Callable
from dataclasses import dataclass
from random import Random

from socialsite.demo.sheet import Sheet, gradient, mix, rgb

WIDTH, HEIGHT = 800, 600
AVATAR_SIDE = 256


@dataclass(frozen=True, slots=True)
class Drawing:
    """The motif to draw, and its description for people who cannot see it."""

    motif: str
    seed: str
    alt: str


# --- motifs -------------------------------------------------------------------------------------
def _mountains(s: Sheet) -> None:
    s.glow(s.rng.uniform(0.2, 0.8), s.rng.uniform(0.2, 0.4), s.rng.uniform(0.05, 0.09))
    for number, colour in enumerate(s.shapes):
        s.ridge(0.45 + number * 0.14, 0.10 - number * 0.015, colour)


def _sea(s: Sheet) -> None:
    x, level = s.rng.uniform(0.25, 0.75), s.rng.uniform(0.52, 0.62)
    s.glow(x, level - s.rng.uniform(0.02, 0.2), s.rng.uniform(0.07, 0.11))
    s.box(0, level, 1, 1, s.back)
    for row in range(40):
        y = level + (1 - level) * (row / 40) ** 1.4
        half = s.rng.uniform(0.01, 0.05) + row * 0.002
        at = x + s.rng.uniform(-0.02, 0.02) * (1 + row / 8)
        s.box(at - half, y, at + half, y + 0.003 + row * 0.0001, mix(s.light, s.back, 0.25))
    s.ridge(0.94, 0.03, s.near)


def _night(s: Sheet) -> None:
    s.top, s.bottom = rgb("#070b1d"), mix(s.back, (20, 24, 60), 0.5)
    s.image.paste(gradient(s.top, s.bottom, s.width, s.height))
    for _star in range(180):
        shade = s.rng.randint(150, 255)
        s.disc(s.rng.random(), s.rng.random() * 0.8, s.rng.uniform(0.0008, 0.003), (shade,) * 3)
    if s.rng.random() < 0.5:
        s.light = (246, 241, 214)
        s.glow(s.rng.uniform(0.2, 0.8), s.rng.uniform(0.15, 0.3), 0.05)
    s.ridge(0.72, 0.07, (16, 22, 44))
    for _pine in range(26):
        x, size = s.rng.random(), s.rng.uniform(0.05, 0.14)
        foot = s.rng.uniform(0.9, 1.0)
        for part in range(3):
            y = foot - size * part * 0.6
            half = size * (0.42 - part * 0.1)
            s.shape([(x - half * 0.75, y), (x + half * 0.75, y), (x, y - size)], (6, 9, 20))
    s.box(0, 0.97, 1, 1, (6, 9, 20))


def _road(s: Sheet) -> None:
    s.glow(s.rng.uniform(0.4, 0.6), 0.42, 0.09)
    s.ridge(0.5, 0.06, s.far)
    s.box(0, 0.56, 1, 1, s.middle)
    end = s.rng.uniform(0.42, 0.58)
    s.shape([(end - 0.01, 0.56), (end + 0.01, 0.56), (0.85, 1), (0.15, 1)], s.near)
    for dash in range(7):
        top, low = 0.57 + 0.43 * (dash / 7) ** 1.8, 0.57 + 0.43 * ((dash + 0.5) / 7) ** 1.8
        at_top, at_low = (
            end + (0.5 - end) * (top - 0.56) / 0.44,
            end + (0.5 - end) * (low - 0.56) / 0.44,
        )
        wide = 0.012 * (low - 0.55) / 0.45
        s.shape(
            [
                (at_top - wide / 2, top),
                (at_top + wide / 2, top),
                (at_low + wide, low),
                (at_low - wide, low),
            ],
            s.light,
        )


def _city(s: Sheet) -> None:
    s.glow(s.rng.uniform(0.2, 0.8), s.rng.uniform(0.2, 0.4), 0.07)
    for depth, colour in enumerate(s.shapes[1:]):
        x = -0.02
        while x < 1:
            wide = s.rng.uniform(0.05, 0.12)
            top = s.rng.uniform(0.35, 0.6) + depth * 0.12
            s.box(x, top, x + wide, 1, colour)
            if depth:
                rows = range(int((1 - top) / 0.05))
                for row in rows:
                    for column in range(int(wide / 0.022)):
                        if s.rng.random() < 0.35:
                            left, high = x + 0.008 + column * 0.022, top + 0.02 + row * 0.05
                            s.box(left, high, left + 0.009, high + 0.02, s.light)
            x += wide + s.rng.uniform(0, 0.01)


def _bauhaus(s: Sheet) -> None:
    s.box(0, 0, 1, 1, mix(s.light, (255, 255, 255), 0.4))
    for row in range(3):
        for column in range(4):
            left, top = column / 4, row / 3
            colours = s.rng.sample([s.top, s.bottom, *s.shapes], 2)
            s.box(left, top, left + 0.25, top + 1 / 3, colours[0])
            form = s.rng.randrange(5)
            x, y = left + 0.125, top + 1 / 6
            if form == 0:
                s.disc(x, y, 0.13, colours[1])
            elif form == 1:
                s.shape([(left, top), (left + 0.25, top), (left, top + 1 / 3)], colours[1])
            elif form == 2:
                bow = (s.x(left), s.y(top), s.x(left + 0.5), s.y(top + 2 / 3))
                s.paint.pieslice(bow, 180, 270, fill=colours[1])
            elif form == 3:
                for ring in (0.14, 0.09, 0.04):
                    s.ring(x, y, ring, 0.018, colours[1])
            else:
                for bar in range(4):
                    at = left + bar / 16
                    s.box(at, top, at + 1 / 32, top + 1 / 3, colours[1])


def _waves(s: Sheet) -> None:
    s.box(0, 0, 1, 1, s.back)
    radius = 0.14
    for row in range(13):
        y = row * radius * 0.62
        for column in range(-1, 7):
            x = (column + (row % 2) / 2) * radius * 1.5
            tone = s.rng.choice(s.shapes)
            for ring, colour in ((1, tone), (0.78, s.light), (0.56, tone), (0.34, s.light)):
                s.disc(x, y + 0.1, radius * ring, colour)


def _board(s: Sheet) -> None:
    s.image.paste(gradient(rgb("#e6bf83"), rgb("#c9965a"), s.width, s.height))
    lines, step, left, top = 13, 1 / 13, 0.06, 0.045
    gap_x = step * HEIGHT / WIDTH * 1.2
    ink = rgb("#4a3320")
    for n in range(lines):
        s.line([(left + n * gap_x, top), (left + n * gap_x, 1)], 0.003, ink)
        s.line([(left, top + n * step * 1.2), (1, top + n * step * 1.2)], 0.003, ink)
    places = [(x, y) for x in range(lines) for y in range(10)]
    for turn, (x, y) in enumerate(s.rng.sample(places, s.rng.randint(18, 44))):
        at_x, at_y, black = left + x * gap_x, top + y * step * 1.2, turn % 2 == 0
        s.disc(at_x + 0.004, at_y + 0.006, 0.044, rgb("#8d673b"))
        s.disc(at_x, at_y, 0.043, (28, 28, 30) if black else (246, 244, 238))
        s.disc(at_x - 0.009, at_y - 0.013, 0.011, (72, 72, 76) if black else (255, 255, 255))


def _leaves(s: Sheet) -> None:
    for depth in range(3):
        colour = s.shapes[depth + 1]
        for _stem in range(5):
            x, lean = s.rng.uniform(0, 1), s.rng.uniform(-0.2, 0.2)
            height = s.rng.uniform(0.35, 0.85) - depth * 0.12
            stem = [(x + lean * (t / 10) ** 2, 1 - height * t / 10) for t in range(11)]
            s.line(stem, 0.006, colour)
            for at_x, at_y in stem[2:]:
                for side in (-1, 1):
                    size = s.rng.uniform(0.05, 0.1) * (1.2 - (1 - at_y) / 2)
                    tip = (at_x + side * size, at_y - size * 0.7)
                    bow = (at_x + side * size * 0.35, at_y - size * 0.75)
                    dip = (at_x + side * size * 0.7, at_y - size * 0.05)
                    s.shape([(at_x, at_y), bow, tip, dip], colour)
            if depth == 2 or s.rng.random() < 0.3:
                head_x, head_y = stem[-1]
                for petal in range(8):
                    turn = petal * math.tau / 8
                    s.disc(
                        head_x + 0.026 * math.cos(turn),
                        head_y + 0.035 * math.sin(turn),
                        0.024,
                        s.light,
                    )
                s.disc(head_x, head_y, 0.02, s.bottom)


def _cup(s: Sheet) -> None:
    table = s.rng.uniform(0.66, 0.74)
    s.box(0, table, 1, 1, s.middle)
    s.disc(s.rng.uniform(0.15, 0.85), 0.3, 0.2, mix(s.light, s.top, 0.35))
    x, wide, high = s.rng.uniform(0.4, 0.6), s.rng.uniform(0.13, 0.18), s.rng.uniform(0.2, 0.28)
    rim, foot = table - high + 0.08, table + 0.08
    s.paint.ellipse(
        (s.x(x - wide * 1.5), s.y(foot - 0.035), s.x(x + wide * 1.5), s.y(foot + 0.04)), s.near
    )
    s.ring(x + wide * 0.95, (rim + foot) / 2 - 0.02, 0.075, 0.022, s.light)
    s.shape(
        [(x - wide, rim), (x + wide, rim), (x + wide * 0.62, foot), (x - wide * 0.62, foot)],
        s.light,
    )
    s.paint.ellipse(
        (s.x(x - wide * 0.62), s.y(foot - 0.02), s.x(x + wide * 0.62), s.y(foot + 0.02)), s.light
    )
    s.paint.ellipse((s.x(x - wide), s.y(rim - 0.035), s.x(x + wide), s.y(rim + 0.035)), s.far)
    s.paint.ellipse(
        (s.x(x - wide * 0.88), s.y(rim - 0.026), s.x(x + wide * 0.88), s.y(rim + 0.028)), s.near
    )
    for wisp in range(3):
        start = x + (wisp - 1) * wide * 0.5
        phase = s.rng.uniform(0, math.tau)
        points = [
            (start + 0.018 * math.sin(phase + t / 4), rim - 0.05 - t * 0.012) for t in range(18)
        ]
        s.line(points, 0.006, mix(s.light, s.top, 0.45))


def _books(s: Sheet) -> None:
    shelf = 0.82
    s.box(0, shelf, 1, 1, s.near)
    x = 0.06
    while x < 0.9:
        wide, high = s.rng.uniform(0.03, 0.07), s.rng.uniform(0.3, 0.58)
        colour = s.rng.choice([*s.shapes[:3], s.top, s.bottom, s.light])
        lean = s.rng.uniform(0.02, 0.06) if s.rng.random() < 0.12 else 0.0
        s.shape(
            [
                (x, shelf),
                (x + wide, shelf),
                (x + wide + lean, shelf - high),
                (x + lean, shelf - high),
            ],
            colour,
        )
        band = mix(colour, s.near, 0.5)
        for at in (0.12, 0.17, 0.85):
            y, slip = shelf - high * (1 - at), lean * (1 - at)
            s.line([(x + slip + 0.004, y), (x + wide + slip - 0.004, y)], 0.006, band)
        x += wide + lean + 0.004
    s.disc(0.93, shelf - 0.07, 0.07, s.back)


def _cat(s: Sheet) -> None:
    s.box(0.12, 0.08, 0.88, 0.84, s.light)
    s.image.paste(
        gradient(s.top, s.bottom, round(s.x(0.72)), round(s.y(0.7))),
        (round(s.x(0.14)), round(s.y(0.11))),
    )
    s.disc(s.rng.uniform(0.3, 0.7), 0.3, 0.09, s.light)
    s.box(0.49, 0.08, 0.505, 0.84, s.light)
    s.box(0.08, 0.82, 0.92, 0.88, mix(s.light, s.far, 0.3))
    x, fur = s.rng.uniform(0.32, 0.66), s.near
    s.paint.ellipse((s.x(x - 0.1), s.y(0.5), s.x(x + 0.1), s.y(0.9)), fur)
    s.disc(x, 0.47, 0.1, fur)
    s.shape([(x - 0.072, 0.45), (x - 0.062, 0.31), (x - 0.01, 0.39)], fur)
    s.shape([(x + 0.072, 0.45), (x + 0.062, 0.31), (x + 0.01, 0.39)], fur)
    side = s.rng.choice((-1, 1))
    tail = [(x + side * (0.08 + 0.012 * t), 0.83 - 0.02 * math.sin(t / 3) * t) for t in range(10)]
    s.line(tail, 0.032, fur)
    for eye in (-1, 1):
        s.disc(x + eye * 0.026, 0.465, 0.014, s.light)
        s.disc(x + eye * 0.026, 0.465, 0.007, fur)


_MOTIFS: dict[str, tuple[Callable[[Sheet], None], str, str]] = {
    "mountains": (_mountains, "Layered mountains under a low sun", "层层远山和低垂的太阳"),
    "sea": (_sea, "The sun above the sea, its light on the water", "海面上的太阳和波光"),
    "night": (_night, "Stars above a forest at night", "夜晚的树林和星空"),
    "road": (_road, "An empty road running to the horizon", "通向天边的一条空路"),
    "city": (_city, "A city at dusk, windows lit", "黄昏的城市，窗户亮着灯"),
    "bauhaus": (_bauhaus, "A poster of circles, bars and triangles", "圆、条和三角组成的海报"),
    "waves": (_waves, "A pattern of overlapping waves", "层叠的波纹图案"),
    "board": (_board, "A corner of a Go board in the middle of a game", "围棋盘的一角，正下到中盘"),
    "leaves": (_leaves, "Stems, leaves and flowers", "茎叶和花"),
    "cup": (_cup, "A steaming cup on a table", "桌上一只冒着热气的杯子"),
    "books": (_books, "A row of books on a shelf", "书架上的一排书"),
    "cat": (_cat, "A cat in front of a window", "窗前的一只猫"),
}
_BY_TOPIC = {
    "cooking": ("cup", "leaves", "bauhaus"),
    "tea": ("cup", "cup", "mountains"),
    "cycling": ("road", "road", "sea", "mountains"),
    "film": ("sea", "night", "city", "road", "mountains", "cat"),
    "go": ("board",),
    "code": ("bauhaus", "city", "waves"),
    "garden": ("leaves",),
    "hiking": ("mountains", "night", "mountains", "sea"),
    "cats": ("cat",),
    "books": ("books", "cup"),
    "music": ("waves", "bauhaus"),
    "city": ("city", "city", "night"),
}


def choose(seed: str, topic: str, language: str) -> Drawing:
    """Return a drawing that fits a topic."""
    motif = Random(seed).choice(_BY_TOPIC[topic])
    _paint, english, chinese = _MOTIFS[motif]
    return Drawing(motif, seed, chinese if language == "zh" else english)


def draw(drawing: Drawing) -> io.BytesIO:
    """Return the picture as a JPEG file."""
    sheet = Sheet(drawing.seed, WIDTH, HEIGHT)
    _MOTIFS[drawing.motif][0](sheet)
    return sheet.file()


def avatar(seed: str) -> io.BytesIO:
    """Return a square picture of a few plain shapes as a JPEG file."""
    s = Sheet(seed, AVATAR_SIDE, AVATAR_SIDE)
    form = s.rng.randrange(4)
    if form == 0:
        s.disc(0.5, s.rng.uniform(0.35, 0.5), 0.22, s.light)
        s.ridge(0.66, 0.07, s.back)
        s.ridge(0.84, 0.05, s.near)
    elif form == 1:
        for ring, colour in ((0.46, s.far), (0.34, s.light), (0.22, s.back), (0.1, s.light)):
            s.disc(s.rng.uniform(0.45, 0.55), 0.5, ring, colour)
    elif form == 2:
        for corner, colour in enumerate(s.rng.sample([s.top, s.light, *s.shapes], 4)):
            left, top = corner % 2 / 2, corner // 2 / 2
            s.box(left, top, left + 0.5, top + 0.5, colour)
            x, y = left + s.rng.choice((0, 0.5)), top + s.rng.choice((0, 0.5))
            bow = (s.x(x - 0.5), s.y(y - 0.5), s.x(x + 0.5), s.y(y + 0.5))
            start = {(0, 0): 0, (1, 0): 90, (1, 1): 180, (0, 1): 270}[x > left, y > top]
            other = s.rng.choice([c for c in (s.bottom, *s.shapes) if c != colour])
            s.paint.pieslice(bow, start, start + 90, fill=other)
    else:
        for petal in range(6):
            turn = petal * math.tau / 6 + s.rng.random() * 0.2
            s.disc(0.5 + 0.22 * math.cos(turn), 0.5 + 0.22 * math.sin(turn), 0.17, s.light)
        s.disc(0.5, 0.5, 0.15, s.back)
    return s.file()
