"""The home page has at most 60 kB of HTML before pictures, a page 45 kB of compressed scripts."""

import gzip
import posixpath
import re
from io import BytesIO
from pathlib import Path
from typing import Any

import pytest
from django.conf import settings
from django.contrib.staticfiles import finders
from django.core.files.uploadedfile import SimpleUploadedFile
from django.test import Client, RequestFactory, override_settings
from PIL import Image

from accounts.tests.browsers import browser_of, text_of
from feeds import actions, queries
from feeds.drafts import actions as draft_actions
from interactions import actions as interactions_actions
from interactions.models import SubjectType
from relations import actions as relations_actions
from socialsite.core.http.page_sizes import PAGE_SIZE
from socialsite.core.media import pictures
from socialsite.core.rate_limits import allowances
from socialsite.core.rate_limits.budget import Rate
from socialsite.core.requests import request_budgets
from socialsite.core.runtime import vapid

pytestmark = [pytest.mark.django_db, pytest.mark.usefixtures("media_root")]

HTML_BYTES = 60_000
SCRIPT_BYTES, WORKER_BYTES = 45_000, 4_000
# With the script of the opened composer, for pictures; and with that of a chosen video.
COMPOSER_BYTES, FILM_BYTES = 46_500, 49_500
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


def source_of(name: str) -> Path:
    """Return the file of a static file, whose name may have a hash."""
    return Path(finders.find(re.sub(r"\.[0-9a-f]{12}(\.\w+)$", r"\1", name)) or "")


def scripts_of(page: str) -> set[Path]:
    """Return the files of the scripts that a page loads, now or later, with their imports."""
    names = re.findall(r'<script[^>]* src="/static/([^"]+)"', page)
    assert len(names) == page.count("<script")
    names += re.findall(r'data-complete="/static/([^"]+)"', page)
    return imported(names)


def imported(names: list[str]) -> set[Path]:
    """Return the files of scripts, and of those that they import."""
    found: set[Path] = set()
    while names:
        name = names.pop()
        path = source_of(name)
        if path not in found:
            found.add(path)
            text, folder = path.read_text(), posixpath.dirname(name)
            imports = re.findall(r'^import [^;]*?"(\.{1,2}/[^"]+)"', text, re.MULTILINE)
            # No form of an import is missed.
            assert len(imports) == len(re.findall(r"^import\b|^export .* from ", text, re.M))
            names += [posixpath.normpath(f"{folder}/{other}") for other in imports]
    return found


def compressed(path: Path) -> int:
    """Return the size of a file as nginx sends it, without the hashes in the names it imports."""
    return len(gzip.compress(path.read_bytes()))


@override_settings(VAPID_PRIVATE_KEY=vapid.new())
def test_each_page_loads_at_most_45_kb_of_scripts_compressed(
    make_user: Any, make_post: Any
) -> None:
    me = make_user("sizes1")
    post = make_post(me, content="hello")
    draft = draft_actions.create(me, {"content": "later"})
    browser = browser_of(me)
    paths = ["/", "/recommended", "/search", "/notifications", "/bookmarks", "/drafts", "/welcome"]
    paths += ["/@sizes1", f"/posts/{post.pk}", f"/posts/{post.pk}/edit", f"/drafts/{draft.pk}"]
    paths += [f"/settings/{name}" for name in ("profile", "devices", "notifications", "password")]
    loaded: set[Path] = set()
    for path in paths:
        answer = browser.get(path)
        assert answer.status_code == 200, path
        page = text_of(answer)
        scripts = scripts_of(page)
        assert sum(map(compressed, scripts)) <= SCRIPT_BYTES, path
        has_way_back = "scroll_restore.js" in {script.name for script in scripts}
        assert has_way_back or 'id="feed"' not in page, path
        loaded |= scripts
        if path == "/":
            composer, film = (
                imported(re.findall(rf'data-{name}="/static/([^"]+)"', page))
                for name in ("pictures", "script")
            )
            assert "pictures.js" in {script.name for script in composer}
            assert "videos.js" in {script.name for script in film}
            assert sum(map(compressed, scripts | composer)) <= COMPOSER_BYTES
            assert sum(map(compressed, scripts | composer | film)) <= FILM_BYTES
            loaded |= composer | film
    # No script is missing in this comparison.
    loaded |= scripts_of(Client().get("/login").content.decode())
    with override_settings(BUDGETS=settings.BUDGETS | {"sign_up": Rate(2, 1)}):
        allowances.spend(request_budgets.of_sign_up(RequestFactory().get("/"), ""))  # half of it
        loaded |= scripts_of(Client().get("/register").content.decode())
    scripts = {*(settings.BASE_DIR / "static" / "js").rglob("*.js")}
    assert scripts <= loaded


def test_the_service_worker_has_at_most_4_kb_compressed() -> None:
    worker = Client().get("/sw.js")
    assert len(gzip.compress(worker.content)) <= WORKER_BYTES
