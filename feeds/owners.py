"""The places of the tables of feeds: a post lies with its author, an inbox with its reader."""

from socialsite.core.sharding import Copied, Owned, Places, Whole, With

_CHECK = "The results of a nightly check."
_TAGS = "At most some hundred rows, which one task rewrites; every process caches them."

PLACES: Places = {
    # With the author, not by its own id: a profile, the outbox that readers pull, publication and
    # the join with the author's account stay in one shard. What is known by its id alone, as a
    # card of the home feed, costs one look into the lookup table.
    "feeds_post": Owned("author_id", lookups=("id",)),
    "feeds_postcontent": With("feeds_post", "post_id"),
    "feeds_postaudience": With("feeds_post", "post_id"),
    "feeds_postversion": With("feeds_post", "post_id"),
    "feeds_postimage": With("feeds_post", "post_id"),
    "feeds_openpoll": With("feeds_post", "post_id"),
    "feeds_wantedpreview": With("feeds_post", "post_id"),
    "feeds_fanout": Owned(
        "author_id", beside=(("post_id", "feeds_post"),), reason="readers look for those of authors"
    ),
    "feeds_fanoutchunk": With("feeds_post", "fanout_id", lookups=("id",)),
    "feeds_postterm": With("feeds_post", "object_id", reason="each shard searches its own posts"),
    "feeds_searchedpost": With("feeds_post", "object_id", reason="as the terms"),
    "feeds_authorhead": Owned("author_id"),
    "feeds_draft": Owned("author_id", lookups=("id",)),
    "feeds_draftimage": With("feeds_draft", "draft_id"),
    "feeds_inboxentry": Owned("user_id"),
    "feeds_inboxedge": Owned("viewer_id"),
    "feeds_inboxstate": Owned("viewer_id"),
    "feeds_posttag": Owned("tag_id", reason="the page of a tag reads one tag by time"),
    "feeds_tagfollow": Owned("user_id"),
    "feeds_tag": Copied("Read with the tags that a person follows, and changed rarely."),
    "feeds_trendingtag": Whole(_TAGS),
    "feeds_busytag": Whole(_TAGS),
    "feeds_recommendedauthor": Whole("Staff choose these few people."),
    "feeds_foundpreview": Owned("key", reason="a cache by address; statements name the key"),
    "feeds_feedcheck": Whole(_CHECK),
    "feeds_searchcheck": Whole(_CHECK),
}
