"""Whole feeds compared with their definition: the places of the posts, their words and audience."""

from collections.abc import Callable
from operator import itemgetter
from typing import Any

from accounts.models import User
from feeds import queries
from feeds.discovery.tags import queries as tag_queries
from feeds.models import Post, Visibility
from feeds.visibility import visible_to
from socialsite.core.positions import Position
from socialsite.core.text.spans import tag_names

PAGE = 3


def assert_whole(person: User) -> None:
    """Walk the feed to its end and compare every page with the oracle's feed, read once.

    Each post, and each post that a repost shows, has its present words and audience.
    """
    pages = all_pages(queries.home_feed, person, PAGE, shown)
    assert pages == oracle_pages(person, PAGE)


def assert_tag(person: User, name: str) -> None:
    """Walk the page of a tag to its end: it has each visible post whose words have the tag."""
    tag = tag_queries.named(name)
    found = all_pages(lambda *args: tag_queries.posts(args[0], tag, *args[1:]), person, PAGE)
    seen = (
        visible_to(person.pk)
        .exclude(visibility=Visibility.QUIET)
        .newest_first()
        .values_list("pk", "content_row__content")
    )
    wanted = [str(pk) for pk, content in seen if name in tag_names(content)]
    assert [ident for page in found for ident in page] == wanted


# A post as a reader sees it: id, version, words and audience, and the same of the post it shows.
Shown = tuple[str, int, str, str, "Shown | None"]


def shown(card: Any) -> Shown:
    """Return what is compared of a card."""
    ref = card["ref"]
    source = None if ref is None else shown(ref)
    return card["id"], card["version"], card["content"], card["visibility"], source


def oracle_pages(person: User, size: int) -> list[list[Shown]]:
    """Return the pages of the oracle's feed, each post as the tables have it."""
    ids = [int(post["id"]) for post in queries.oracle_feed(person, None, 10**6).items]
    names = ("ref_post_id", "content_row__version", "content_row__content", "visibility")
    posts = {pk: row for pk, *row in Post.objects.values_list("pk", *names)}
    seen = set(visible_to(person.pk).values_list("pk", flat=True))

    def of(ident: int) -> Shown:
        ref, version, content, visibility = posts[ident]
        source = of(ref) if ref in seen else None
        return str(ident), version, content, visibility, source

    found = [of(ident) for ident in ids]
    return [found[start : start + size] for start in range(0, len(found), size)] or [[]]


def all_pages(
    read: Callable[..., Any],
    person: User,
    size: int,
    part: Callable[[Any], Any] = itemgetter("id"),
) -> list[list[Any]]:
    """Return all pages of a feed, of each post a part."""
    pages, cursor = [], None
    while True:
        page = read(person, cursor, size)
        pages.append([part(card) for card in page.items])
        if page.next is None:
            return pages
        cursor = Position.decode(page.next)


def assert_exact(viewer: User, size: int = 3) -> None:
    hybrid = all_pages(queries.home_feed, viewer, size)
    oracle = all_pages(queries.oracle_feed, viewer, size)
    assert hybrid == oracle
