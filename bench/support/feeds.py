"""Authors with posts, and readers with inboxes, inserted without the actions: for measuring only.

All rows are the same as after publishing and delivering, except for events and fan-outs.
"""

import random
import time
from collections.abc import Iterable, Sequence
from typing import Any

from bench.support import people

PICTURES = 0.2  # of all posts
BATCH = 5000
_PARTS = (
    "Today the river stood still.",
    "春天来了,花都开了。",
    "A word on tea & rain:",
    "见 https://x.example/1",
)


def make_posts(
    authors: Sequence[int], each: int, *, pulled: Sequence[int] = (), seed: int = 1
) -> int:
    """Let every author publish `each` posts over the last 30 days, in turns; return how many.

    Posts of authors in `pulled` are not pushed. The ids of posts ascend with their times.
    """
    from feeds.models import AuthorHead, Mode, Post

    dice = random.Random(seed)
    unpushed = set(pulled)
    count = len(authors) * each
    now = int(time.time() * 1000)
    step = 30 * 86_400_000 // count
    writers = [author for _ in range(each) for author in dice.sample(authors, len(authors))]
    last: dict[int, int] = {}
    for start in range(0, count, BATCH):
        posts = []
        for number in range(start, min(start + BATCH, count)):
            author, position = writers[number], now - (count - number) * step
            last[author] = position
            mode = Mode.NONE if author in unpushed else Mode.ALL
            ident = 2 * people.FIRST_ID + number
            posts.append(Post(id=ident, author_id=author, position=position, mode=mode))
        Post.objects.bulk_create(posts)
        _fill(dice, [post.pk for post in posts])
    AuthorHead.objects.bulk_create(
        AuthorHead(
            author_id=author,
            last_position=position,
            last_pulled_position=position if author in unpushed else 0,
            post_count=each,
            mode=Mode.NONE if author in unpushed else Mode.ALL,
        )
        for author, position in last.items()
    )
    return count


def _fill(dice: random.Random, posts: Sequence[int]) -> None:
    """Give posts their texts, pictures and counts."""
    from feeds.models import PostContent
    from interactions.models import Subject, SubjectType

    contents, subjects = [], []
    for ident in posts:
        contents.append(
            PostContent(
                post_id=ident,
                content=" ".join(dice.choices(_PARTS, k=dice.randint(1, 8))),
                images=_pictures(dice, ident),
            )
        )
        likes, comments = dice.randrange(40), dice.randrange(9)
        subjects.append(
            Subject(
                subj_type=SubjectType.POST,
                subj_id=ident,
                like_count=likes,
                comment_count=comments,
            )
        )
    PostContent.objects.bulk_create(contents)
    Subject.objects.bulk_create(subjects)


def _pictures(dice: random.Random, ident: int) -> list[dict[str, Any]]:
    if dice.random() >= PICTURES:
        return []
    one = {"name": f"aa/{ident}.jpg", "thumb": f"aa/{ident}-s.jpg", "width": 800, "height": 600}
    one |= {"alt": "A picture", "placeholder": "LEHV6nWB2yk8pyo0adR*.7kCMdnj"}
    return [{"id": str(ident + n), **one} for n in range(dice.randint(1, 4))]


def deliver(viewer: int, authors: Iterable[int], newest: int | None = None) -> int:
    """Fill the inbox of a reader with the pushed posts of authors, as backfills would do.

    With `newest` only that many, and a floor below them. Returns how many.
    """
    from feeds.models import InboxEdge, InboxEntry, InboxState, Mode, Post

    found = list(authors)
    posts = Post.objects.filter(author_id__in=found, mode=Mode.ALL, is_deleted=False)
    rows = list(posts.newest_first().values_list("position", "id", "author_id"))
    floor = rows[newest][0] if newest is not None and len(rows) > newest else 0
    rows = rows[:newest]
    InboxEdge.objects.bulk_create(
        InboxEdge(viewer_id=viewer, author_id=author, backfilled_from=0) for author in found
    )
    InboxState.objects.create(viewer_id=viewer, inbox_floor=floor)
    InboxEntry.objects.bulk_create(
        [
            InboxEntry(user_id=viewer, publish_time=ts, post_id=post, author_id=author)
            for ts, post, author in rows
        ],
        batch_size=BATCH,
    )
    return len(rows)


def like(viewer: int, post_ids: Sequence[int]) -> None:
    """Let a reader like posts."""
    from interactions.models import Like, SubjectType

    Like.objects.bulk_create(
        Like(user_id=viewer, subj_type=SubjectType.POST, subj_id=ident, created_at=0)
        for ident in post_ids
    )


def fill_inboxes(rows: int, each: int, first_viewer: int) -> None:
    """Add rows of unused readers, until the table is `rows` larger."""
    now = int(time.time() * 1000)
    viewers = rows // each
    part = max(500_000 // each, 1)
    for start in range(0, viewers, part):
        upper = min(start + part, viewers) * each - 1
        people.execute(
            "INSERT INTO feeds_inboxentry (user_id, publish_time, post_id, author_id)"  # noqa: S608
            f" SELECT {first_viewer} + seq DIV {each}, {now} - (seq % {each}) * 60000,"
            f" {3 * people.FIRST_ID} + (seq * 7919) % 100000000, {people.FIRST_ID} + seq % 9973"
            f" FROM seq_{start * each}_to_{upper}"
        )
    people.execute("ANALYZE TABLE feeds_inboxentry")
