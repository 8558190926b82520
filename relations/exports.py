"""What relations adds to the archive of a person's own data; tables as Mastodon writes them."""

from collections.abc import Iterator, Sequence

from django.utils.translation import gettext_lazy as _

from accounts import queries as accounts_queries
from relations.models import FOLLOWS_ME, I_FOLLOW, Relation, Relationship
from socialsite.core.exports.parts import Field, Part, Record, Table, in_steps
from socialsite.core.times import iso

I_BLOCK = (Relation.BLACKLISTING, Relation.BI_BLACKLISTING)


def _people(user_id: int, states: Sequence[int], since: str) -> Iterator[Record]:
    """Yield the people in these states; names as of now, also of closed accounts."""
    for state in states:
        rows = Relationship.objects.filter(from_user=user_id, relation=state)
        for step in in_steps(rows, "to_user_id"):
            cards = accounts_queries.cards([row.to_user_id for row in step], closed=True)
            for row in step:
                card = cards.get(row.to_user_id)
                yield {
                    "id": str(row.to_user_id),
                    "username": card["username"] if card else "",
                    "since": iso(getattr(row, since) or 0),
                }


_FIELDS = {
    "id": Field("string", "number of the account"),
    "username": Field("string", "name now; empty for an erased account"),
    "since": Field("string", "time"),
}
FOLLOWING = Part(
    "following", _("Following"), _FIELDS, lambda who: _people(who, I_FOLLOW, "followed_at")
)
FOLLOWERS = Part(
    "followers", _("Followers"), _FIELDS, lambda who: _people(who, FOLLOWS_ME, "fan_since")
)
BLOCKS = Part(
    "blocked", _("Blocked people"), _FIELDS, lambda who: _people(who, I_BLOCK, "blocked_at")
)
PARTS = (FOLLOWING, FOLLOWERS, BLOCKS)


def _follows_table(user_id: int, host: str) -> Iterator[Sequence[str]]:
    for one in FOLLOWING.read(user_id):
        if one["username"]:
            yield (f"{one['username']}@{host}", "true", "false", "")


def _blocks_table(user_id: int, host: str) -> Iterator[Sequence[str]]:
    for one in BLOCKS.read(user_id):
        if one["username"]:
            yield (f"{one['username']}@{host}",)


TABLES = (
    Table(
        "following_accounts",
        ("Account address", "Show boosts", "Notify on new posts", "Languages"),
        _follows_table,
    ),
    Table("blocked_accounts", (), _blocks_table),
)
