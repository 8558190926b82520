"""The kinds of notifications. A new kind needs an entry here, a sentence, and an event.

`value` is stored in tables and `name` is used in the API: neither ever changes.
"""

from typing import Literal, NamedTuple

Subject = Literal["post", "comment", "user"]
Choice = Literal["everyone", "following", "nobody"]


class Kind(NamedTuple):
    """One kind of notification about one type of subject."""

    value: int
    name: str
    subject: Subject
    # Sent by staff: names nobody, cannot be muted, and the subject may be gone.
    official: bool = False


LIKED_POST = Kind(1, "liked", "post")
LIKED_COMMENT = Kind(2, "liked", "comment")
COMMENTED = Kind(3, "commented", "post")
REPLIED = Kind(4, "replied", "comment")
MENTIONED_IN_POST = Kind(5, "mentioned", "post")
MENTIONED_IN_COMMENT = Kind(6, "mentioned", "comment")
FOLLOWED = Kind(7, "followed", "user")
REMOVED_POST = Kind(8, "moderation", "post", official=True)
REMOVED_COMMENT = Kind(9, "moderation", "comment", official=True)
REPOSTED = Kind(10, "reposted", "post")
ENDED_POLL = Kind(11, "poll", "post")
# The end of one's own poll; it names nobody.
ENDED_OWN_POLL = Kind(12, "poll", "post")
# About the reader: each decision of staff is a cause of its own.
DECIDED = Kind(13, "moderation", "user", official=True)
# What became of a report of the reader; its reason is a value of `models.Answer`.
REPORTED_POST = Kind(14, "report", "post", official=True)
REPORTED_COMMENT = Kind(15, "report", "comment", official=True)
REPORTED_PERSON = Kind(16, "report", "user", official=True)

KINDS = (
    LIKED_POST,
    LIKED_COMMENT,
    COMMENTED,
    REPLIED,
    REPOSTED,
    MENTIONED_IN_POST,
    MENTIONED_IN_COMMENT,
    FOLLOWED,
    ENDED_POLL,
    ENDED_OWN_POLL,
    REMOVED_POST,
    REMOVED_COMMENT,
    DECIDED,
    REPORTED_POST,
    REPORTED_COMMENT,
    REPORTED_PERSON,
)
BY_VALUE = {kind.value: kind for kind in KINDS}
NAMES = tuple(dict.fromkeys(kind.name for kind in KINDS))
# The stored values of each name.
VALUES = {name: tuple(kind.value for kind in KINDS if kind.name == name) for name in NAMES}

# Kinds for which people may choose whose actions notify them.
CHOOSABLE = tuple(dict.fromkeys(kind.name for kind in KINDS if not kind.official))
CHOICES: tuple[Choice, ...] = ("everyone", "following", "nobody")
DEFAULT: Choice = "everyone"
