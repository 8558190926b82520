"""Hostile files: none ends in an error of the site, leaves a file, or makes a program open another.

`HOSTILE_VIDEOS=200` in the environment tries more of them.
"""

import http.server
import io
import logging
import os
import random
import struct
import threading
from collections import Counter
from collections.abc import Callable, Iterator
from typing import Any

import pytest

from socialsite.core.errors import PayloadTooLarge, UnsupportedMedia
from socialsite.core.media.videos import jobs, probing, sources, uploads
from socialsite.core.media.videos.failures import Refused
from socialsite.core.models import Video
from socialsite.core.tests.media.videos import samples

pytestmark = [pytest.mark.django_db, pytest.mark.once, pytest.mark.timeout(1200)]
SEED = 21
COUNT = int(os.environ.get("HOSTILE_VIDEOS", "30"))
Make = Callable[..., Any]


def bases() -> list[bytes]:
    pieces = (*samples.H264, "-c:a", "aac", "-movflags", "frag_keyframe+empty_moov")
    return [
        samples.video(),
        samples.webm(),
        samples.video(suffix="mov"),
        samples.video(*pieces),
    ]


def mutated(dice: random.Random) -> bytes:
    """Return a video with damage: wrong lengths, types, sides, times, missing parts."""
    data = bytearray(dice.choice(bases()))
    for _ in range(dice.randrange(1, 6)):
        how = dice.randrange(7)
        place = dice.randrange(16, len(data))
        if how == 0:
            data[place] ^= 1 << dice.randrange(8)
        elif how == 1:
            del data[place:]
        elif how == 2:
            data[place : place + 4] = dice.choice((b"\xff\xff\xff\xff", b"\0\0\0\0", b"\0\0\0\1"))
        elif how == 3:
            length = dice.randrange(1, 5000)
            data[place : place + length] = dice.randbytes(length)
        elif how == 4:
            data[place:place] = data[16:place][:20_000]
        elif how == 5:
            name = dice.choice((b"stts", b"stsz", b"stco", b"stsc", b"tkhd", b"mdhd", b"avc1"))
            at = data.find(name)
            if at > 0:
                data[at + 8 : at + 40] = dice.choice((b"\xff", b"\x7f", b"\0")) * 32
        else:
            at = data.find(b"avcC")
            if at > 0:
                data[at + 8 : at + 30] = dice.randbytes(22)
        if len(data) < 64:
            return bytes(data) + dice.randbytes(64)
    return bytes(data)


@pytest.mark.slow(reason="converts damaged videos")
def test_damaged_videos_end_as_ready_or_failed(put: Make, settings: Any) -> None:
    settings.VIDEO_SECONDS = 5
    dice = random.Random(SEED)
    states: list[str] = []
    for number in range(COUNT):
        data = mutated(dice)
        try:
            video = put(data)
        except UnsupportedMedia:
            states.append("refused")
            continue
        while jobs.work_off():
            pass
        video.refresh_from_db()
        assert video.state in ("ready", "failed"), number
        assert video.tries == 1, f"{number} raised something unexpected"
        assert list(sources.folder().iterdir()) == [], number
        states.append(video.failure or video.state)
    assert {"ready", "broken"} <= set(states)
    logging.getLogger(__name__).info("%s", Counter(states))


def test_damaged_videos_are_refused_in_words_where_nothing_is_converted(settings: Any) -> None:
    settings.VIDEO_CONVERSION = False
    dice = random.Random(SEED)
    refused = 0
    for _ in range(10 * COUNT):
        data = mutated(dice)
        try:
            uploads.add(1, io.BytesIO(data), len(data))
        except (UnsupportedMedia, PayloadTooLarge):
            refused += 1
    assert 0 < refused < 10 * COUNT
    assert list(sources.folder().iterdir()) == []


# --- files that name other files ----------------------------------------------------------------
@pytest.fixture
def asked() -> Iterator[tuple[int, list[str]]]:
    """A server of this machine: its port, and the paths that it was asked for."""
    paths: list[str] = []

    class Handler(http.server.BaseHTTPRequestHandler):
        def do_GET(self) -> None:
            paths.append(self.path)
            self.send_error(404)

        def log_message(self, *args: object) -> None:
            """Say nothing."""

    server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    thread = threading.Thread(target=server.serve_forever, args=(0.05,))
    thread.start()
    yield server.server_port, paths
    server.shutdown()
    server.server_close()
    thread.join()


def tricks(port: int) -> dict[str, bytes]:
    there = f"http://127.0.0.1:{port}/secret"
    playlist = f"#EXTM3U\n#EXTINF:1,\n{there}\n#EXTINF:1,\nfile:///etc/passwd\n#EXT-X-ENDLIST\n"
    concat = f"ffconcat version 1.0\nfile '/etc/passwd'\nfile '{there}'\n"
    schema = "urn:mpeg:dash:schema:mpd:2011"
    dash = f'<?xml version="1.0"?><MPD xmlns="{schema}"><BaseURL>{there}</BaseURL></MPD>'
    sdp = "v=0\nc=IN IP4 127.0.0.1\nm=video 5004 RTP/AVP 96\n"
    svg = f'<svg xmlns="http://www.w3.org/2000/svg"><image href="{there}"/></svg>'
    box = struct.pack(">I4s4sI", 16, b"ftyp", b"isom", 0)
    texts = {"hls": playlist, "concat": concat, "dash": dash, "sdp": sdp, "svg": svg}
    found = {name: text.encode() for name, text in texts.items()}
    # The same behind the beginning of an MP4, and of a Matroska file.
    found |= {f"{name} in mp4": box + text.encode() for name, text in texts.items()}
    found |= {f"{name} in mkv": b"\x1a\x45\xdf\xa3" + text.encode() for name, text in texts.items()}
    return found


def test_no_file_makes_a_program_open_another(put: Make, asked: tuple[int, list[str]]) -> None:
    port, paths = asked
    for name, data in tricks(port).items():
        try:
            video = put(data + b"\n" * 64)
        except UnsupportedMedia:
            assert " in " not in name
            continue
        while jobs.work_off():
            pass
        video.refresh_from_db()
        assert (video.state, video.failure) == ("failed", "broken"), name
    assert paths == []


def test_the_programs_take_no_container_but_the_two(asked: tuple[int, list[str]]) -> None:
    """Also of a file whose first bytes were wrongly believed."""
    port, paths = asked
    for name, data in tricks(port).items():
        path = sources.path_of(sources.write(io.BytesIO(data)))
        for container in (probing.MP4, probing.MATROSKA):
            options = probing.input_options(path, container)
            with pytest.MonkeyPatch.context() as patch:
                patch.setattr(probing, "container_at", lambda path, found=container: found)
                with pytest.raises(Refused):
                    probing.probe(path)
            assert options[options.index("-protocol_whitelist") + 1] == "file", name
    assert paths == []


def test_a_reference_to_an_outer_file_is_not_followed(put: Make) -> None:
    """A track of a QuickTime file may say that its pictures are in another file."""
    data = bytearray(samples.video(suffix="mov"))
    at = data.index(b"alis") if b"alis" in data else data.index(b"url ")
    data[at + 4 : at + 8] = b"\0\0\0\0"  # not in this file
    video = put(bytes(data))
    while jobs.work_off():
        pass
    video.refresh_from_db()
    assert Video.objects.get(pk=video.pk).state in ("ready", "failed")
