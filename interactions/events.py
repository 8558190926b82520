"""Events of interactions. An event is published only if a row was really written."""

from dataclasses import dataclass
from typing import ClassVar

from socialsite.core.events import DomainEvent


@dataclass(frozen=True, slots=True)
class _LikeEvent(DomainEvent):
    """`id` is the like's; `subj_type` and `subj_id` identify the liked object."""

    aggregate_type: ClassVar[str] = "like"
    aggregate_field: ClassVar[str] = "id"

    id: int
    subj_type: int
    subj_id: int
    user_id: int


@dataclass(frozen=True, slots=True)
class Liked(_LikeEvent):
    """The person now likes it."""


@dataclass(frozen=True, slots=True)
class Unliked(_LikeEvent):
    """The person no longer likes it."""


@dataclass(frozen=True, slots=True)
class _CommentEvent(DomainEvent):
    """`id` is the comment's; `parent_id` is None for a comment on the post itself."""

    aggregate_type: ClassVar[str] = "comment"
    aggregate_field: ClassVar[str] = "id"

    id: int
    post_id: int
    author_id: int
    parent_id: int | None


@dataclass(frozen=True, slots=True)
class Commented(_CommentEvent):
    """The comment is in its thread."""


@dataclass(frozen=True, slots=True)
class CommentEdited(_CommentEvent):
    """The comment has this version now; `named` are the people whom it named before."""

    version: int
    named: list[int]


@dataclass(frozen=True, slots=True)
class CommentPinned(_CommentEvent):
    """The post's author pinned the comment; `author_id` is the comment's author."""


@dataclass(frozen=True, slots=True)
class CommentUnpinned(_CommentEvent):
    """The post's author unpinned the comment."""


@dataclass(frozen=True, slots=True)
class CommentSettingsChanged(DomainEvent):
    """The comments on a post are now `open`, `closed` or `featured`."""

    aggregate_type: ClassVar[str] = "post"
    aggregate_field: ClassVar[str] = "post_id"

    post_id: int
    user_id: int
    status: str


@dataclass(frozen=True, slots=True)
class CommentDeleted(_CommentEvent):
    """The comment is deleted, or a tombstone while it has live replies."""


@dataclass(frozen=True, slots=True)
class CommentRestored(_CommentEvent):
    """A comment that staff deleted is in its thread again."""


@dataclass(frozen=True, slots=True)
class ReportsClosed(DomainEvent):
    """The open reports of a case are closed; `first` is the id of the oldest of them."""

    aggregate_type: ClassVar[str] = "case"
    aggregate_field: ClassVar[str] = "case_id"

    case_id: int
    first: int


@dataclass(frozen=True, slots=True)
class NotificationsBehind(DomainEvent):
    """A fact affects more notifications than one transaction updates.

    `work` is a name in `causes.WORKS`, `about` its arguments, `after` the progress so far.
    """

    aggregate_type: ClassVar[str] = "notifications"
    aggregate_field: ClassVar[str] = "id"
    streamed: ClassVar[bool] = False

    id: int
    work: str
    about: list[int | None]
    after: list[int]


@dataclass(frozen=True, slots=True)
class MentionMailDue(DomainEvent):
    """The person was mentioned some minutes ago, and wants a mail about that if it is unread."""

    aggregate_type: ClassVar[str] = "notifications"
    aggregate_field: ClassVar[str] = "user_id"
    streamed: ClassVar[bool] = False

    user_id: int


@dataclass(frozen=True, slots=True)
class PushWanted(DomainEvent):
    """Notifications of a person became unread, and are to be pushed to their devices.

    `ids` are those of the notifications. A push that failed is published again for a later time,
    with the `devices` that lack it and the number of `tries` so far; at first these are all.
    """

    aggregate_type: ClassVar[str] = "notifications"
    aggregate_field: ClassVar[str] = "user_id"
    streamed: ClassVar[bool] = False

    user_id: int
    ids: list[int]
    devices: list[int] | None = None
    tries: int = 0


@dataclass(frozen=True, slots=True)
class Voted(DomainEvent):
    """The person voted in the poll of a post; `id` is the vote's."""

    aggregate_type: ClassVar[str] = "vote"
    aggregate_field: ClassVar[str] = "id"

    id: int
    post_id: int
    user_id: int


@dataclass(frozen=True, slots=True)
class _BookmarkEvent(DomainEvent):
    """An event of a bookmark, which is private: nobody else is ever notified."""

    aggregate_type: ClassVar[str] = "bookmark"
    aggregate_field: ClassVar[str] = "post_id"

    post_id: int
    user_id: int


@dataclass(frozen=True, slots=True)
class Bookmarked(_BookmarkEvent):
    """The person bookmarked the post."""


@dataclass(frozen=True, slots=True)
class Unbookmarked(_BookmarkEvent):
    """The person removed the bookmark."""
