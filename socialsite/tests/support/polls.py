"""Polls as a person gives them with a post."""

from feeds.content.polls.definition import Given


def given(
    *options: str, multiple: bool = False, lasts: int | None = 3600, ends_at: int | None = None
) -> Given:
    texts = list(options or ("Tea", "Coffee"))
    return Given(options=texts, multiple=multiple, ends_at=ends_at, lasts=lasts)
