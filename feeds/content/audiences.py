"""The named people of a post: fixed when it gets the audience MENTIONED; nobody is ever added.

So the deliveries and backfills that left somebody out stay right.
"""

from collections.abc import Collection

from django.utils.translation import gettext as _

from accounts import queries as accounts_queries
from feeds.content.plain_text import signs
from feeds.models import OPEN, Post, PostAudience, Visibility
from relations import queries as relations_queries
from socialsite.core.errors import InvalidInput
from socialsite.core.text.mentions import usernames


def named_in(author_id: int, kind: str, content: str) -> set[int]:
    """Return the people other than the author whom a text names; raises InvalidInput if none."""
    names = usernames(signs(kind, content))
    people = set(accounts_queries.ids_by_name(names).values()) if names else set()
    people.discard(author_id)
    if not people:
        message = _("Name at least one person with @, or choose who else can see it.")
        raise InvalidInput(fields={"visibility": [message]})
    return people


def write(post: Post, people: Collection[int]) -> None:
    """Store the named people of a post."""
    PostAudience.objects.bulk_create(PostAudience(post=post, user_id=user) for user in people)


def narrower(one: str, other: str) -> str:
    """Return the narrower of two audiences, by their names alone."""
    return max(one, other, key=Visibility.values.index)


def of(post_id: int) -> set[int]:
    """Return the named people of a post."""
    return set(PostAudience.objects.filter(post_id=post_id).values_list("user_id", flat=True))


def erase(post_id: int) -> None:
    """Erase the named people of a post."""
    PostAudience.objects.filter(post_id=post_id).delete()


def narrow(post: Post, wanted: str, content: str) -> None:
    """Change the audience of a post to a narrower one, that of the row as well.

    For MENTIONED these are the people named in its words who could see it before. Raises
    InvalidInput if there are none.
    """
    if post.visibility == Visibility.MENTIONED:
        erase(post.pk)
    if wanted == Visibility.MENTIONED:
        people = named_in(post.author_id, post.kind, content)
        if post.visibility not in OPEN:
            followers = relations_queries.follower_ids(post.author_id)
            people &= set(followers.filter(to_user_id__in=people))
        if not people:
            message = _("None of the people named in the post could see it until now.")
            raise InvalidInput(fields={"visibility": [message]})
        write(post, people)
    post.visibility = wanted
