"""Atom feeds of a person and of a tag: what guests see, the same for every reader."""

import re
from collections.abc import Sequence
from datetime import UTC, datetime

from django.http import HttpRequest, HttpResponse
from django.urls import reverse
from django.utils.feedgenerator import Atom1Feed
from django.utils.html import escape, format_html, format_html_join
from django.utils.translation import get_language
from django.utils.translation import gettext as _
from django.views.decorators.http import conditional_page, require_safe

from accounts import queries as accounts_queries
from accounts.request_auth.requests import PageRequest
from feeds import queries
from feeds.cards import repost_grouping
from feeds.cards.card import Card
from feeds.content.plain_text import plain_of
from feeds.discovery.tags import queries as tag_queries
from socialsite.core import site
from socialsite.core.requests.request_budgets import READS, takes
from socialsite.core.text.spans import beginning

SIZE, TITLE_MAX = 20, 80
VIDEO = '<br><video controls src="{}" poster="{}"></video>'
# XML 1.0, section 2.2: all other characters make a file that no reader opens.
_NOT_IN_XML = re.compile("[^\t\n\r\x20-\ud7ff\ue000-\ufffd\U00010000-\U0010ffff]")


class _Feed(Atom1Feed):
    """A feed whose file changes only with its posts: Django dates an empty one by the clock."""

    def latest_post_date(self) -> datetime:
        """Return when the feed changed last; the beginning of Unix time without posts."""
        return super().latest_post_date() if self.items else datetime.fromtimestamp(0, UTC)


@require_safe
@conditional_page
@takes(GET=READS)
def person_feed(request: PageRequest, username: str) -> HttpResponse:
    """The newest public posts of a person."""
    person = accounts_queries.by_name(username)
    posts = queries.profile_posts(None, person.pk, None, SIZE).items
    page = reverse("profile", args=[person.username])
    return _answer(request, page, person.nickname or person.username, posts)


@require_safe
@conditional_page
@takes(GET=READS)
def tag_feed(request: PageRequest, name: str) -> HttpResponse:
    """The newest public posts with a tag."""
    tag = tag_queries.named(name)
    posts = tag_queries.posts(None, tag, None, SIZE).items
    return _answer(request, reverse("tag", args=[tag.name]), f"#{tag.name}", posts)


def _answer(request: HttpRequest, page: str, title: str, posts: Sequence[Card]) -> HttpResponse:
    """Return the feed of a page; a cache must ask each time whether it is still right."""
    feed = _Feed(
        title=_allowed(f"{title} · {site.current().name}"),
        link=request.build_absolute_uri(page),
        description="",
        language=get_language(),
        feed_url=request.build_absolute_uri(request.path),
    )
    for post in posts:
        author = post["author"]
        link = request.build_absolute_uri(reverse("post", args=[post["id"]]))
        feed.add_item(
            title=_title(post),
            link=link,
            unique_id=link,
            description=_html(request, post),
            author_name=_allowed(author["nickname"] or author["username"]),
            author_link=request.build_absolute_uri(reverse("profile", args=[author["username"]])),
            pubdate=datetime.fromisoformat(post["created_at"]),
            updateddate=datetime.fromisoformat(post["edited_at"] or post["created_at"]),
            categories=post["tags"],
        )
    return HttpResponse(
        feed.writeString("utf-8"),
        content_type=feed.content_type,
        headers={"Cache-Control": "no-cache"},
    )


def _title(post: Card) -> str:
    """Return the note or title of the post that is shown, or how its words begin."""
    shown = repost_grouping.shown_by(post)
    words = shown["note"] or shown["title"] or plain_of(shown).replace("\n", " ")
    if not words and shown["poll"] is not None:
        words = " / ".join(option["text"] for option in shown["poll"]["options"])
    wordless = _("A post with a video.") if shown["video"] else _("A post with pictures.")
    return _allowed(beginning(words, TITLE_MAX) or wordless)


def _html(request: HttpRequest, post: Card) -> str:
    """Return the words and pictures of a post, and those of the post that it shows.

    Of a post with a note the note alone: its page unfolds the rest. A post without words has its
    title instead.
    """
    words = post["note"] or plain_of(post) or post["title"]
    parts = [str(escape(words)).replace("\n", "<br>")]
    shown = [] if post["note"] or post["sensitive"] else post["images"]
    images = [(request.build_absolute_uri(one["url"]), one["alt"]) for one in shown]
    if post["poll"] is not None and not post["note"]:
        options = format_html_join(
            "", "<li>{}</li>", ((one["text"],) for one in post["poll"]["options"])
        )
        parts.append(f"<ul>{options}</ul>")
    video = post["video"]
    if video is not None and video["url"] and not (post["note"] or post["sensitive"]):
        addresses = [request.build_absolute_uri(video[name]) for name in ("url", "poster")]
        parts.append(format_html(VIDEO, *addresses))
    parts.append(format_html_join("", '<br><img src="{}" alt="{}">', images))
    source = post["ref"]
    if source is not None:
        name = escape(source["author"]["nickname"] or source["author"]["username"])
        parts.append(f"<blockquote><p>{name}:</p>{_html(request, source)}</blockquote>")
    return _allowed("".join(parts))


def _allowed(text: str) -> str:
    return _NOT_IN_XML.sub("", text)
