"""The plain words of posts: an article is Markdown, every other text is as it is shown."""

from collections.abc import Mapping
from typing import Any

from feeds.models import Kind
from socialsite.core.text import markdown
from socialsite.core.text.spans import tag_names


def plain(kind: str, content: str) -> str:
    """Return the words of a text of this kind of post, without signs of Markdown."""
    return markdown.read(content).prose if kind == Kind.ARTICLE else content


def plain_of(card: Mapping[str, Any]) -> str:
    """Return the same for a card, which has the words already.

    Empty for an article that has only a rule, or pictures without a description.
    """
    words: str = card["content"] if card["prose"] is None else card["prose"]
    return words


def signs(kind: str, content: str) -> str:
    """Return a text that has the names and tags of a text: of an article those outside code."""
    return markdown.read(content).signs if kind == Kind.ARTICLE else content


def tags_of(kind: str, content: str) -> list[str]:
    """Return the names of the tags of a text, each once, in their order."""
    return tag_names(signs(kind, content))
