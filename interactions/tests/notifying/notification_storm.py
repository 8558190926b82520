"""Random actions of many threads on few people, and the notifications that must result.

Every thread likes, comments, mentions, edits, follows, reposts, undoes, blocks; one person is
banned and unbanned. Relays and sweeps run beside them. In the end the notifications must match the
facts, which an oracle reads row by row. The host reads all the while: nothing may be marked as read
that was not on the page it was read from.
"""

import random
import threading
import time
from collections import defaultdict
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import Any

from accounts import actions as accounts_actions
from accounts import live_hints
from accounts.models import User
from feeds import actions as feeds_actions
from feeds.models import Kind as PostKind
from feeds.models import Post
from interactions import actions, kinds, queries
from interactions.models import (
    Comment,
    CommentContent,
    Like,
    Notification,
    NotificationCause,
    SubjectType,
)
from interactions.notifying import fold
from relations import actions as relations_actions
from relations.models import BLOCKED, FOLLOWS_ME, Relationship
from relations.tests.helpers import at_once
from socialsite.core import redis
from socialsite.core.errors import AppError
from socialsite.core.events import enqueue, relay
from socialsite.core.http.api import parse_time
from socialsite.core.models import Event
from socialsite.core.text.mentions import usernames
from socialsite.core.times import iso

STUCK_SECONDS = 60
# The host looks at least once in so many actions, however busy the machine is.
LOOK_EVERY = 20
BACKLOG = 12
Key = tuple[str, str, int]


@dataclass
class Findings:
    """Errors found by a storm; all lists must be empty."""

    operations: int = 0
    seconds: float = 0.0
    refused: int = 0
    compared: int = 0
    looked: int = 0
    errors: list[Any] = field(default_factory=list)
    differences: list[Any] = field(default_factory=list)
    unseen: list[Any] = field(default_factory=list)  # marked as read without having been shown


@dataclass
class Scene:
    """The participants. Nobody blocks the host, below whose posts people are mentioned."""

    host: Any
    people: Sequence[Any]
    outlaw: Any
    posts: Sequence[int]
    hosts_posts: Sequence[int]
    talk: int  # a post of the host whose comments stay, by authors who are never hidden

    @property
    def everybody(self) -> list[Any]:
        return [self.host, *self.people, self.outlaw]


def scene(host: Any, people: Sequence[Any], outlaw: Any) -> Scene:
    """Publish some posts."""
    posts = [
        feeds_actions.publish(person, content="words").pk for person in people[:2] for _ in range(2)
    ]
    hosts = [feeds_actions.publish(host, content="words").pk for _ in range(2)]
    return Scene(host, people, outlaw, posts, hosts[:1], hosts[1])


def storm(
    on: Scene,
    *,
    threads: int,
    operations: int,
    relays: int = 2,
    seed: int = 1,
    tell: Callable[[int], Any] = lambda done: None,
) -> Findings:
    """Do `operations` random actions in all, with relays beside them; then drain and compare."""
    found = Findings(operations=operations)
    turns = iter(range(operations))
    lock, over, blind = threading.Lock(), threading.Event(), threading.Event()
    pages: list[tuple[int, int]] = []  # (read up to, position of the talk on that page)

    def act(number: int) -> None:
        dice = random.Random(seed * 1000 + number)
        with enqueue.paused():
            while True:
                with lock:
                    turn = next(turns, None)
                if turn is None:
                    return
                # Events are handled between the actions, not only after all of them.
                while Event.objects.count() > BACKLOG:
                    time.sleep(0.005)
                while found.looked * LOOK_EVERY < turn and not blind.is_set():
                    time.sleep(0.002)
                try:
                    _one(on, dice)
                except AppError:
                    found.refused += 1
                except Exception as error:
                    found.errors.append(error)
                if turn % 1000 == 999:
                    tell(turn + 1)

    def actors() -> list[Any]:
        try:
            return at_once([lambda number=number: act(number) for number in range(threads)])
        finally:
            over.set()

    def run_relay() -> None:
        with enqueue.paused():
            while not over.is_set():
                if not relay.relay(20):
                    time.sleep(0.01)

    def sweep() -> None:
        while not over.is_set():
            batch = redis.Batch()
            for person in on.everybody:  # as if their pages were open: relays fold for them at once
                live_hints.heartbeat(batch, person.pk)
            batch.run()
            fold.sweep()
            time.sleep(0.02)

    def read() -> None:
        try:
            dice = random.Random(seed)
            while not over.is_set():
                look(dice)
                found.looked += 1
                time.sleep(0.01)
        finally:
            blind.set()

    def look(dice: random.Random) -> None:
        kind = dice.choice([None, None, kinds.COMMENTED.name])
        items = queries.notifications(on.host, None, 100, kind).items
        if items:
            talk = [one for one in items if one["subject"]["id"] == str(on.talk)]
            place = max([_ms(one) for one in talk if one["kind"] == "commented"], default=0)
            time.sleep(dice.random() * 0.02)  # somebody else may join meanwhile
            # All up to here, those of a tab, or those that were on the screen.
            ids = [int(one["id"]) for one in items] if dice.random() < 0.5 else None
            actions.read_notifications(on.host, _ms(items[0]), ids, kind)
            pages.append((max(_ms(items[0]), _read_of(on)), place))

    began = time.monotonic()
    results = at_once([actors, *[run_relay] * relays, sweep, sweep, read])
    found.seconds = time.monotonic() - began
    found.errors += [one for one in results if isinstance(one, Exception)]
    drain()
    for person in on.everybody:
        found.differences += differences(person)
        found.compared += len(queries.notifications(person, None, 100).items)
    found.unseen = _unseen(on, pages)
    return found


def _read_of(on: Scene) -> int:
    """Return the read mark of the comments of the talk."""
    groups = Notification.objects.filter(
        user=on.host.pk, subject_id=on.talk, kind=kinds.COMMENTED.value
    )
    return max(groups.values_list("read_position", flat=True), default=0)


def _ms(item: Any) -> int:
    return parse_time(item["created_at"], "at")


def _one(on: Scene, dice: random.Random) -> None:
    """Do one random action."""
    one, other = dice.sample(on.people, 2)
    # Half of them on one post: contention reveals missing locks.
    post = dice.choice([*on.posts, *list(on.hosts_posts) * len(on.posts)])
    match dice.randrange(14):
        case 0 | 1 | 2:
            dice.choice([actions.like, actions.unlike])(one, SubjectType.POST, post)
        case 3:
            act = dice.choice([actions.like, actions.unlike])
            act(one, SubjectType.COMMENT, _some_comment(on, dice).pk)
        case 4:
            actions.comment(one, post, "words")
        case 5:
            parent = _some_comment(on, dice)
            actions.comment(one, parent.subject.subj_id, "words", parent.pk)
        case 6:
            actions.comment(one, dice.choice(on.hosts_posts), f"@{other.username} look")
        case 7:
            comment = _some_comment(on, dice)
            actions.delete_comment(comment.author, comment.pk)
        case 8:
            dice.choice([relations_actions.follow, relations_actions.unfollow])(
                one, dice.choice([other, on.host])
            )
        case 9:
            dice.choice(
                [relations_actions.block, relations_actions.unblock, relations_actions.unblock]
            )(one, other)
        case 10:
            if dice.random() < 0.5:
                shares: list[Callable[..., Any]]
                shares = [feeds_actions.repost, feeds_actions.undo_repost]
                dice.choice(shares)(one, post)
            else:
                actions.comment(one, on.talk, "said")
        case 11:
            _edit_comment(on, dice, other)
        case 12:
            _edit_post(on, dice, other)
        case _:
            if dice.random() < 0.3:
                acts: list[Callable[..., Any]] = [accounts_actions.ban, accounts_actions.unban]
                dice.choice(acts)(on.outlaw)
            else:
                actions.like(on.outlaw, SubjectType.POST, post)


def _edit_comment(on: Scene, dice: random.Random, other: Any) -> None:
    """Edit a comment; below the posts of the host it names somebody now and then."""
    comment = _some_comment(on, dice)
    names = comment.subject.subj_id in on.hosts_posts and dice.random() < 0.7
    words = f"@{other.username} look again" if names else f"words {dice.random()}"
    version = CommentContent.objects.get(pk=comment.pk).version
    actions.edit_comment(comment.author, comment.pk, words, version)


def _edit_post(on: Scene, dice: random.Random, other: Any) -> None:
    """Let the host edit a post, which names somebody now and then."""
    post = dice.choice(on.hosts_posts)
    words = f"words @{other.username}" if dice.random() < 0.7 else f"words {dice.random()}"
    version = Post.objects.values_list("content_row__version", flat=True).get(pk=post)
    feeds_actions.edit(on.host, post, version, content=words)


def _some_comment(on: Scene, dice: random.Random) -> Comment:
    posts = [*on.posts, *on.hosts_posts]
    comments = Comment.objects.filter(deleted=False, subject__subj_id__in=posts)
    newest = list(comments.select_related("subject", "author").order_by("-pk")[:8])
    if not newest:
        return actions.comment(on.people[0], on.posts[0], "first")
    return dice.choice(newest)


def drain() -> None:
    """Deliver every event and fold every cause; raises TimeoutError without progress."""
    end = time.monotonic() + STUCK_SECONDS
    with enqueue.paused():
        while True:
            if relay.relay() + fold.sweep():
                end = time.monotonic() + STUCK_SECONDS
            elif not Event.objects.filter(dead=False).exists():
                return
            elif time.monotonic() > end:
                raise TimeoutError("events are left over")
            else:
                time.sleep(0.01)


# --- the oracle ---------------------------------------------------------------------------------
def expected(reader: Any) -> dict[Key, dict[int, set[int]]]:
    """Return the causes by the facts: group → actor → comments or reposts (0 for the rest)."""
    people = {user.pk: user for user in User.objects.all()}
    rows = Relationship.objects.filter(from_user=reader.pk)
    blocked = {row.to_user_id for row in rows if row.relation in BLOCKED}
    posts = {post.pk: post for post in Post.objects.select_related("content_row")}
    comments = {one.pk: one for one in Comment.objects.select_related("subject", "content_row")}
    found: dict[Key, dict[int, set[int]]] = defaultdict(lambda: defaultdict(set))

    def is_shown(user_id: int) -> bool:
        return people[user_id].banned_at is None and user_id not in blocked

    def sees_post(post_id: int) -> bool:
        post = posts[post_id]
        return not post.is_deleted and (post.author_id == reader.pk or is_shown(post.author_id))

    def sees(comment: Comment) -> bool:
        root = comments.get(comment.root_id or 0)
        mine = comment.author_id == reader.pk or is_shown(comment.author_id)
        shown = root is None or root.author_id == reader.pk or is_shown(root.author_id)
        return mine and shown and not comment.deleted and sees_post(comment.subject.subj_id)

    def add(kind: str, subject: str, ident: int, actor: int, ref: int = 0) -> None:
        if actor != reader.pk and is_shown(actor):
            found[kind, subject, ident][actor].add(ref)

    for like in Like.objects.all():
        if like.subj_type == SubjectType.POST:
            if posts[like.subj_id].author_id == reader.pk and sees_post(like.subj_id):
                add("liked", "post", like.subj_id, like.user_id)
        elif comments[like.subj_id].author_id == reader.pk and sees(comments[like.subj_id]):
            add("liked", "comment", like.subj_id, like.user_id)
    for comment in comments.values():
        if comment.deleted:
            continue
        post_id, parent = comment.subject.subj_id, comments.get(comment.parent_id or 0)
        first = posts[post_id].author_id if parent is None else parent.author_id
        if first == reader.pk:
            if parent is None and sees_post(post_id):
                add("commented", "post", post_id, comment.author_id, comment.pk)
            elif parent is not None and sees(parent):
                add("replied", "comment", parent.pk, comment.author_id, comment.pk)
        elif reader.username.lower() in usernames(comment.content_row.content) and sees(comment):
            add("mentioned", "comment", comment.pk, comment.author_id)
    for post in posts.values():
        if post.kind == PostKind.REPOST and not post.is_deleted:
            source = posts[post.ref_post_id or 0]
            if source.author_id == reader.pk and sees_post(source.pk):
                add("reposted", "post", source.pk, post.author_id)
        if reader.username.lower() in usernames(post.content_row.content) and sees_post(post.pk):
            add("mentioned", "post", post.pk, post.author_id)
    for row in rows:
        if row.relation in FOLLOWS_ME:
            add("followed", "user", reader.pk, row.to_user_id)
    return found


def differences(reader: Any) -> list[Any]:
    """Return the differences between notifications and facts; empty after a drain."""
    facts = expected(reader)
    wrong: list[Any] = []
    page = queries.notifications(reader, None, 100)
    # The decisions of staff about the reader are checked by tests of their own.
    shown = [item for item in page.items if _key(item)[:2] != ("moderation", "user")]
    items = {_key(item): item for item in shown}
    if items.keys() != facts.keys() or len(items) != len(shown):
        wrong.append((reader.username, "groups", sorted(items.keys() ^ facts.keys())))
    values: dict[tuple[str, str], int] = {
        (kind.name, kind.subject): kind.value for kind in kinds.KINDS
    }
    order = []
    for key in items.keys() & facts.keys():
        causes = NotificationCause.objects.filter(
            user=reader.pk, kind=values[key[:2]], subject_id=key[2]
        )
        places: dict[int, int] = {}
        for cause in causes:
            if cause.ref in facts[key].get(cause.actor_id, ()):
                places[cause.actor_id] = max(places.get(cause.actor_id, 0), cause.position)
        group = Notification.objects.get(user=reader.pk, kind=values[key[:2]], subject_id=key[2])
        newest = sorted(places, key=lambda actor: -places[actor])
        position = max(places.values(), default=0)
        order.append((position, key))
        said = (
            items[key]["actor_count"],
            [int(actor["id"]) for actor in items[key]["actors"]],
            items[key]["created_at"],
            items[key]["read"],
        )
        true = (len(facts[key]), newest[:3], iso(position), position <= group.read_position)
        if said != true:
            wrong.append((reader.username, key, said, true))
    if [key for _, key in sorted(order, reverse=True)] != [
        key for key in map(_key, page.items) if key in facts
    ]:
        wrong.append((reader.username, "order"))
    unread = sum(not item["read"] for item in page.items)
    if queries.unread_count(reader) != (unread, False):
        wrong.append((reader.username, "unread", queries.unread_count(reader), unread))
    return wrong


def _key(item: Any) -> Key:
    return (item["kind"], item["subject"]["type"], int(item["subject"]["id"]))


def _unseen(on: Scene, pages: Sequence[tuple[int, int]]) -> list[Any]:
    """Return comments of the talk at or below a page's `until` that were not on it."""
    causes = NotificationCause.objects.filter(user=on.host.pk, subject_id=on.talk)
    said = list(
        causes.filter(kind=kinds.COMMENTED.value, ref__gt=0).values_list("position", flat=True)
    )
    return [(until, at) for until, shown in pages for at in said if shown < at <= until]
