"""Tables: posts, drafts, polls, previews, tags, inboxes and deliveries.

Writes belong to `feeds.actions` and the rooms of the app, reads for pages and the API to
`feeds.queries`.
"""

from feeds.models.drafts import Draft, DraftImage
from feeds.models.fanouts import AuthorHead, FanOut, FanOutChunk, FeedCheck
from feeds.models.inboxes import InboxEdge, InboxEntry, InboxState
from feeds.models.polls import OpenPoll
from feeds.models.posts import (
    KIND_MAX,
    NAMED,
    OPEN,
    VISIBILITY_MAX,
    Kind,
    Mode,
    Post,
    PostAudience,
    PostContent,
    PostImage,
    PostQuerySet,
    PostVersion,
    RecommendedAuthor,
    Visibility,
    named_to,
)
from feeds.models.previews import FoundPreview, WantedPreview
from feeds.models.search import PostTerm, SearchCheck, SearchedPost
from feeds.models.tags import BusyTag, PostTag, Tag, TagFollow, TrendingTag

__all__ = [
    "KIND_MAX",
    "NAMED",
    "OPEN",
    "VISIBILITY_MAX",
    "AuthorHead",
    "BusyTag",
    "Draft",
    "DraftImage",
    "FanOut",
    "FanOutChunk",
    "FeedCheck",
    "FoundPreview",
    "InboxEdge",
    "InboxEntry",
    "InboxState",
    "Kind",
    "Mode",
    "OpenPoll",
    "Post",
    "PostAudience",
    "PostContent",
    "PostImage",
    "PostQuerySet",
    "PostTag",
    "PostTerm",
    "PostVersion",
    "RecommendedAuthor",
    "SearchCheck",
    "SearchedPost",
    "Tag",
    "TagFollow",
    "TrendingTag",
    "Visibility",
    "WantedPreview",
    "named_to",
]
