"""Originals behind reposts: a page shows each post once, however many people reposted it.

Feeds stay exact lists of posts and reposts. The functions here say which items of one page show a
post that an earlier item shows; those who show the page leave them out.
"""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from typing import Any

from feeds.models import Kind

REPOST = Kind.REPOST.value


@dataclass(slots=True)
class Shown:
    """A post of a page, and who brought it there by a repost without words.

    `reposters` are authors, in the order of the page, without the reader; `is_own` is true if the
    reader reposted it.
    """

    post: Mapping[str, Any]
    reposters: list[Mapping[str, Any]] = field(default_factory=list)
    is_own: bool = False


def shown_by(card: Mapping[str, Any]) -> Mapping[str, Any]:
    """Return the post that a card shows: that of a repost without words, if it may be seen."""
    if card["kind"] == REPOST and card["ref"] is not None and not card["content"]:
        source: Mapping[str, Any] = card["ref"]
        return source
    return card


def once(cards: Iterable[Mapping[str, Any] | None]) -> list[Shown | None]:
    """Return for each card what to show in its place, None for a post that is already shown."""
    shown: dict[str, Shown] = {}
    places: list[Shown | None] = []
    for card in cards:
        if card is None:
            places.append(None)
            continue
        post = shown_by(card)
        found = shown.get(post["id"])
        if found is None:
            found = shown[post["id"]] = Shown(post)
            places.append(found)
        else:
            places.append(None)
        if post is not card and card["mine"]:
            found.is_own = True
        elif post is not card:
            found.reposters.append(card["author"])
    return places


def repeats(cards: Iterable[Mapping[str, Any]]) -> list[bool]:
    """Return for each card whether an earlier one of them shows the same post."""
    return [shown is None for shown in once(cards)]
