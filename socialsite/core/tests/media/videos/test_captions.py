"""Captions and descriptions of videos: what is kept of a file, who may change and see it."""

import re
from collections.abc import Callable
from typing import Any

import pytest
from django.core.files.uploadedfile import SimpleUploadedFile
from django.test import Client
from hypothesis import given
from hypothesis import strategies as st
from rest_framework.test import APIClient

from accounts.models import User
from accounts.tests.browsers import browser_of, text_of
from feeds import actions
from socialsite.core.errors import InvalidInput
from socialsite.core.media import references, stored_files
from socialsite.core.media.videos import captions, jobs, uploads
from socialsite.core.media.videos.api import VTT
from socialsite.core.models import Media
from socialsite.core.tests.media.videos import samples
from socialsite.tests.support.answers import assert_error

pytestmark = pytest.mark.django_db
Make = Callable[..., Any]
VIDEOS = "/api/v1/media/videos"
HOSTILE = b"""\xef\xbb\xbfWEBVTT a title

STYLE
::cue { background: url("https://elsewhere.example/spy") }

REGION
id:fred

NOTE not for readers

one
00:01.000 --> 00:02.500 region:fred align:start line:90%
<v Ann>Good <b>morning</b>
second --> line

00:00:03.000 --> 00:00:04.000
\xe4\xbd\xa0\xe5\xa5\xbd\x07
"""
KEPT = """WEBVTT

00:00:01.000 --> 00:00:02.500 align:start line:90%
<v Ann>Good <b>morning</b>

00:00:03.000 --> 00:00:04.000
你好
"""
PLAIN = b"WEBVTT\n\n00:01.000 --> 00:02.000\nhello\n"


@pytest.fixture
def video(me: User) -> int:
    file = SimpleUploadedFile("a.mp4", samples.video())
    made = uploads.add(me.pk, file, file.size or 0)
    while jobs.work_off():
        pass
    return made.pk


def put(client: APIClient, video: int, language: str, data: bytes) -> Any:
    return client.put(f"{VIDEOS}/{video}/captions/{language}", data, content_type=VTT)


def files(video: int) -> list[str]:
    return sorted(Media.objects.get(pk=video).file_names())


# --- what is kept -------------------------------------------------------------------------------
def test_only_times_places_and_text_of_a_file_are_kept() -> None:
    found = captions.tidied(HOSTILE.replace(b"second --> line\n", b"")).decode()
    assert found == KEPT
    assert captions.tidied(found.encode()).decode() == found


@pytest.mark.parametrize(
    "data",
    [b"", b"WEBVTT", b"WEBVTT\n\nhello", b"\xff\xfe", b"<html>", b"1\n00:00:01,000 --> x\nhello"],
)
def test_what_is_no_webvtt_file_is_refused(data: bytes) -> None:
    with pytest.raises(InvalidInput):
        captions.tidied(data)


def test_large_files_and_many_captions_are_refused() -> None:
    one = b"\n00:01.000 --> 00:02.000\nx\n"
    with pytest.raises(InvalidInput):
        captions.tidied(b"WEBVTT\n" + one * (captions.CAPTIONS_MAX + 1))
    with pytest.raises(InvalidInput):
        captions.tidied(PLAIN + b"x" * captions.BYTES)


@given(st.text(alphabet=st.sampled_from("\n\r\t \x00W0:.->a<&你"), max_size=200))
def test_no_file_makes_an_error_of_the_site(text: str) -> None:
    try:
        found = captions.tidied(b"WEBVTT\n\n" + text.encode())
    except InvalidInput:
        return
    lines = found.decode().split("\n")
    assert lines[0] == "WEBVTT"
    assert all(re.match(r"\d\d+:\d\d:", line) for line in lines if "-->" in line)


# --- the API ------------------------------------------------------------------------------------
def test_captions_reach_the_posts_of_a_video(
    me: User, mine: APIClient, video: int, drain: Callable[[], None]
) -> None:
    post = actions.publish(me, kind="video", video=video, content="look")
    found = put(mine, video, "zh-Hans", PLAIN).json()
    found = put(mine, video, "en", PLAIN).json()
    assert [one["language"] for one in found["captions"]] == ["en", "zh-hans"]
    assert [one["name"] for one in found["captions"]] == ["English", "简体中文"]
    assert mine.patch(f"{VIDEOS}/{video}", {"alt": "a  hill"}, format="json").status_code == 200
    drain()
    shown = mine.get(f"/api/v1/posts/{post.pk}").json()["video"]
    assert (shown["alt"], shown["captions"]) == ("a hill", found["captions"])
    page = text_of(Client().get(f"/posts/{post.pk}"))
    track = '<track kind="captions" src="{url}" srclang="{language}" label="{name}">'
    for one in found["captions"]:
        assert track.format(**one) in page
        answer = Client().get(one["url"])
        assert answer["Content-Type"].startswith("text/vtt")
        assert b"".join(answer) == captions.tidied(PLAIN)
    assert 'aria-label="a hill"' in page


def test_captions_have_the_readers_of_their_post(
    me: User, mine: APIClient, video: int, make_user: Make, drain: Callable[[], None]
) -> None:
    (found,) = put(mine, video, "en", PLAIN).json()["captions"]
    assert browser_of(me).get(found["url"]).status_code == 200
    assert Client().get(found["url"]).status_code == 404
    post = actions.publish(me, kind="video", video=video, content="look", visibility="followers")
    drain()
    assert browser_of(make_user()).get(found["url"]).status_code == 404
    actions.delete(me, post.pk)
    drain()
    assert browser_of(me).get(found["url"]).status_code == 404
    assert not list(stored_files.path_of("").glob("*/*.vtt"))


def test_new_captions_replace_those_of_the_language(
    mine: APIClient,
    me: User,
    video: int,
    drain: Callable[[], None],
    django_capture_on_commit_callbacks: Any,
) -> None:
    actions.publish(me, kind="video", video=video, content="look")
    (old,) = put(mine, video, "en", PLAIN).json()["captions"]
    drain()
    assert stored_files.is_public(old["url"].removeprefix("/media/"))
    with django_capture_on_commit_callbacks(execute=True):
        (new,) = put(mine, video, "EN", PLAIN.replace(b"hello", b"hi")).json()["captions"]
    drain()
    assert Client().get(old["url"]).status_code == 404
    assert b"hi" in b"".join(Client().get(new["url"]))
    with django_capture_on_commit_callbacks(execute=True):
        answer = mine.delete(f"{VIDEOS}/{video}/captions/en")
    assert (answer.status_code, answer.json()["captions"]) == (200, [])
    assert mine.delete(f"{VIDEOS}/{video}/captions/en").status_code == 200
    drain()
    assert Client().get(new["url"]).status_code == 404
    assert not list(stored_files.path_of("").glob("**/*.vtt"))
    assert len(files(video)) == 2


def test_what_is_refused_changes_nothing(
    mine: APIClient, api_for: Make, make_user: Make, video: int
) -> None:
    assert_error(put(mine, video, "en", b"WEBVTT"), 400, "INVALID_INPUT", "file")
    assert_error(put(mine, video, "en", b""), 400, "INVALID_INPUT", "file")
    for language in ("e", "english", "en_GB", "x" * 40):
        assert_error(put(mine, video, language, PLAIN), 400, "INVALID_INPUT", "language")
    for language in ("en", "fr", "de", "zh-hans"):
        assert put(mine, video, language, PLAIN).status_code == 200
    assert_error(put(mine, video, "ja", PLAIN), 400, "INVALID_INPUT", "language")
    assert put(mine, video, "fr", PLAIN).status_code == 200
    long = mine.patch(f"{VIDEOS}/{video}", {"alt": "x" * 201}, format="json")
    assert_error(long, 400, "INVALID_INPUT", "alt")
    other = api_for(make_user())
    assert_error(put(other, video, "en", PLAIN), 404, "NOT_FOUND")
    assert_error(other.delete(f"{VIDEOS}/{video}/captions/en"), 404, "NOT_FOUND")
    assert_error(other.patch(f"{VIDEOS}/{video}", {"alt": "x"}, format="json"), 404, "NOT_FOUND")
    assert_error(put(APIClient(), video, "en", PLAIN), 401, "NOT_AUTHENTICATED")
    assert len(files(video)) == 6


def test_unused_captions_are_swept_with_their_video(mine: APIClient, video: int) -> None:
    put(mine, video, "en", PLAIN)
    references.drop_unused(Media.objects.filter(pk=video).select_for_update())
    assert not list(stored_files.path_of("").glob("**/*.*"))


# --- the page -----------------------------------------------------------------------------------
def test_the_page_stores_the_description_and_captions(me: User, video: int) -> None:
    browser = browser_of(me)
    path = f"/videos/{video}"
    file = SimpleUploadedFile("a.vtt", PLAIN, "text/vtt")
    sent = {"alt": "a hill", "language": "fr", "file": file}
    assert browser.post(path, sent).status_code == 303
    page = text_of(browser.get(path))
    assert "Your changes are saved." in page
    assert "français" in page
    assert "a hill</textarea>" in page
    item = Media.objects.get(pk=video)
    assert (item.alt, [one["language"] for one in item.captions]) == ("a hill", ["fr"])
    wrong = SimpleUploadedFile("a.vtt", b"hello")
    answer = browser.post(path, {"alt": "another", "language": "en", "file": wrong})
    page = text_of(answer, 400)
    assert "This is not a WebVTT file." in page
    assert "another</textarea>" in page
    item.refresh_from_db()
    assert item.alt == "a hill"  # neither is stored without the other
    assert browser.post(path, {"remove": "fr", "alt": "ignored"}).status_code == 303
    item.refresh_from_db()
    assert (item.alt, item.captions) == ("a hill", [])


def test_the_page_is_there_for_the_owner_only(me: User, video: int, make_user: Make) -> None:
    path = f"/videos/{video}"
    post = actions.publish(me, kind="video", video=video, content="look")
    assert f'href="{path}"' in text_of(browser_of(me).get(f"/posts/{post.pk}/menu"))
    other = browser_of(make_user())
    assert f'href="{path}"' not in text_of(other.get(f"/posts/{post.pk}/menu"))
    assert other.get(path).status_code == 404
    assert other.post(path, {"alt": "x"}).status_code == 404
    assert Client().get(path).status_code == 302
    assert browser_of(me).get("/videos/1").status_code == 404
