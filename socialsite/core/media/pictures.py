"""Pictures that people upload: checked, re-encoded, kept under random names below MEDIA_ROOT.

The apps that refer to a picture decide who may see it.

Uploaded bytes are never served: `media.encoding` makes new files of them.
"""

import contextlib
import logging
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from itertools import zip_longest
from typing import IO

from django.conf import settings
from django.db import DatabaseError, transaction
from django.db.models import Q
from django.utils.translation import gettext_lazy as _

from socialsite.core.errors import InvalidInput, PayloadTooLarge
from socialsite.core.media import disk_space, encoding, references, stored_files
from socialsite.core.models import Media
from socialsite.core.runtime import concurrency
from socialsite.core.text import one_line

logger = logging.getLogger(__name__)

_NO_SUCH = _("There is no such picture of yours.")


# --- keeping ------------------------------------------------------------------------------------
def store_all(
    owner_id: int, uploads: Sequence[tuple[IO[bytes], str]], shapes: Sequence[encoding.Shape] = ()
) -> list[Media]:
    """Check, re-encode and store uploaded pictures with their thumbnails, each with its `alt`.

    `shapes`, if given, has the shape of each picture.

    They are stored in order; if one fails, none is. Decoding takes up to seconds: call it outside
    of transactions. Raises PayloadTooLarge (bytes, pixels, quota), UnsupportedMedia, InvalidInput
    (`alt`), Unavailable.
    """
    if not uploads:
        return []
    texts = [clean_alt(alt) for _file, alt in uploads]
    check_space(owner_id)
    work = encoding.Work()
    with concurrency.slow(concurrency.UPLOAD, owner_id):
        pictures = [
            encoding.encode(upload_file, owner_id, work, shape)
            for (upload_file, _alt), shape in zip_longest(uploads, shapes)
        ]
    kept: list[Media] = []
    try:
        for picture, text in zip(pictures, texts, strict=True):
            with no_orphans(picture):
                kept.append(store(owner_id, picture, text))
    except BaseException:
        # Otherwise each retry on a full disk leaves pictures there until the sweep.
        discard(kept)
        raise
    return kept


def check_space(owner_id: int) -> None:
    """Raise like `disk_space.check`, but make room for more pictures first if that is possible."""
    try:
        disk_space.check(owner_id)
    except PayloadTooLarge:
        if not references.make_room(owner_id):
            raise
        disk_space.check(owner_id)


def discard(items: Iterable[Media]) -> None:
    """Remove pictures that were just stored, unless they are used; the sweep repeats a failure."""
    for item in items:
        with contextlib.suppress(DatabaseError):
            references.drop_unused(Media.objects.filter(pk=item.pk).select_for_update())


def store(owner_id: int, picture: encoding.Picture, alt: str) -> Media:
    """Write the files of a picture, then its row; safe to repeat with the same picture."""
    with disk_space.room():
        stored_files.write(picture.name, picture.data)
        stored_files.write(picture.thumb_name, picture.thumb)
    with transaction.atomic():
        return Media.objects.create(
            owner_id=owner_id,
            name=picture.name,
            thumb_name=picture.thumb_name,
            width=picture.width,
            height=picture.height,
            size=len(picture.data) + len(picture.thumb),
            alt=alt,
            placeholder=picture.placeholder,
        )


@contextlib.contextmanager
def no_orphans(picture: encoding.Picture) -> Iterator[None]:
    """Remove the files if the block fails and no row names them."""
    try:
        yield
    except BaseException:
        with contextlib.suppress(DatabaseError):
            if not Media.objects.filter(name=picture.name).exists():
                for name in (picture.name, picture.thumb_name):
                    stored_files.remove(name)
        raise


def clean_alt(text: str) -> str:
    """Return a description in one line; raises InvalidInput if it is too long."""
    if is_long_alt(text):
        message = _("At most %(limit)s characters.") % {"limit": Media.ALT_MAX}
        raise InvalidInput(fields={"alt": [message]})
    return one_line(text)


def is_long_alt(text: str) -> bool:
    """Return whether a description is too long."""
    return len(one_line(text)) > Media.ALT_MAX


# --- reading ------------------------------------------------------------------------------------
def by_ids(owner_id: int, ids: Sequence[int]) -> list[Media]:
    """Return a person's pictures in the given order; raises InvalidInput if one is not theirs."""
    if not ids:
        return []
    found = Media.objects.filter(owner_id=owner_id, is_video=False).in_bulk(list(ids))
    if any(ident not in found for ident in ids):
        raise InvalidInput(fields={"images": [_NO_SUCH]})
    return [found[ident] for ident in ids]


def own(owner_id: int, ids: Sequence[int]) -> list[Media]:
    """Return those of the pictures that are the person's, in the given order."""
    rows = Media.objects.filter(owner_id=owner_id, is_video=False)
    found = rows.in_bulk(list(ids)) if ids else {}
    return [found[ident] for ident in dict.fromkeys(ids) if ident in found]


def describe(items: Iterable[Media], texts: Mapping[int, str]) -> None:
    """Set the descriptions of pictures, by their ids; raises InvalidInput if one is too long."""
    wanted = {ident: clean_alt(text) for ident, text in texts.items()}
    for item in items:
        alt = wanted.get(item.pk, item.alt)
        if alt != item.alt:
            item.alt = alt
            item.save(update_fields=["alt"])


def use(owner_id: int, ids: Collection[int]) -> None:
    """Mark a person's pictures and videos as used, in the transaction that uses them.

    Raises InvalidInput if the sweep has removed one since it was looked up.
    """
    found = Media.objects.filter(owner_id=owner_id, pk__in=set(ids))
    if ids and found.update(is_used=True) != len(set(ids)):
        raise InvalidInput(fields={"images": [_NO_SUCH]})
    references.changed(owner_id, set(ids))


def release(owner_id: int, *, ids: Collection[int] = (), file_names: Collection[str] = ()) -> None:
    """Publish that one use of a person's pictures has ended, in its transaction.

    Other uses may remain: the event's handler checks them before it removes a picture.
    """
    names = [name for name in file_names if name]  # a video without a poster has no thumbnail
    which = Q(pk__in=set(ids)) | Q(name__in=names) | Q(thumb_name__in=names)
    found = Media.objects.filter(which, owner_id=owner_id)
    released = list(found.values_list("pk", flat=True))
    found.update(is_used=False)
    references.changed(owner_id, released)


def url_of(name: str) -> str:
    """Return the URL of a stored file; "" for no file."""
    return settings.MEDIA_URL + name if name else ""
