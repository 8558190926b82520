"""Telling connected readers that there is something new; their page then asks for the count."""

from collections.abc import Iterable

from accounts import sockets
from accounts.models import User
from relations import queries as relations

BATCH = 1000


def anybody() -> bool:
    """True when somebody, whoever, has a page open, or Redis does not say."""
    return sockets.anyone_perhaps_online()


def watching(ids: Iterable[int]) -> set[int]:
    """Return those who have a page open, or all when Redis does not say."""
    return sockets.perhaps_online(ids)


def tell(ids: Iterable[int]) -> None:
    """Tell them of one new post; never raises, may be late, twice or lost."""
    if found := list(ids):
        sockets.push(found, {"type": "new_posts", "count": 1})


def online_followers(author_id: int) -> Iterable[list[int]]:
    """Yield the followers of an author who have a page open, in batches; nobody of one banned.

    Nobody when Redis does not say: they may be millions, and their sockets make up for it.
    """
    if not anybody() or not User.objects.active().filter(pk=author_id).exists():
        return
    everybody = sorted(sockets.all_online() - {author_id})
    for start in range(0, len(everybody), BATCH):
        batch = everybody[start : start + BATCH]
        yield list(relations.follower_ids(author_id).filter(to_user_id__in=batch))
