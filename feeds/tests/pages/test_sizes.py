"""The home page has at most 60 kB of HTML before pictures, its scripts 45 kB compressed."""

import gzip
import re
from io import BytesIO
from pathlib import Path
from typing import Any

import pytest
from django.contrib.staticfiles import finders
from django.core.files.uploadedfile import SimpleUploadedFile
from PIL import Image

from accounts.tests.browsers import browser_of
from feeds import actions, queries
from feeds.views.pages import PAGE_SIZE
from interactions import actions as interactions_actions
from interactions.models import SubjectType
from relations import actions as relations_actions
from socialsite.core.media import pictures

pytestmark = [pytest.mark.django_db, pytest.mark.usefixtures("media_root")]

HTML_BYTES = 60_000
SCRIPT_BYTES = 45_000
SCRIPT = re.compile(r'(?:src|data-complete)="/static/([^"]+\.js)"')
WORDS = (
    "Today the river stood still, and so did we. Thanks to @someone1 for the boat!",
    "春天来了,花都开了。今天和朋友去了公园,拍了很多照片,晚上回来整理。",
    "A word on tea & rain: https://site.example/articles/1 is worth reading, says @someone2.",
)


def images(author: Any, number: int) -> list[int]:
    """Store pictures and return their ids."""
    files: list[Any] = []
    for _ in range(number):
        file = BytesIO()
        Image.new("RGB", (30, 20), "red").save(file, "PNG")
        files.append((SimpleUploadedFile("a.png", file.getvalue(), "image/png"), "The river"))
    return [item.pk for item in pictures.store_all(author.pk, files)]


def publish_typical_posts(make_post: Any, authors: list[Any], stranger: Any) -> None:
    """Publish as many posts as a page has: of each kind, some with pictures, some reposts."""
    for number in range(PAGE_SIZE - 5):
        author = authors[number % len(authors)]
        shown = images(author, number // 4) if number % 4 == 0 else []
        make_post(author, content=" ".join(WORDS[: number % 3 + 1]), images=shown)
    long = "\n\n".join(WORDS) * 5
    article = make_post(authors[0], kind="article", title="Notes on the river", content=long)
    video = "https://videos.example/watch?v=abcdefg"
    make_post(authors[1], kind="video", title="The river", video_url=video, content=WORDS[0])
    make_post(authors[2], content=WORDS[0], visibility="followers")
    # Of a post that would not be on the page, and with words of one that is.
    other = make_post(stranger, kind="article", title="Notes on the sea", content=long)
    actions.repost(authors[3], other.pk, "")
    actions.repost(authors[4], article.pk, WORDS[0])


@pytest.mark.parametrize("language", ["en", "zh-hans"])
def test_a_home_page_of_typical_posts_has_at_most_60_kb_of_html(
    make_user: Any, make_post: Any, language: str
) -> None:
    reader, *authors = (make_user(f"someone{n}", nickname=f"Somebody某人{n}") for n in range(8))
    for author in authors:
        relations_actions.follow(reader, author)
    publish_typical_posts(make_post, [reader, *authors], make_user())
    browser = browser_of(reader)
    for post in queries.home_feed(reader, None, PAGE_SIZE).items[::3]:
        interactions_actions.like(reader, SubjectType.POST, int(post["id"]))
    page = browser.get("/", headers={"accept-language": language}).content
    assert page.count(b"<article") == PAGE_SIZE
    assert len(page) <= HTML_BYTES


def test_the_scripts_of_every_page_have_at_most_45_kb_compressed(me: Any, make_post: Any) -> None:
    post, browser = make_post(me), browser_of(me)
    pages = ("/", f"/posts/{post.pk}", f"/posts/{post.pk}/edit", "/settings/profile", "/welcome")
    for address in (*pages, "/notifications"):
        names = SCRIPT.findall(browser.get(address).content.decode())
        assert len(names) > 5
        assert sum(compressed(name) for name in names) <= SCRIPT_BYTES


def compressed(name: str) -> int:
    """Return the bytes of a script that a page loads, with those that it may load when used."""
    path = finders.find(re.sub(r"\.[0-9a-f]{12}\.js$", ".js", name))
    assert path is not None
    return len(gzip.compress(Path(path).read_bytes()))
