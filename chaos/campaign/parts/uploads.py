"""Hostile pictures: mutated, polyglots, bombs.

A stored file must be a clean, re-encoded picture.
"""

import io
import random
import struct
import zlib
from collections.abc import Iterator

from PIL import Image

from chaos.campaign.client import Client
from chaos.campaign.journal import Journal
from chaos.campaign.site.people import V1, Person, make_people
from chaos.campaign.site.requests import Form, Request, Upload
from chaos.campaign.site.sites import Site
from socialsite.core.tests.media.hostile_pictures import HOSTILE
from socialsite.tests.support.pictures import REFUSED, encoded, picture, png_of_size

PART = "uploads"
SMUGGLED = b"<script>alert('zzsmuggled')</script>PK\x03\x04<?php zzsmuggled ?>"
MARKS = (b"zzsmuggled", b"<script", b"PK\x03\x04")
KINDS = ("PNG", "JPEG", "WEBP", "GIF")
NAMES = ("a.png", "a.svg", "../../a.png", "a.png\x00.php", "a" * 300 + ".png", "é\u202e.gnp", "")


def _png(width: int, height: int, *, bits: int = 1) -> bytes:
    """Return a valid PNG of many pixels in few bytes."""

    def chunk(name: bytes, body: bytes) -> bytes:
        crc = zlib.crc32(name + body)
        return struct.pack(">I", len(body)) + name + body + struct.pack(">I", crc)

    row = b"\0" * (1 + (width * bits + 7) // 8)
    squeezed = zlib.compressobj(9)
    pixels = b"".join(squeezed.compress(row) for _ in range(height)) + squeezed.flush()
    head = struct.pack(">IIBBBBB", width, height, bits, 0, 0, 0, 0)
    parts = chunk(b"IHDR", head) + chunk(b"IDAT", pixels) + chunk(b"IEND", b"")
    return b"\x89PNG\r\n\x1a\n" + parts


def bombs() -> Iterator[tuple[str, bytes]]:
    """Yield pictures that cost much more than their size suggests."""
    yield "25,000,000 x 1", _png(25_000_000, 1, bits=8)
    yield "1 x 25,000,000", _png(1, 25_000_000)
    yield "5,000 x 5,000", _png(5000, 5000)
    yield "60,000 x 60,000 claimed", png_of_size(60_000, 60_000)
    yield "2,000,000,000 x 2 claimed", png_of_size(2_000_000_000, 2)
    yield "16,384 x 1,500", _png(16_384, 1500, bits=8)
    frames = [Image.new("P", (300, 300), number) for number in range(200)]
    for name, make in HOSTILE.items():
        yield name, make()
    yield "200 frames", encoded(frames[0], "GIF", save_all=True, append_images=frames[1:])


def polyglots() -> Iterator[tuple[str, bytes]]:
    """Yield pictures that are also files of another format."""
    for kind in KINDS:
        yield f"{kind} and a script", picture(kind=kind) + SMUGGLED
    yield "GIF with a comment", encoded(Image.new("P", (9, 9)), "GIF", comment=SMUGGLED)
    exif = Image.Exif()
    exif[0x010E] = SMUGGLED.decode("latin-1")
    yield "JPEG with EXIF", picture(kind="JPEG", exif=exif, comment=SMUGGLED)


def mutated(dice: random.Random, count: int) -> Iterator[tuple[str, bytes]]:
    """Yield pictures with broken parts."""
    noise = Image.effect_noise((120, 90), 80)
    bases = [encoded(noise, kind) for kind in KINDS]
    bases += [encoded(noise.convert("RGBA"), kind) for kind in ("PNG", "WEBP")]
    bases += [encoded(noise.convert("CMYK"), "JPEG"), encoded(noise, "JPEG", progressive=True)]
    for number in range(count):
        data = bytearray(dice.choice(bases))
        way = dice.choice(("flip", "cut", "repeat", "fill", "head", "join"))
        place = dice.randrange(len(data))
        if way == "flip":
            for _ in range(dice.choice((1, 3, 30))):
                data[dice.randrange(len(data))] ^= 1 << dice.randrange(8)
        elif way == "cut":
            del data[place : place + dice.choice((1, 40, len(data)))]
        elif way == "repeat":
            part = data[place : place + 400]
            data[place:place] = part * dice.choice((1, 5, 200))
        elif way == "fill":
            length = dice.randrange(1, 64)
            data[place : place + length] = bytes([dice.choice((0, 255, 65))]) * length
        elif way == "head":
            data[dice.randrange(min(64, len(data)))] = dice.randrange(256)
        else:
            data += dice.choice(bases)
        yield f"{way} {number}", bytes(data)


class Uploads:
    """A person who uploads all of them."""

    def __init__(self, site: Site, journal: Journal, seed: int, count: int) -> None:
        self.site, self.journal, self.count = site, journal, count
        self.dice = random.Random(f"{seed} {PART}")
        self.client = Client(site, journal, PART)
        made = make_people(site, self.client.wire, *(f"upload{n:02}" for n in range(3)))
        self.people = [*made.values()]
        self.kept = 0

    def run(self) -> None:
        """Upload everything, and check the files that are served."""
        self._upload("control", picture(), must=True)
        for name, data in mutated(self.dice, self.count):
            self._upload(name, data)
        for name, data in (*polyglots(), *REFUSED.items()):
            self._upload(name, data)
        for name, data in bombs():
            self._upload(name, data)

    def _upload(self, name: str, data: bytes, *, must: bool = False) -> None:
        person = self.dice.choice(self.people)
        called = self.dice.choice(NAMES) if not must else "a.png"
        kind = self.dice.choice(("image/png", "text/html", "image/svg+xml", "x"))
        file = Upload(called.replace('"', ""), data, kind)
        request = Request("POST", f"{V1}media", body=Form((("file", file), ("alt", name))))
        answer = self.client.send(request, person)
        if answer.status != 201:
            if must:
                self.journal.find("control", PART, f"{name}: {answer.status}", request)
            return
        self.kept += 1
        found = answer.json()
        for address in (found["url"], found["thumb"]):
            self._look_at(name, address, person, must=must)

    def _look_at(self, name: str, address: str, person: Person, *, must: bool) -> None:
        """Check that the file served to the owner is safe for a browser."""
        request = Request("GET", address)
        answer = self.client.send(request, person)
        wrong: list[str] = []
        if must and answer.status != 200:
            self.journal.find("control", PART, f"{name} is not served: {answer.status}", request)
        if answer.status == 200:
            wrong += [mark.decode("latin-1") for mark in MARKS if mark in answer.body]
            if not answer.header("Content-Type").startswith("image/"):
                wrong.append(answer.header("Content-Type"))
            if answer.header("X-Content-Type-Options") != "nosniff":
                wrong.append("may be sniffed")
            with Image.open(io.BytesIO(answer.body)) as served:
                if served.getexif() or "icc_profile" in served.info:
                    wrong.append("has metadata")
        if wrong and self.journal.first("leak", f"upload {wrong}"):
            self.journal.find("leak", PART, f"{name} is served with {wrong}", request)
