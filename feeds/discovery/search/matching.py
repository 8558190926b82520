"""Compare a post with a question by its present words: the definition of the search.

The index must propose every post that matches, see `feeds.discovery.search.indexing`.
"""

from collections.abc import Mapping
from typing import Any, NamedTuple

from feeds.content.plain_text import plain_of
from feeds.discovery.search.language import Question, Terms
from feeds.models import Kind, Visibility
from socialsite.core.search import words


class Text(NamedTuple):
    """The parts of a post that the search reads."""

    title: str
    note: str
    content: str
    options: tuple[str, ...]
    tags: tuple[str, ...]
    author: str
    has_image: bool
    position: int

    def split(self) -> str:
        """Return the split words of all its texts; a phrase never goes from one to the next."""
        return "\n".join(words.split(one) for one in (self.title, *self.body()) if one)

    def body(self) -> tuple[str, ...]:
        """Return the texts below the title."""
        return (self.note, self.content, *self.options)


def is_found(kind: str, content: str, visibility: str) -> bool:
    """Return whether searches find a post: neither a repost without words nor a quiet post."""
    return visibility != Visibility.QUIET and (kind != Kind.REPOST or bool(content))


def text_of(card: Mapping[str, Any]) -> Text | None:
    """Return what is searched of a card; None if no search finds the post."""
    if not is_found(card["kind"], card["content"], card["visibility"]):
        return None
    return Text(
        title=card["title"],
        note=card["note"],
        content=plain_of(card),
        options=tuple(option["text"] for option in card["poll"]["options"]) if card["poll"] else (),
        tags=tuple(card["tags"]),
        author=card["author"]["username"].lower(),
        has_image=bool(card["images"]),
        position=card["position"],
    )


def matches(question: Question, card: Mapping[str, Any]) -> bool:
    """Return whether a card, as a reader sees it, matches a question."""
    text = text_of(card)
    return text is not None and matches_text(question, text)


def matches_text(question: Question, text: Text) -> bool:
    """Return whether a post has everything wanted and nothing unwanted."""
    if not question.since <= text.position < question.until:
        return False
    wanted, unwanted = question.wanted, question.unwanted
    if not all(author == text.author for author in wanted.authors):
        return False
    if (wanted.image and not text.has_image) or not set(wanted.tags) <= set(text.tags):
        return False
    if _has_unwanted(unwanted, text):
        return False
    if not wanted.needles and not unwanted.needles:
        return True
    split = text.split()
    has_all = all(needle in split for needle in wanted.needles)
    return has_all and not any(needle in split for needle in unwanted.needles)


def _has_unwanted(unwanted: Terms, text: Text) -> bool:
    return (
        text.author in unwanted.authors
        or (unwanted.image and text.has_image)
        or not set(unwanted.tags).isdisjoint(text.tags)
    )
