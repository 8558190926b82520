"""Events of posts."""

from dataclasses import dataclass
from typing import ClassVar

from socialsite.core.events import DomainEvent


@dataclass(frozen=True, slots=True)
class _PostEvent(DomainEvent):
    """An event of one post; `id` is the post's."""

    aggregate_type: ClassVar[str] = "post"
    aggregate_field: ClassVar[str] = "id"

    id: int
    author_id: int


@dataclass(frozen=True, slots=True)
class PostPublished(_PostEvent):
    """The post is in its author's outbox and in every follower's feed; the fan-out starts.

    `renews_pulled`: the cached sets of authors who are pulled do not reach this post.
    """

    renews_pulled: bool = False


@dataclass(frozen=True, slots=True)
class PostEdited(_PostEvent):
    """The post has this version now; `narrowed` says that fewer people may see it."""

    version: int
    narrowed: bool


@dataclass(frozen=True, slots=True)
class _RepostEvent(_PostEvent):
    """`ref_id` is the original post, `ref_author_id` its author."""

    ref_id: int
    ref_author_id: int


@dataclass(frozen=True, slots=True)
class PostReposted(_RepostEvent):
    """The post is a repost; published besides PostPublished and PostRestored."""


@dataclass(frozen=True, slots=True)
class RepostDeleted(_RepostEvent):
    """The repost is gone; published besides PostDeleted and PostRemoved."""


@dataclass(frozen=True, slots=True)
class PostPreviewed(_PostEvent):
    """The post shows a preview of its link now."""


@dataclass(frozen=True, slots=True)
class PollEnded(_PostEvent):
    """The poll of the post is closed for good: no vote follows."""


@dataclass(frozen=True, slots=True)
class PostRemoved(_PostEvent):
    """Staff deleted the post: nobody sees it, and it may come back."""


@dataclass(frozen=True, slots=True)
class PostRestored(_PostEvent):
    """A removed post is shown again, at its place."""


@dataclass(frozen=True, slots=True)
class PostDeleted(_PostEvent):
    """The post is gone from every feed; its inbox rows are cleaned up later."""
