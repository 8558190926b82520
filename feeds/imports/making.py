"""Make posts of records: what is there already, their pictures, and their undo."""

import io
from collections.abc import Callable, Collection, Iterator, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field, replace
from pathlib import Path

from django.db import transaction

from accounts import queries as accounts_queries
from accounts.models import User
from feeds import actions
from feeds.actions import publishing
from feeds.imports import records
from feeds.imports.records import PICTURE, VIDEO, Record
from feeds.models import Kind, Post, PostContent
from socialsite.core.errors import (
    Forbidden,
    InvalidInput,
    NotFound,
    PayloadTooLarge,
    UnsupportedMedia,
    UserNotFound,
)
from socialsite.core.imports import spools, zips
from socialsite.core.imports.kinds import (
    CLOSED,
    SUSPENDED,
    TOO_MANY_FILES,
    UNREADABLE,
    Made,
    Refused,
    Row,
    Unreadable,
)
from socialsite.core.media import encoding, pictures
from socialsite.core.media.videos import uploads as videos
from socialsite.core.models import Media
from socialsite.core.text.cuts import shortened

# Posts of one import, and their pictures and videos.
POSTS_MAX, MEDIA_MAX = 20_000, 20_000
# What tells a post: its time, with its text or its id.
Sign = tuple[int, str | int]
Reader = Callable[[Path, Callable[[], None]], Iterator[Record]]


@dataclass(slots=True)
class _Ready:
    """A record with the files that are stored for it, and its original if it is a repost."""

    record: Record
    original: Record | None = None
    images: list[int] = field(default_factory=list)
    video: int | None = None
    warning: str = ""


# --- reading -------------------------------------------------------------------------------------
def prepared(read: Reader) -> Callable[[Path, Callable[[], None]], None]:
    """Return a function that reads an archive once, into the file that `rows` reads."""

    def prepare(path: Path, alive: Callable[[], None]) -> None:
        spools.write(path, _bounded(read(path, alive)), POSTS_MAX, alive)

    return prepare


def _bounded(found: Iterator[Record]) -> Iterator[Record]:
    media = 0
    for one in found:
        media += len(one["media"])
        if media > MEDIA_MAX:
            raise Unreadable(TOO_MANY_FILES)
        yield one


def rows(owner_id: int, path: Path, after: int) -> Iterator[Row]:
    """Yield the posts of an archive, the oldest first. Raises Unreadable."""
    for step in spools.steps(path, after):
        try:
            author = accounts_queries.by_id(owner_id)
        except UserNotFound:
            raise Unreadable(CLOSED) from None
        if author.is_suspended:
            raise Unreadable(SUSPENDED)
        there = _there(owner_id, [record for _number, record in step])
        with zips.opened(path) as archive:
            for number, record in step:
                yield _row(number, record, path, archive, there)


def _row(
    number: int,
    record: Record,
    path: Path,
    archive: zips.Zip,
    there: Collection[Sign],
) -> Row:
    source, error = records.source_of(record), record["error"]
    if not error and _is_lost(record, path):
        error = records.REPOST
    if error:
        return Row(number, source, error=error)
    is_there = _is_there(record, there)
    warning = record["warning"] or _missing(record, archive)
    return Row(number, source, is_there=is_there, payload=record, warning=warning)


def _is_lost(record: Record, path: Path) -> bool:
    """Return whether a repost without words shows what is certainly not here."""
    if record["kind"] != Kind.REPOST or record["content"] or record["here"]:
        return False
    return spools.find(path, record["repost_of"]) is None


def _missing(record: Record, archive: zips.Zip) -> str:
    """Return the warning of files that the archive does not have, or that are too large."""
    for one in record["media"]:
        size, is_video = archive.size_of(one["file"]), records.is_video(one["file"])
        if size is None or (size > encoding.MAX_BYTES and not is_video):
            return VIDEO if is_video else PICTURE
    return ""


def _there(owner_id: int, found: Sequence[Record]) -> set[Sign]:
    """Return the signs of the person's posts at the times of these records."""
    mine = Post.objects.filter(author_id=owner_id, is_deleted=False)
    at = mine.filter(position__in={one["at"] for one in found})
    rows = list(at.values_list("position", "content_row__content", "pk"))
    return {(ts, words) for ts, words, _pk in rows} | {(ts, pk) for ts, _words, pk in rows}


def _is_there(record: Record, there: Collection[Sign]) -> bool:
    signs = (record["own"], *records.forms(record))
    return any((record["at"], sign) in there for sign in signs)


# --- before the transaction ----------------------------------------------------------------------
@contextmanager
def staged(owner_id: int, path: Path, row: Row) -> Iterator[Row]:
    """Store the pictures and the video of a row; those that no post has at the end go again."""
    if row.error or row.is_there:
        yield row
        return
    ready = _Ready(dict(row.payload), warning=row.payload["warning"])
    try:
        _find_original(ready, path)
        if ready.record["media"]:
            with zips.opened(path) as archive:
                _store(owner_id, archive, ready)
        _check_rest(ready)
        yield replace(row, payload=ready)
    finally:
        ids = [*ready.images, *([] if ready.video is None else [ready.video])]
        pictures.discard(Media.objects.filter(pk__in=ids) if ids else ())


def _find_original(ready: _Ready, path: Path) -> None:
    if ready.record["repost_of"]:
        ready.original = spools.find(path, ready.record["repost_of"])


def _store(owner_id: int, archive: zips.Zip, ready: _Ready) -> None:
    is_video_post = ready.record["kind"] == Kind.VIDEO
    for one in ready.record["media"]:
        is_video = records.is_video(one["file"])
        wanted = ready.video is None and is_video_post and not ready.record["video_url"]
        try:
            if is_video and wanted:
                ready.video = _video(owner_id, archive, one)
            elif is_video or len(ready.images) >= PostContent.IMAGES_MAX:
                raise Refused(VIDEO if is_video else PICTURE)
            else:
                ready.images.append(_picture(owner_id, archive, one))
        except (UnsupportedMedia, PayloadTooLarge, Unreadable, Forbidden, InvalidInput):
            ready.warning = VIDEO if is_video else PICTURE
        except Refused as refused:
            if str(refused) == records.NO_SPACE:
                raise
            ready.warning = str(refused)


def _check_space(owner_id: int) -> None:
    try:
        pictures.check_space(owner_id)
    except PayloadTooLarge:
        raise Refused(records.NO_SPACE) from None


def _picture(owner_id: int, archive: zips.Zip, one: dict[str, str]) -> int:
    _check_space(owner_id)
    raw = archive.bytes_of(one["file"], encoding.MAX_BYTES)
    (item,) = pictures.store_all(owner_id, [(io.BytesIO(raw), _alt(one))])
    return item.pk


def _video(owner_id: int, archive: zips.Zip, one: dict[str, str]) -> int:
    _check_space(owner_id)
    size = archive.size_of(one["file"])
    if size is None:
        raise Unreadable(UNREADABLE)
    videos.check(owner_id, size)
    with archive.member(one["file"], size) as file:
        item = videos.add(owner_id, file, size).media
    pictures.describe([item], {item.pk: _alt(one)})
    return item.pk


def _alt(one: dict[str, str]) -> str:
    return shortened(one["alt"], Media.ALT_MAX)


def _check_rest(ready: _Ready) -> None:
    """Make a short post of what has lost its video; raises Refused if nothing is left."""
    record = ready.record
    if record["kind"] == Kind.VIDEO and not record["video_url"] and ready.video is None:
        record["kind"] = Kind.MICRO.value
        ready.warning = ready.warning or VIDEO
    is_empty = not (record["content"] or ready.images or record["poll"])
    if record["kind"] == Kind.MICRO and is_empty:
        raise Refused(ready.warning or records.INVALID)


# --- in the transaction --------------------------------------------------------------------------
def make(owner_id: int, row: Row) -> Made | None:
    """Publish a row that was staged, unless the person has the post. Raises Refused."""
    if row.is_there:
        return None
    ready: _Ready = row.payload
    # Two imports of one person wait for each other here.
    publishing.locked_head(owner_id)
    record = ready.record
    if _is_there(record, _there(owner_id, [record])):
        return None
    author = User.known(owner_id)
    try:
        with transaction.atomic():
            post = _repost(author, ready) if record["kind"] == Kind.REPOST else _post(author, ready)
    except (InvalidInput, Forbidden):
        raise Refused(records.INVALID) from None
    return None if post is None else Made(post.pk, post.position, ready.warning)


def _post(author: User, ready: _Ready) -> Post:
    record = ready.record
    return actions.publish(
        author,
        content=record["content"],
        kind=record["kind"],
        title=record["title"] if record["kind"] == Kind.ARTICLE else "",
        images=ready.images,
        video_url=record["video_url"],
        video=ready.video,
        visibility=record["visibility"],
        note=record["note"],
        sensitive=record["sensitive"],
        poll=records.poll_of(record),
        at_ms=record["at"],
        imported=True,
    )


def _repost(author: User, ready: _Ready) -> Post | None:
    """Repost or quote the original; without it the words of a quote stay, with its address."""
    record = ready.record
    for ident in filter(None, (_mine(author.pk, ready.original), record["here"])):
        with suppress(NotFound, Forbidden):
            post, is_new = actions.repost(
                author,
                ident,
                record["content"],
                visibility=record["visibility"],
                at_ms=record["at"],
                imported=True,
            )
            return post if is_new else None
    if not record["content"]:
        raise Refused(records.REPOST)
    record |= {"kind": Kind.MICRO.value, "content": records.with_address(record)}
    ready.warning = ready.warning or records.REPOST
    try:
        ready.record = records.settle(record)
    except records.Wrong as wrong:
        raise Refused(str(wrong)) from None
    return _post(author, ready)


def _mine(owner_id: int, original: Record | None) -> int | None:
    """Return the id of the post that a record of the same archive became."""
    if original is None or original["error"]:
        return None
    found = Post.objects.filter(author_id=owner_id, is_deleted=False, position=original["at"])
    same = found.filter(content_row__content__in=records.forms(original))
    return same.order_by("pk").values_list("pk", flat=True).first()


def undo(owner_id: int, target_id: int, at: int) -> None:
    """Delete a post that an import made, also if it was edited since."""
    with suppress(NotFound):
        actions.delete(User.known(owner_id), target_id)
