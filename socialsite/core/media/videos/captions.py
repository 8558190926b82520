"""What is said in a video, as text: WebVTT files, one for each language, and a description.

A file is read by `webvtt` and written anew with nothing but the times, the place and the text of
its captions: styles, regions and comments are left out.
"""

import io
import re
import unicodedata
from functools import partial
from typing import TypedDict

from django.conf.locale import LANG_INFO
from django.db import transaction
from django.utils.functional import Promise
from django.utils.translation import gettext_lazy as _
from webvtt import WebVTT
from webvtt.errors import MalformedCaptionError, MalformedFileError

from socialsite.core import db, events
from socialsite.core.errors import InvalidInput, NotFound
from socialsite.core.media import pictures, stored_files
from socialsite.core.media.videos.events import VideoChanged
from socialsite.core.models import Media

FILES_MAX, BYTES, CAPTIONS_MAX = 4, 200 * 1024, 5000
LANGUAGE = re.compile(r"[a-z]{2,3}(-[a-z0-9]{2,8}){0,2}")
# Where a caption stands; other settings name regions, which are not kept.
_SETTING = re.compile(r"(?:align|line|position|size|vertical):[a-z0-9.,%-]{1,30}")

_WRONG = _("This is not a WebVTT file.")
_TOO_LARGE = _("Captions may have at most %(limit)s kB.")
_TOO_MANY = _("A video may have captions in at most %(limit)s languages.")
_NO_LANGUAGE = _("Choose a language.")


class Captions(TypedDict):
    """The captions of one language; `name` is the language in its own words."""

    language: str
    name: str
    url: str


def name_of(language: str) -> str:
    """Return the name of a language in its own words; its code if nobody knows it."""
    info = LANG_INFO.get(language, {})
    return str(info.get("name_local", language))


def languages() -> list[tuple[str, str]]:
    """Return the languages to choose from, each with its own name, sorted by it."""
    known = {code: info["name_local"] for code, info in LANG_INFO.items() if "name_local" in info}
    return sorted(known.items(), key=lambda one: one[1].casefold())


def shown(entries: list[dict[str, str]]) -> list[Captions]:
    """Return what readers see, from what a video stores."""
    return [
        Captions(
            language=entry["language"],
            name=name_of(entry["language"]),
            url=pictures.url_of(entry["name"]),
        )
        for entry in entries
    ]


def tidied(data: bytes) -> bytes:
    """Return a file with the captions of another. Raises InvalidInput (`file`)."""
    if len(data) > BYTES:
        raise _wrong(_TOO_LARGE % {"limit": BYTES // 1024})
    try:
        found = WebVTT.from_buffer(io.StringIO(data.decode("utf-8-sig"))).captions
    except (UnicodeDecodeError, MalformedFileError, MalformedCaptionError):
        raise _wrong(_WRONG) from None
    if not 0 < len(found) <= CAPTIONS_MAX:
        raise _wrong(_WRONG)
    blocks = ["WEBVTT"]
    for caption in found:
        place = " ".join(_SETTING.findall(str(caption.settings)))
        lines = [cleaned for line in caption.lines if (cleaned := _clean(line))]
        blocks.append("\n".join([f"{caption.start} --> {caption.end} {place}".rstrip(), *lines]))
    return ("\n\n".join(blocks) + "\n").encode()


def _clean(line: str) -> str:
    kept = "".join(one for one in line if unicodedata.category(one) not in ("Cc", "Cs"))
    return kept.replace("-->", "→").strip()


def _wrong(message: str | Promise) -> InvalidInput:
    return InvalidInput(fields={"file": [message]})


@db.atomic
def put(owner_id: int, ident: int, language: str, data: bytes) -> None:
    """Store the captions of a person's video in a language, in place of those it has.

    Raises NotFound, InvalidInput (`file`, `language`).
    """
    language = language.lower()
    if not LANGUAGE.fullmatch(language):
        raise InvalidInput(fields={"language": [_NO_LANGUAGE]})
    item = _locked(owner_id, ident)
    others = [entry for entry in item.captions if entry["language"] != language]
    if len(others) >= FILES_MAX:
        raise InvalidInput(fields={"language": [_TOO_MANY % {"limit": FILES_MAX}]})
    file = tidied(data)
    name = stored_files.new_captions_of(item.name)
    stored_files.write(name, file)
    _store(item, [*others, {"language": language, "name": name}])


@db.atomic
def remove(owner_id: int, ident: int, language: str) -> None:
    """Remove the captions of a person's video in a language, if any. Raises NotFound."""
    item = _locked(owner_id, ident)
    _store(item, [entry for entry in item.captions if entry["language"] != language.lower()])


@db.atomic
def describe(owner_id: int, ident: int, alt: str) -> None:
    """Set the description of a person's video. Raises NotFound, InvalidInput (`alt`)."""
    item = _locked(owner_id, ident)
    text = pictures.clean_alt(alt)
    if text != item.alt:
        item.alt = text
        item.save(update_fields=["alt"])
        events.publish(VideoChanged(item.owner_id, item.pk))


def _locked(owner_id: int, ident: int) -> Media:
    rows = Media.objects.select_for_update().filter(pk=ident, owner_id=owner_id, is_video=True)
    item = rows.first()
    if item is None:
        raise NotFound
    return item


def _store(item: Media, entries: list[dict[str, str]]) -> None:
    """Store the captions; the files of the former ones are removed with the commit."""
    gone = {one["name"] for one in item.captions} - {one["name"] for one in entries}
    if entries == item.captions:
        return
    item.captions = sorted(entries, key=lambda one: one["language"])
    item.save(update_fields=["captions"])
    events.publish(VideoChanged(item.owner_id, item.pk))
    for name in gone:
        transaction.on_commit(partial(stored_files.remove, name), robust=True)
