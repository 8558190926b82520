"""Statements that do not name the owner of their rows, and transactions for several owners.

`docs/shards.md` shows both lists.
"""

from typing import NamedTuple

from socialsite.tests.sharding.routing import How

ALL, MOVED, REFUSED = How.ALL, How.MOVED, How.REFUSED
WORDS = {
    ALL: "all shards",
    MOVED: "through VTGate",
    REFUSED: "refused",
}


class Crossing(NamedTuple):
    """A function, the tables whose owner it does not name, what Vitess does, and the reason."""

    function: str
    tables: tuple[str, ...]
    how: How
    reason: str


class Several(NamedTuple):
    """The function of a transaction, the tables that it changes, and what keeps them right."""

    function: str
    tables: tuple[str, ...]
    reason: str


_SIGHT = "Who may see a post depends on the reader's relation to its author: a subselect in an OR."
_COMMENTS = "Who may see a comment depends on its post and on the relation to both authors."
_PENDING = "Adds the changes that wait to the count of a comment, which lies with the post."
_BY_ID = "Changes rows by id. With the owner beside it, MariaDB may lock all rows of the owner."
_SEARCH = "Every shard searches what it has, and VTGate merges."
_WORKERS = "Background work that looks for what is due, whoever it belongs to."
_OUTBOX = "A worker takes what is due in the outbox. Each shard more makes it one query dearer."

CROSS_SHARD = (
    # Reads of what all people made.
    Crossing(
        "accounts.finding.new_people",
        ("accounts_user",),
        ALL,
        "The newest people: first page only.",
    ),
    Crossing(
        "feeds.discovery.public_posts._public_places",
        ("feeds_post",),
        ALL,
        "The newest public posts, for recommendations and the sitemap.",
    ),
    Crossing(
        "relations.suggestions.candidates._popular",
        ("relations_relationcount",),
        ALL,
        "The people with most followers, for suggestions; cached.",
    ),
    Crossing("socialsite.core.search.postings._rarest", ("accounts_nameterm",), ALL, _SEARCH),
    Crossing(
        "socialsite.core.search.postings._rows",
        ("accounts_nameterm", "feeds_postterm"),
        ALL,
        _SEARCH,
    ),
    # The home feed.
    Crossing(
        "feeds.home.sources.run",
        ("feeds_fanout", "feeds_authorhead"),
        ALL,
        "Open fan-outs and pulled authors of the whole site: few rows, cached for all readers.",
    ),
    Crossing(
        "feeds.delivery.fanout.deliver._deliver",
        ("feeds_inboxentry",),
        MOVED,
        "Reads a range of followers in the author's shard and inserts where each of them lives.",
    ),
    Crossing("feeds.delivery.fanout.deliver.finish", ("feeds_fanout",), ALL, _WORKERS),
    Crossing("feeds.delivery.fanout.sweep.run", ("feeds_fanoutchunk",), ALL, _WORKERS),
    # What the reader may see.
    Crossing("feeds.actions.publishing._source", ("relations_relationship",), REFUSED, _SIGHT),
    Crossing("feeds.actions.publishing.undo_repost", ("relations_relationship",), REFUSED, _SIGHT),
    Crossing("feeds.home.page.count_new", ("relations_relationship",), REFUSED, _SIGHT),
    Crossing("feeds.queries._texts", ("relations_relationship",), REFUSED, _SIGHT),
    Crossing("feeds.queries.history", ("relations_relationship",), REFUSED, _SIGHT),
    Crossing("feeds.queries.profile_posts", ("relations_relationship",), REFUSED, _SIGHT),
    Crossing("feeds.queries.visible_post", ("relations_relationship",), REFUSED, _SIGHT),
    Crossing(
        "interactions.queries.comments.visible_comment",
        ("accounts_user", "feeds_post", "relations_relationship"),
        REFUSED,
        _COMMENTS,
    ),
    Crossing(
        "interactions.queries.of_person._written",
        ("accounts_user", "feeds_post", "relations_relationship"),
        REFUSED,
        _COMMENTS,
    ),
    Crossing(
        "interactions.queries.threads.visible_rows",
        ("feeds_post", "interactions_countchange"),
        REFUSED,
        _COMMENTS,
    ),
    Crossing(
        "interactions.actions.counts.read_count", ("interactions_countchange",), REFUSED, _PENDING
    ),
    Crossing(
        "interactions.queries.likes.read",
        ("interactions_comment",),
        REFUSED,
        "Reads the reader's likes in a thread, and whether each comment is shown at the top.",
    ),
    # Lists that are opened rarely.
    Crossing(
        "interactions.queries.likers.run",
        ("interactions_like",),
        ALL,
        "Who likes a post: likes lie with the people, as every page reads those of its reader.",
    ),
    Crossing(
        "interactions.queries.of_person.run",
        ("interactions_comment",),
        ALL,
        "The replies of a person: comments lie with the posts.",
    ),
    # Votes and counts.
    Crossing(
        "interactions.queries.decoration.read",
        ("interactions_vote",),
        ALL,
        "Votes that wait for a fold, below posts with a poll: votes lie with the people.",
    ),
    Crossing(
        "interactions.actions.votes._insert",
        ("interactions_vote",),
        ALL,
        "Counts how many votes of a poll wait for a fold.",
    ),
    Crossing("interactions.actions.votes.fold_votes", ("interactions_vote",), ALL, _WORKERS),
    Crossing(
        "interactions.actions.counts.fold_counts",
        ("interactions_countchange",),
        ALL,
        "Deletes by id. With the subject beside it, MariaDB may wait for changes being written.",
    ),
    # Notifications.
    Crossing(
        "interactions.notifying.cause_rows.sync_each",
        ("interactions_notificationcause",),
        ALL,
        _BY_ID,
    ),
    Crossing("interactions.notifying.fold._fold", ("interactions_notificationcause",), ALL, _BY_ID),
    Crossing(
        "interactions.notifying.fold._write_groups", ("interactions_notification",), ALL, _BY_ID
    ),
    Crossing(
        "interactions.notifying.fold.sweep", ("interactions_notificationcause",), ALL, _WORKERS
    ),
    Crossing(
        "interactions.notifying.causes._mark", ("interactions_notificationcause",), ALL, _BY_ID
    ),
    Crossing(
        "interactions.notifying.causes._mark_batch",
        ("interactions_notificationcause",),
        ALL,
        "What two people notify each other of, after a block: both are named, in an OR.",
    ),
    Crossing(
        "interactions.notifying.causes.retire",
        ("interactions_notification",),
        ALL,
        "The notifications of a post or comment that is gone, of all people.",
    ),
    Crossing(
        "interactions.notifying.causes.of_thread",
        ("interactions_notification",),
        ALL,
        "The notifications below a post whose comments are shown otherwise now, of all people.",
    ),
    Crossing(
        "interactions.notifying.causes.of_thread",
        ("interactions_comment",),
        REFUSED,
        "The same statement: it selects the comments that are shown in an OR.",
    ),
    # Posts that change.
    Crossing(
        "feeds.discovery.tags.indexing.remove",
        ("feeds_posttag",),
        ALL,
        "The tags of a post that is edited or deleted: their rows lie with the tags.",
    ),
    # The outbox.
    Crossing("socialsite.core.events.relay.claim", ("core_event",), ALL, _OUTBOX),
    Crossing("socialsite.core.events.relay._apply", ("core_event",), ALL, _OUTBOX),
    Crossing("socialsite.core.events.relay._handle", ("core_event",), ALL, _OUTBOX),
)

_KEYS = "Rows of several keys: half of them counts too much or too little, and it expires."
_COUNTS = (
    "The mark lies with the person, its count with the post; `recount_interactions` repairs it."
)
_TAGS = "The post lies with its author, its tags with the tags; `rebuild_tags` repairs those."

SEVERAL_OWNERS = (
    Several("accounts.sign_in.attempts._enter", ("accounts_failures",), _KEYS),
    Several("accounts.sign_in.attempts._settle", ("accounts_failures",), _KEYS),
    Several("socialsite.core.rate_limits.allowances._take", ("core_allowance",), _KEYS),
    Several("socialsite.core.rate_limits.allowances._refund", ("core_allowance",), _KEYS),
    Several(
        "interactions.actions.bookmarks.bookmark",
        ("interactions_bookmark", "interactions_countchange"),
        _COUNTS,
    ),
    Several(
        "interactions.actions.bookmarks.unbookmark",
        ("interactions_bookmark", "interactions_countchange"),
        _COUNTS,
    ),
    Several(
        "interactions.actions.likes.like",
        ("interactions_comment", "interactions_countchange", "interactions_like"),
        _COUNTS,
    ),
    Several(
        "interactions.actions.likes.unlike",
        ("interactions_countchange", "interactions_like"),
        _COUNTS,
    ),
    Several(
        "feeds.actions.publishing._publish",
        ("feeds_authorhead", "feeds_fanout", "feeds_post", "feeds_postcontent", "feeds_posttag"),
        _TAGS,
    ),
    Several(
        "feeds.actions.publishing.delete",
        ("feeds_authorhead", "feeds_post", "feeds_posttag"),
        _TAGS,
    ),
    Several(
        "feeds.actions.editing.edit",
        ("feeds_postcontent", "feeds_posttag", "feeds_postversion"),
        _TAGS,
    ),
    Several(
        "feeds.drafts.actions.rewrite",
        ("feeds_authorhead", "feeds_draft", "feeds_draftimage", "feeds_post", "feeds_posttag"),
        _TAGS,
    ),
    Several(
        "feeds.actions.publishing.repost",
        (
            "feeds_authorhead",
            "feeds_fanout",
            "feeds_post",
            "feeds_postcontent",
            "interactions_countchange",
        ),
        _COUNTS,
    ),
    Several(
        "feeds.actions.publishing.undo_repost",
        ("feeds_authorhead", "feeds_post", "interactions_countchange"),
        _COUNTS,
    ),
    Several(
        "feeds.delivery.fanout.deliver._deliver",
        ("feeds_fanoutchunk", "feeds_inboxentry"),
        "Repeatable: the chunk is marked as done by a later transaction, so half of it runs again.",
    ),
    Several(
        "relations.actions._transition",
        (
            "feeds_inboxedge",
            "relations_relationcount",
            "relations_relationlog",
            "relations_relationship",
        ),
        "The two rows of a pair lie with two people: `twopc` keeps them mirrored.",
    ),
    Several(
        "socialsite.core.events.relay",
        (
            "feeds_fanout",
            "feeds_fanoutchunk",
            "feeds_inboxedge",
            "feeds_inboxentry",
            "feeds_inboxstate",
            "feeds_postterm",
            "feeds_searchedpost",
            "interactions_countchange",
            "interactions_notificationcause",
            "interactions_subject",
            "interactions_tally",
            "interactions_vote",
            "relations_relationcount",
            "relations_relationship",
        ),
        "Handlers of events and the end of these events: half of it is an event that is lost.",
    ),
)
