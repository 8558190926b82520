"""The places of the tables of interactions: marks lie with who set them, counts with the post."""

from socialsite.core.sharding import Owned, Places, Whole, With

_CASES = "Only staff read it, and few of the people ever report anything."

PLACES: Places = {
    # With the person, not with what is liked: every page of posts and comments reads the marks of
    # its reader. The list of people who like a post is opened rarely.
    "interactions_like": Owned("user_id", reason="every page reads the marks of its reader"),
    "interactions_bookmark": Owned("user_id"),
    "interactions_vote": Owned("user_id", reason="read with the likes"),
    # The counts of a post, and what waits to be added to them. By the id of the subject and not
    # with the author: pages read them for 20 posts at once, knowing their ids only.
    "interactions_subject": Owned("subj_id", lookups=("id",)),
    "interactions_countchange": Owned("subj_id"),
    "interactions_tally": Owned("post_id"),
    # With the post below which it stands, not with its author: a page of comments and its locks
    # need one shard. The replies of a person are opened rarely.
    "interactions_comment": With("interactions_subject", "subject_id", lookups=("id",)),
    "interactions_commentcontent": With("interactions_comment", "comment_id"),
    "interactions_notification": Owned("user_id"),
    "interactions_notificationcause": Owned("user_id"),
    "interactions_notificationreader": Owned("user_id"),
    "interactions_case": Whole(_CASES),
    "interactions_report": Whole(_CASES),
    "interactions_casenote": Whole(_CASES),
    "interactions_risingpost": Whole("Some hundred rows, which one task rewrites."),
    "interactions_countcheck": Whole("The results of a nightly check."),
}
