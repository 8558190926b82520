"""Explain why a post is in a person's home feed or not, by checking each part of the rule.

- `shown` is the result of the definition (`queries.oracle_feed`), computed from the facts alone.
- For a post that is shown, every source of the pull rule (spec I) that contains it is named. PULLED
  sources need no row in the inbox, PUSHED ones are that row. If no source contains the post, the
  reason is ROW_MISSING: the inbox should have the post but does not. `rebuild` repairs that.
- A post that is not pushed to all is pulled only if its author's head says that such posts exist.
  If the head does not, the reason is HEAD_BEHIND.
- All this is read from the database, in one snapshot. Then `cached` finds entries in Redis that
  disagree, which may keep a post out of the feed, or in it, until they expire.
"""

from dataclasses import dataclass, replace

from accounts import queries as accounts_queries
from accounts.models import User
from feeds import tiers
from feeds.audit import cache_audit
from feeds.audit.reasons import PULLED, SHOWS, Code, Reason, Value, time_of
from feeds.models import (
    AuthorHead,
    FanOut,
    FanOutChunk,
    InboxEdge,
    InboxEntry,
    InboxState,
    Mode,
    Post,
    PostAudience,
    Visibility,
)
from relations import queries as relations_queries
from socialsite.core import db
from socialsite.core.ids import number_of
from socialsite.core.text.spans import without_at


@dataclass(frozen=True)
class Explanation:
    """The verdict on a post in a reader's home feed, with its reasons."""

    viewer_id: int | None
    post_id: int
    shown: bool
    in_inbox: bool
    reasons: tuple[Reason, ...]

    @property
    def codes(self) -> list[Code]:
        """The codes of the reasons, in their order."""
        return [reason.code for reason in self.reasons]


def explain(viewer_id: int | None, post_id: int) -> Explanation:
    """Return why a post is, or is not, in a person's home feed; accepts unknown ids too.

    Takes about twenty short queries, and one that reads the reader's inbox to its end.
    """
    with db.snapshot():
        found = _Case(viewer_id, post_id).judge()
    if viewer_id is None or {Code.NO_READER, Code.NO_POST} & set(found.codes):
        return found
    return replace(found, reasons=(*found.reasons, *cache_audit.errors(viewer_id, post_id)))


def find_reader(text: str) -> User | None:
    """Return the person with a username or an id, including banned and closed accounts."""
    word = without_at(text)
    found = accounts_queries.any_by_name(word)
    if found is None and (ident := find_id(word)) is not None:
        found = User.objects.filter(pk=ident).first()
    return found


def find_id(text: str) -> int | None:
    """Parse an id; return None if the text cannot be one."""
    return number_of(text.strip())


class _Case:
    """The facts about one reader and one post, and the reasons that follow from them."""

    def __init__(self, viewer_id: int | None, post_id: int) -> None:
        self.viewer_id, self.post_id = viewer_id, post_id
        self.reasons: list[Reason] = []

    def judge(self) -> Explanation:
        post = Post.objects.filter(pk=self.post_id).first()
        viewer = User.objects.filter(pk=self.viewer_id).first() if self.viewer_id else None
        entries = InboxEntry.objects.filter(user_id=self.viewer_id or 0, post_id=self.post_id)
        rows = list(entries.values_list("publish_time", "author_id"))
        right = None if post is None else (post.position, post.author_id)
        in_inbox = right in rows
        if viewer is None:
            self._add(Code.NO_READER)
        if post is None:
            self._add(Code.NO_POST)
        if viewer is not None and post is not None:
            self._define(viewer, post)
            if self._is_shown():
                self._sources(viewer.pk, post, in_inbox=in_inbox)
        if in_inbox and not self._is_shown():
            self._add(Code.ROW_STALE)
        for row in rows:
            if row != right:
                self._add(Code.ROW_MISPLACED, publish_time_ms=row[0], author=row[1])
        if viewer is not None and not viewer.is_active:
            self._add(Code.READER_CLOSED)
        reasons = tuple(self.reasons)
        return Explanation(self.viewer_id, self.post_id, self._is_shown(), bool(rows), reasons)

    def _add(self, code: Code, **params: Value) -> None:
        self.reasons.append(Reason(code, params))

    def _has(self, codes: frozenset[Code]) -> bool:
        return any(reason.code in codes for reason in self.reasons)

    def _is_shown(self) -> bool:
        return bool(self.reasons) and self.reasons[0].code in SHOWS

    # --- the definition -------------------------------------------------------------------------
    def _define(self, viewer: User, post: Post) -> None:
        """Add the reason why the post belongs in the feed, or all reasons that keep it out."""
        author = User.objects.filter(pk=post.author_id).first()
        name = str(post.author_id) if author is None else author.username
        if post.is_deleted:
            self._add(Code.DELETED)
        elif post.is_removed:
            self._add(Code.REMOVED)
        if author is None or author.deleted_at is not None:
            self._add(Code.AUTHOR_CLOSED, author=name)
        elif author.banned_at is not None:
            self._add(Code.AUTHOR_BANNED, author=name)
        own = post.author_id == viewer.pk
        follow = relations_queries.follows_queryset(viewer.pk).filter(to_user_id=post.author_id)
        since = follow.values_list("followed_at", flat=True).first()
        followed = follow.exists()
        if not own:
            self._blocks(viewer.pk, post.author_id, name)
            if not followed:
                self._add(Code.NOT_FOLLOWED, author=name)
            self._audience(viewer.pk, post, followed=followed)
        if self.reasons:
            return
        if own:
            self._add(Code.OWN)
        else:
            self._add(Code.FOLLOWED, author=name, since_ms=since or 0)

    def _audience(self, viewer_id: int, post: Post, *, followed: bool) -> None:
        if post.visibility == Visibility.FOLLOWERS and not followed:
            self._add(Code.FOLLOWERS_ONLY)
        elif post.visibility == Visibility.SELF:
            self._add(Code.AUTHOR_ONLY)
        elif post.visibility == Visibility.MENTIONED:
            named = PostAudience.objects.filter(post_id=post.pk, user_id=viewer_id)
            if not named.exists():
                self._add(Code.NAMED_ONLY)

    def _blocks(self, viewer_id: int, author_id: int, name: str) -> None:
        state = relations_queries.name(relations_queries.relation(viewer_id, author_id))
        code = {
            "BLACKLISTING": Code.BLOCKED_BY_READER,
            "BLACKLISTED": Code.BLOCKED_BY_AUTHOR,
            "BI_BLACKLISTING": Code.BLOCKED_BY_BOTH,
        }.get(state or "")
        if code is not None:
            self._add(code, author=name)

    # --- the sources ----------------------------------------------------------------------------
    def _sources(self, viewer_id: int, post: Post, *, in_inbox: bool) -> None:
        """Add every source of the pull rule that contains the post, or ROW_MISSING."""
        if post.author_id == viewer_id:
            self._add(Code.PULLED_OWN)
            return
        fanout = FanOut.objects.filter(pk=post.pk).first()
        self._pulled_by_post(post, fanout)
        self._pulled_by_inbox(viewer_id, post)
        chunk = self._chunk(viewer_id, fanout)
        if in_inbox:
            self._pushed(fanout, chunk)
        else:
            if chunk:
                self._add(Code.CHUNK, **chunk)
            if not self._has(PULLED) and not tiers.is_pulled(post.mode):
                self._add(Code.ROW_MISSING)

    def _pulled_by_post(self, post: Post, fanout: FanOut | None) -> None:
        if fanout is not None and fanout.state != FanOut.State.DONE:
            open_chunks = FanOutChunk.objects.filter(fanout_id=post.pk, done=False).count()
            state = "planned" if fanout.state == FanOut.State.RUNNING else "not planned"
            self._add(Code.PULLED_FANOUT_OPEN, state=state, open=open_chunks)
        if tiers.is_pulled(post.mode):
            heads = AuthorHead.objects.filter(author_id=post.author_id)
            known = heads.filter(last_pulled_position__gte=post.position).exists()
            code = Code.PULLED_MODE if known else Code.HEAD_BEHIND
            self._add(code, mode=Mode(post.mode).name)

    def _pulled_by_inbox(self, viewer_id: int, post: Post) -> None:
        edges = InboxEdge.objects.filter(viewer_id=viewer_id, author_id=post.author_id)
        edge = edges.first()
        if edge is None:
            self._add(Code.PULLED_NO_EDGE)
        elif edge.backfilled_from is None:
            self._add(Code.PULLED_NOT_BACKFILLED)
        elif post.position <= edge.backfilled_from:
            self._add(Code.PULLED_BELOW_BACKFILL, backfilled_from_ms=edge.backfilled_from)
        states = InboxState.objects.filter(viewer_id=viewer_id)
        floor = states.values_list("inbox_floor", flat=True).first() or 0
        if post.position <= floor:
            self._add(Code.PULLED_BELOW_FLOOR, inbox_floor_ms=floor)

    def _pushed(self, fanout: FanOut | None, chunk: dict[str, Value]) -> None:
        """Return the origin of the inbox row, as far as it is still known.

        A follow after the end of the fan-out gets its rows from the backfill.
        """
        since = self.reasons[0].params["since_ms"]
        if fanout is None:
            self._add(Code.PUSHED_FORGOTTEN)
        elif not chunk or (fanout.done_at is not None and int(since) > fanout.done_at):
            self._add(Code.PUSHED_BACKFILL)
        else:
            self._add(Code.PUSHED_CHUNK, **chunk)

    @staticmethod
    def _chunk(viewer_id: int, fanout: FanOut | None) -> dict[str, Value]:
        """Describe the chunk whose range contains the reader; empty if there is none."""
        if fanout is None:
            return {}
        chunks = FanOutChunk.objects.filter(fanout=fanout, lower__lt=viewer_id)
        chunk = chunks.filter(upper__gte=viewer_id).first()
        if chunk is None:
            return {}
        state = "delivered"
        if not chunk.done:
            held = chunk.leased_until > db.now_ms()
            state = f"leased until {time_of(chunk.leased_until)}" if held else "waiting"
        return {
            "number": chunk.number,
            "total": fanout.total,
            "lower": chunk.lower,
            "upper": chunk.upper,
            "state": state,
        }
