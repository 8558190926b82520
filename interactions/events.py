"""What interactions tell. An event is told only when a row was really written."""

from dataclasses import dataclass
from typing import ClassVar

from socialsite.core.events import DomainEvent


@dataclass(frozen=True, slots=True)
class _LikeEvent(DomainEvent):
    """`id` is the like's; `subj_type` and `subj_id` say what was liked."""

    aggregate_type: ClassVar[str] = "like"
    aggregate_field: ClassVar[str] = "id"

    id: int
    subj_type: int
    subj_id: int
    user_id: int


@dataclass(frozen=True, slots=True)
class Liked(_LikeEvent):
    """The person likes it now."""


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
class CommentPinned(_CommentEvent):
    """The post's author pinned it; `author_id` is the comment's."""


@dataclass(frozen=True, slots=True)
class CommentUnpinned(_CommentEvent):
    """The post's author pinned it no longer."""


@dataclass(frozen=True, slots=True)
class CommentSettingsChanged(DomainEvent):
    """The comments on a post are `open`, `closed` or `featured` from now on."""

    aggregate_type: ClassVar[str] = "post"
    aggregate_field: ClassVar[str] = "post_id"

    post_id: int
    user_id: int
    status: str


@dataclass(frozen=True, slots=True)
class CommentDeleted(_CommentEvent):
    """The comment is gone, or a tombstone while it has live replies."""


@dataclass(frozen=True, slots=True)
class NotificationsBehind(DomainEvent):
    """More notifications are to be brought in line with a fact than one transaction does.

    `work` is a name in `causes.WORKS`, `about` what it is called with, `after` how far it is.
    """

    aggregate_type: ClassVar[str] = "notifications"
    aggregate_field: ClassVar[str] = "id"

    id: int
    work: str
    about: list[int | None]
    after: list[int]


@dataclass(frozen=True, slots=True)
class _BookmarkEvent(DomainEvent):
    """A person's own business: nobody else is ever told of it."""

    aggregate_type: ClassVar[str] = "bookmark"
    aggregate_field: ClassVar[str] = "post_id"

    post_id: int
    user_id: int


@dataclass(frozen=True, slots=True)
class Bookmarked(_BookmarkEvent):
    """The person keeps the post."""


@dataclass(frozen=True, slots=True)
class Unbookmarked(_BookmarkEvent):
    """The person no longer keeps it."""
