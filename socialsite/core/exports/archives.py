"""Write an archive: a ZIP file with JSON, CSV, media, and pages that any browser shows.

- The memory that it needs does not depend on the amount of data: records are read in steps, and
  files are copied in blocks.
- Nothing in the pages leads out of the archive or runs: their texts are escaped, and a policy in
  each page forbids scripts.
"""

import contextlib
import csv
import io
import json
import zipfile
from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import IO, Any

from django.conf import settings
from django.template.loader import render_to_string
from django.utils.text import slugify
from django.utils.translation import get_language
from django.utils.translation import gettext_lazy as _

from socialsite.core.exports.parts import Part, Record, Table
from socialsite.core.media import stored_files
from socialsite.core.models import Media

BLOCK = 1024 * 1024
PAGE = 100  # records on a page
# The names of fields on pages; others are shown as they are in the JSON.
LABELS = {
    "at": _("Time"),
    "since": _("Since"),
    "created_at": _("Created"),
    "updated_at": _("Changed"),
    "edited_at": _("Edited"),
    "content": _("Text"),
    "title": _("Title"),
    "note": _("Content note"),
    "media": _("Pictures and videos"),
    "former_versions": _("Former versions"),
    "visibility": _("Audience"),
    "kind": _("Kind"),
    "poll": _("Poll"),
    "username": _("Username"),
    "nickname": _("Name"),
    "bio": _("About you"),
    "place": _("Place"),
    "pronouns": _("Pronouns"),
    "links": _("Links"),
    "picture": _("Profile picture"),
    "banner": _("Banner"),
    "email": _("E-mail"),
    "language": _("Language"),
    "device": _("Device"),
    "address": _("Address"),
    "reason": _("Reason"),
    "words": _("Words"),
}
# The member that says which site made the archive: its imports read it.
MANIFEST = "data/archive.json"
IMAGES, VIDEOS = (".jpg", ".webp", ".png"), (".mp4",)


def write(
    target: IO[bytes],
    user_id: int,
    name: str,
    host: str,
    parts: Sequence[Part],
    tables: Sequence[Table],
    report: Callable[[int], None],
) -> None:
    """Write the archive of a person into an empty file.

    `report` is called very often, with the percentage of what is done; it may raise to stop.
    """
    media = Media.objects.filter(owner_id=user_id)
    steps, total = 0, len(parts) + len(tables) + media.count()
    counts: dict[str, int] = {}

    def done(more: int = 0) -> None:
        nonlocal steps
        steps += more
        report(min(99, 100 * steps // max(1, total)))

    with zipfile.ZipFile(target, "w", zipfile.ZIP_DEFLATED, allowZip64=True) as file:
        _text(file, MANIFEST, _json({"site": settings.SITE_URL}))
        _text(file, "data/schema.json", _json({part.name: part.schema() for part in parts}))
        for part in parts:
            counts[part.name] = _write_part(file, part, user_id, done)
            done(1)
        for table in tables:
            _write_table(file, table, user_id, host, done)
            done(1)
        for item in media.order_by("pk").iterator(chunk_size=200):
            _write_media(file, item, done)
            done(1)
        _page(file, "index.html", "index", _index(parts, tables, counts) | {"of": name})


def _write_part(file: zipfile.ZipFile, part: Part, user_id: int, done: Callable[[], None]) -> int:
    """Write the records of a part as JSON, then its pages; return how many there are.

    A ZIP file is written one member after the other, so that the records are read twice. Pages
    show the records as of their own reading.
    """
    count = 0
    with _member(file, f"data/{part.name}.json") as out:
        for count, record in enumerate(part.read(user_id), 1):
            out.write("[\n" if count == 1 else ",\n")
            out.write(json.dumps(record, ensure_ascii=False))
            done()
        out.write("\n]\n" if count else "[]\n")
    pages = -(-count // PAGE)
    number, shown = 0, list[Record]()
    for record in part.read(user_id):
        shown.append(record)
        done()
        if len(shown) == PAGE:
            number += 1
            _records(file, part, shown, number, pages)
            shown = []
    if shown:
        _records(file, part, shown, number + 1, max(pages, number + 1))
    return count


def _records(
    file: zipfile.ZipFile, part: Part, records: list[Record], number: int, pages: int
) -> None:
    shown = [[_shown(field, record[field]) for field in part.fields] for record in records]
    context = {
        "title": part.title,
        "records": [[one for one in record if one["value"]] for record in shown],
        "before": page_name(part, number - 1) if number > 1 else "",
        "next": page_name(part, number + 1) if number < pages else "",
    }
    _page(file, f"pages/{page_name(part, number)}", "records", context)


def page_name(part: Part, number: int) -> str:
    """Return the name of a page of records."""
    return f"{slugify(part.name)}-{number}.html"


def _shown(name: str, value: Any) -> dict[str, Any]:
    """Return a field for a page: files as pictures and videos, lists as lines."""
    files = [one["file"] for one in value if "file" in one] if _is_list_of_objects(value) else []
    shown: dict[str, Any] = {
        "label": LABELS.get(name, name.replace("_", " ")),
        "images": [one for one in files if one.endswith(IMAGES)],
        "videos": [one for one in files if one.endswith(VIDEOS)],
        "value": _text_of(value),
    }
    return shown


def _text_of(value: Any) -> str:
    if value is True:
        return "✓"
    if not value:
        return ""
    if isinstance(value, list) and all(isinstance(one, str) for one in value):
        return "\n".join(value)
    if isinstance(value, (dict, list)):
        return json.dumps(value, ensure_ascii=False, indent=1)
    return str(value)


def _is_list_of_objects(value: Any) -> bool:
    return isinstance(value, list) and bool(value) and all(isinstance(one, dict) for one in value)


def _write_table(
    file: zipfile.ZipFile, table: Table, user_id: int, host: str, done: Callable[[], None]
) -> None:
    with _member(file, f"{table.name}.csv") as out:
        writer = csv.writer(out, lineterminator="\n")
        if table.header:
            writer.writerow(table.header)
        for row in table.read(user_id, host):
            writer.writerow(row)
            done()


def _write_media(file: zipfile.ZipFile, item: Media, done: Callable[[], None]) -> None:
    """Copy the files of a picture or video as they are; one that is gone by now is left out."""
    captions = [one["name"] for one in item.captions]
    for name in (item.name, *captions):
        member = zipfile.ZipInfo(file_of(name))
        member.compress_type = zipfile.ZIP_STORED
        with (
            contextlib.suppress(FileNotFoundError),
            stored_files.opened(name, done) as source,
            file.open(member, "w", force_zip64=True) as out,
        ):
            while block := source.read(BLOCK):
                out.write(block)
                done()


def file_of(name: str) -> str:
    """Return the path in an archive of a file below MEDIA_ROOT."""
    return f"media/{name}"


def _index(
    parts: Sequence[Part], tables: Sequence[Table], counts: Mapping[str, int]
) -> dict[str, Any]:
    listed = [
        {
            "title": part.title,
            "count": counts[part.name],
            "page": f"pages/{page_name(part, 1)}" if counts[part.name] else "",
            "data": f"data/{part.name}.json",
        }
        for part in parts
    ]
    return {"parts": listed, "tables": [f"{table.name}.csv" for table in tables]}


def _page(file: zipfile.ZipFile, path: str, template: str, context: dict[str, Any]) -> None:
    _text(
        file,
        path,
        render_to_string(f"exports/{template}.html", {**context, "language": get_language()}),
    )


def _text(file: zipfile.ZipFile, path: str, text: str) -> None:
    with _member(file, path) as out:
        out.write(text)


@contextlib.contextmanager
def _member(file: zipfile.ZipFile, path: str) -> Iterator[io.TextIOWrapper]:
    with (
        file.open(path, "w", force_zip64=True) as raw,
        io.TextIOWrapper(raw, "utf-8", newline="\n") as out,
    ):
        yield out


def _json(value: Any) -> str:
    return json.dumps(value, ensure_ascii=False, indent=1) + "\n"
