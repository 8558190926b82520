"""The reasons why a post is in a person's home feed or not: their codes and texts."""

from dataclasses import dataclass
from enum import StrEnum

from socialsite.core.times import iso

Value = int | str


class Code(StrEnum):
    """The code of a reason; the values are stable."""

    # Hidden by the definition.
    NO_READER = "no_reader"
    NO_POST = "no_post"
    DELETED = "deleted"
    REMOVED = "removed"
    AUTHOR_BANNED = "author_banned"
    AUTHOR_CLOSED = "author_closed"
    NOT_FOLLOWED = "not_followed"
    BLOCKED_BY_READER = "blocked_by_reader"
    BLOCKED_BY_AUTHOR = "blocked_by_author"
    BLOCKED_BY_BOTH = "blocked_by_both"
    FOLLOWERS_ONLY = "followers_only"
    NAMED_ONLY = "named_only"
    AUTHOR_ONLY = "author_only"
    # Shown by the definition.
    OWN = "own"
    FOLLOWED = "followed"
    # Sources that need no row in the inbox.
    PULLED_OWN = "pulled_own"
    PULLED_FANOUT_OPEN = "pulled_fanout_open"
    PULLED_MODE = "pulled_mode"
    PULLED_NO_EDGE = "pulled_no_edge"
    PULLED_NOT_BACKFILLED = "pulled_not_backfilled"
    PULLED_BELOW_BACKFILL = "pulled_below_backfill"
    PULLED_BELOW_FLOOR = "pulled_below_floor"
    # The row in the inbox, and its origin.
    PUSHED_CHUNK = "pushed_chunk"
    PUSHED_BACKFILL = "pushed_backfill"
    PUSHED_FORGOTTEN = "pushed_forgotten"
    # Further information.
    CHUNK = "chunk"
    ROW_MISSING = "row_missing"
    ROW_STALE = "row_stale"
    ROW_MISPLACED = "row_misplaced"
    HEAD_BEHIND = "head_behind"
    READER_CLOSED = "reader_closed"
    # Cached entries that are out of date.
    CACHED_READER = "cached_reader"
    CACHED_INBOX_LACKS = "cached_inbox_lacks"
    CACHED_INBOX_HAS = "cached_inbox_has"
    CACHED_OUTBOX_LACKS = "cached_outbox_lacks"
    CACHED_FANOUTS_LACK = "cached_fanouts_lack"
    CACHED_POST = "cached_post"
    CACHED_PERSON = "cached_person"


SHOWS = frozenset((Code.OWN, Code.FOLLOWED))
PULLED = frozenset(code for code in Code if code.startswith("pulled_"))

_CHUNK = "chunk #{number} of {total}, ids above {lower} up to {upper}, {state}"
_TEXTS = {
    Code.NO_READER: "There is no such reader; a guest has no home feed.",
    Code.NO_POST: "There is no such post.",
    Code.DELETED: "The post is deleted.",
    Code.REMOVED: "Staff removed the post.",
    Code.AUTHOR_BANNED: "The author @{author} is banned.",
    Code.AUTHOR_CLOSED: "The account of the author @{author} is closed.",
    Code.NOT_FOLLOWED: "The reader does not follow the author @{author}.",
    Code.BLOCKED_BY_READER: "The reader blocks the author @{author}.",
    Code.BLOCKED_BY_AUTHOR: "The author @{author} blocks the reader.",
    Code.BLOCKED_BY_BOTH: "The reader and the author @{author} block each other.",
    Code.FOLLOWERS_ONLY: "The post is for followers only.",
    Code.NAMED_ONLY: "The post is for the people it names, and the reader is not one of them.",
    Code.AUTHOR_ONLY: "The post is for its author only.",
    Code.OWN: "The reader wrote it.",
    Code.FOLLOWED: "The reader follows the author @{author}, since {since_ms}.",
    Code.PULLED_OWN: "It is pulled: one's own posts always are.",
    Code.PULLED_FANOUT_OPEN: "It is pulled: its fan-out is open ({state}, open chunks: {open}).",
    Code.PULLED_MODE: "It is pulled: it was published in mode {mode}, not pushed to all.",
    Code.PULLED_NO_EDGE: "It is pulled: the inbox has no record of the author.",
    Code.PULLED_NOT_BACKFILLED: "It is pulled: the author's posts are not backfilled yet.",
    Code.PULLED_BELOW_BACKFILL: "It is pulled: posts are backfilled since {backfilled_from_ms}.",
    Code.PULLED_BELOW_FLOOR: "It is pulled: the inbox is trimmed up to {inbox_floor_ms}.",
    Code.PUSHED_CHUNK: f"It is in the inbox, pushed by the fan-out ({_CHUNK}).",
    Code.PUSHED_BACKFILL: "It is in the inbox, pushed by a backfill after the fan-out.",
    Code.PUSHED_FORGOTTEN: "It is in the inbox; records of its delivery are deleted after a week.",
    Code.CHUNK: f"The fan-out delivers to the reader in {_CHUNK}.",
    Code.ROW_MISSING: (
        "The inbox should contain it and does not: pages that do not pull the author lack it."
        " Rebuild the inbox."
    ),
    Code.ROW_STALE: "The inbox has a row of it; readers skip it.",
    Code.ROW_MISPLACED: (
        "The inbox has a wrong row of it, with author {author} at {publish_time_ms}."
    ),
    Code.HEAD_BEHIND: (
        "Its mode is {mode}, but its author's head does not record that: it is not pulled."
    ),
    Code.READER_CLOSED: "The reader's account is banned or closed: nobody can read this feed now.",
    Code.CACHED_READER: "The cached reader is out of date: {what}.",
    Code.CACHED_INBOX_LACKS: "The cached inbox lacks it.",
    Code.CACHED_INBOX_HAS: "The cached inbox has it, but the inbox itself does not.",
    Code.CACHED_OUTBOX_LACKS: "The cached list of its author's posts lacks it.",
    Code.CACHED_FANOUTS_LACK: "The cached list of open fan-outs lacks it.",
    Code.CACHED_POST: "The cached post is out of date.",
    Code.CACHED_PERSON: "The cached author is out of date.",
}


@dataclass(frozen=True)
class Reason:
    """One fact for or against showing a post; values named `…_ms` are Unix ms."""

    code: Code
    params: dict[str, Value]

    @property
    def text(self) -> str:
        """The reason as one English sentence."""
        values = {
            name: time_of(int(value)) if name.endswith("_ms") else value
            for name, value in self.params.items()
        }
        return _TEXTS[self.code].format(**values)


def time_of(ts_ms: int) -> str:
    """Format a Unix time in ms for people."""
    try:
        return iso(ts_ms)
    except (ValueError, OverflowError):  # damaged rows are explained too
        return f"{ts_ms} ms"
