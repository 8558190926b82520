"""A post of an archive, in the form that every reader makes of it.

A record is plain JSON with the fields of `blank`, since it waits in a file for its turn. Its texts
are as a post keeps them.
"""

from collections.abc import Iterable
from contextlib import suppress
from datetime import UTC, datetime
from itertools import islice
from typing import Any

from feeds.content.plain_text import tags_of
from feeds.content.polls import definition
from feeds.content.polls.definition import Given
from feeds.models import Kind, PostContent, PostTag, Visibility
from socialsite.core import site
from socialsite.core.text import clean, one_line, spans
from socialsite.core.text.cuts import cut, shortened

Record = dict[str, Any]
# Names of errors: the post does not come.
NO_TIME, REPLY, REPOST = "INVALID_TIME", "REPLY", "REPOST"
TOO_LONG, INVALID, NO_SPACE, OTHER_KIND = "TOO_LONG", "INVALID_POST", "NO_SPACE", "OTHER_KIND"
# Of warnings: the post comes without them. They are errors if nothing is left.
PICTURE, VIDEO, POLL = "PICTURE", "VIDEO", "POLL"
# Of what a record is read from.
FILE_MAX, ALT_MAX = 300, 2000
# Characters of a text before spaces are removed, and options of a poll.
RAW_MAX = 2 * max(PostContent.TEXT_MAX.values())
OPTIONS_MAX = 100
# Files of a post: its pictures or its video, and one that says that there are more.
FILES_MAX = PostContent.IMAGES_MAX + 1
_SIGNS = set("\\`*[]<>|~_")
_LINE_BEGINS = ("-", "+", "=", "#")


class Wrong(Exception):
    """A record cannot become a post; the text is the name of the error."""


def failed(record: Record, error: str) -> Record:
    """Return what a list shows of a record that cannot become a post."""
    begins = one_line(cut(record["title"] or record["content"], ALT_MAX))
    return blank(record["ident"], error) | {"at": record["at"], "title": shortened(begins, 80)}


def blank(ident: str = "", error: str = "") -> Record:
    """Return a record without anything."""
    return {
        "ident": ident[:FILE_MAX],
        "at": 0,
        "kind": Kind.MICRO.value,
        "visibility": Visibility.SELF.value,
        "title": "",
        "note": "",
        "content": "",
        "sensitive": False,
        "media": [],  # {"file", "alt"}: paths in the archive
        "video_url": "",
        "poll": None,  # {"options", "multiple", "ends_at"}: Unix ms
        "repost_of": "",  # the ident of the original
        "own": 0,  # the id of the post itself, if it may be on this site
        "here": 0,  # the id of the original, if it may be on this site
        "address": "",  # of the original, if it is known
        "error": error,
        "warning": "",
    }


# --- values of any type --------------------------------------------------------------------------
def text(value: Any) -> str:
    """Return a text of JSON; null is empty. Raises Wrong for anything else."""
    if value is None:
        return ""
    if not isinstance(value, str):
        raise Wrong(INVALID)
    return value


def items(value: Any) -> list[Any]:
    """Return a list of JSON; null is empty. Raises Wrong for anything else."""
    if value is None:
        return []
    if not isinstance(value, list):
        raise Wrong(INVALID)
    return value


def within(value: str) -> str:
    """Return a text that is not too long for any kind of post. Raises Wrong."""
    if len(value) > RAW_MAX:
        raise Wrong(TOO_LONG)
    return value


def ms_of(value: Any) -> int:
    """Return a time with a zone, of the past since 1970, in Unix ms. Raises Wrong."""
    try:
        moment = datetime.fromisoformat(text(value)[:40])
        if moment.tzinfo is None:
            raise Wrong(NO_TIME)
        since = moment.astimezone(UTC) - datetime(1970, 1, 1, tzinfo=UTC)
    except (ValueError, OverflowError):
        raise Wrong(NO_TIME) from None
    return (since.days * 86_400 + since.seconds) * 1000 + since.microseconds // 1000


def published(value: Any, now: int) -> int:
    """Return the time of a post. Raises Wrong for one in the future or before 1970."""
    found = ms_of(value)
    if not 0 < found <= now:
        raise Wrong(NO_TIME)
    return found


# --- texts ---------------------------------------------------------------------------------------
def elsewhere(content: str, host: str) -> str:
    """Return a text whose names are those of another site: `@bob` becomes `@bob@host`.

    Such a name leads to nobody here. (It is the same in an article.)
    """
    parts, rest = list[str](), 0
    for _start, end, kind in spans.spans(content):
        if kind is spans.Kind.NAME:
            parts.append(f"{content[rest:end]}@{host}")
            rest = end
    return "".join([*parts, content[rest:]])


def poll_of(record: Record) -> Given | None:
    """Return the poll of a record."""
    poll = record["poll"]
    if poll is None:
        return None
    multiple, ends_at = poll["multiple"], poll["ends_at"]
    given = Given(options=poll["options"], multiple=multiple, ends_at=ends_at, lasts=None)
    return definition.tidy(given)


def settle(record: Record) -> Record:
    """Return a record whose texts are as a post keeps them and fit into it. Raises Wrong."""
    if record["poll"] is not None:
        options = record["poll"]["options"]
        if len(options) > OPTIONS_MAX or sum(map(len, options)) > RAW_MAX:
            raise Wrong(TOO_LONG)
    poll = poll_of(record)
    if poll is not None and definition.flaws(poll, record["at"], whole=True):
        options = "\n".join(f"- {one}" for one in poll["options"])
        record |= {
            "content": f"{record['content']}\n\n{options}",
            "poll": None,
            "warning": POLL,
        }
    record["title"] = shortened(one_line(record["title"]), PostContent.TITLE_MAX)
    record["content"] = clean(record["content"])
    note = clean(record["note"])
    record["note"] = shortened(note, PostContent.NOTE_MAX)
    if record["note"] != note:
        record["content"] = f"{note}\n\n{record['content']}".strip()
    for one in record["media"]:
        one["alt"] = one_line(one["alt"])
    kind = record["kind"]
    if kind == Kind.MICRO and len(record["content"]) > site.current().limits.micro_max:
        record["title"] = _first_line(record["content"])
        record["content"] = as_markdown(record["content"])
        record["kind"] = kind = Kind.ARTICLE.value
    if kind == Kind.ARTICLE and not record["title"]:
        record["title"] = _first_line(record["content"])
    if len(record["content"]) > PostContent.TEXT_MAX[kind]:
        raise Wrong(TOO_LONG)
    record["content"] = _few_tags(kind, record["content"])
    return record


def _first_line(content: str) -> str:
    lines = (one_line(line) for line in content.splitlines())
    return shortened(next(filter(None, lines), ""), PostContent.TITLE_MAX)


def as_markdown(content: str) -> str:
    """Return a plain text as the Markdown that shows it; addresses, names and tags stay."""
    return "\n".join(map(_escaped, content.split("\n")))


def _escaped(line: str) -> str:
    line = line.lstrip(" \t")  # else it would be code
    parts, rest = list[str](), 0
    for start, end, _kind in spans.spans(line):
        parts += [_plain(line[rest:start]), line[start:end]]
        rest = end
    found = "".join([*parts, _plain(line[rest:])])
    digits = len(found) - len(found.lstrip("0123456789"))
    if digits and found[digits : digits + 1] in (".", ")"):
        return f"{found[:digits]}\\{found[digits:]}"
    is_tag = found.startswith("#") and bool(tags_of(Kind.MICRO, found.split()[0]))
    return f"\\{found}" if found.startswith(_LINE_BEGINS) and not is_tag else found


def _plain(part: str) -> str:
    return "".join(f"\\{sign}" if sign in _SIGNS else sign for sign in part)


def _few_tags(kind: str, content: str) -> str:
    """Return a text whose tags after the first PostTag.MOST are words without their sign."""
    names = set(tags_of(kind, content)[: PostTag.MOST])
    if len(tags_of(kind, content)) <= PostTag.MOST:
        return content
    parts, rest = list[str](), 0
    for start, end, sort in spans.spans(content):
        if sort is spans.Kind.TAG and not names.issuperset(spans.tag_names(content[start:end])):
            parts.append(content[rest:start])
            rest = start + 1
    return "".join([*parts, content[rest:]])


def with_address(record: Record) -> str:
    """Return the words of a quote whose original is not here, with its address."""
    content, address = record["content"], record["address"]
    return content if not address or address in content else f"{content}\n\n{address}"


def forms(record: Record) -> tuple[str, ...]:
    """Return the texts that a post of this record may have."""
    quoted = with_address(record)
    found = [record["content"], quoted]
    if quoted != record["content"]:
        with suppress(Wrong):
            settled = settle(record | {"kind": Kind.MICRO.value, "content": quoted})
            found.append(settled["content"])
    return tuple(dict.fromkeys(found))


def source_of(record: Record) -> str:
    """Return the line that shows a record in a list: its day and how it begins."""
    day = f"{datetime.fromtimestamp(record['at'] / 1000, UTC):%Y-%m-%d} " if record["at"] else ""
    words = record["title"] or one_line(record["content"]) or record["ident"]
    return day + shortened(words, 80)


def is_video(file: str) -> bool:
    """Return whether a file of an archive is a video, by its name."""
    return file.lower().endswith(".mp4")


def media_of(pairs: Iterable[tuple[Any, Any]]) -> list[dict[str, str]]:
    """Return the first files of a record with their descriptions. Raises Wrong."""
    return [
        {"file": text(file)[:FILE_MAX], "alt": cut(text(alt), ALT_MAX)}
        for file, alt in islice(pairs, FILES_MAX)
    ]
