"""Which of the people whom a text names may see it."""

from collections.abc import Iterable

from feeds import queries as feeds_queries


def readers(user_ids: Iterable[int], post_id: int) -> set[int]:
    """Return those of a few people who may see a post."""
    return {user_id for user_id in user_ids if feeds_queries.visible_texts(user_id, [post_id])}
