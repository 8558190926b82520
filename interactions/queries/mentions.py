"""People whom a text names and who may not see it, so that its author knows before sending."""

from accounts import queries as accounts_queries
from accounts.models import User
from interactions.mentions import readers
from relations import queries as relations_queries
from socialsite.core.text.mentions import usernames

FOLLOWERS = ("FOLLOWED", "BI_FOLLOWING")
STRANGERS = (None, "FOLLOWING")


def unseen_in_post(author: User, text: str, visibility: str, before: str = "") -> list[str]:
    """Return the usernames of those named in a post, and not in `before`, who may not see it."""
    seeing: tuple[str | None, ...] = (*FOLLOWERS, *STRANGERS)
    if visibility == "followers":
        seeing = FOLLOWERS
    elif visibility == "self" or (visibility == "mentioned" and before):
        # Nobody is added to the named people of a post.
        seeing = ()
    return [
        name for name, _ident, relation in _named(author, text, before) if relation not in seeing
    ]


def unseen_in_comment(author: User, text: str, post_id: int, before: str = "") -> list[str]:
    """Return the usernames of those named in a comment, and not in `before`, who do not see it."""
    named = _named(author, text, before)
    seeing = readers((ident for _name, ident, _relation in named), post_id)
    shown = (*FOLLOWERS, *STRANGERS)
    return [name for name, ident, relation in named if ident not in seeing or relation not in shown]


def _named(author: User, text: str, before: str) -> list[tuple[str, int, str | None]]:
    """Return username, id and the author's relation of each person whom a text names newly."""
    names = [name for name in usernames(text) if not before or name not in usernames(before)]
    found = accounts_queries.ids_by_name(names) if names else {}
    states = relations_queries.relations_of(author.pk, found.values()) if found else {}
    return [
        (name, found[name], relations_queries.name(states[found[name]]))
        for name in names
        if name in found and found[name] != author.pk
    ]
