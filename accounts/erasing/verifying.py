"""Looks for what is left of an erased person: in every table, in Redis, in files and in logs.

It does not trust the erasers: it looks into every column of every table for the id, and for the
name and the address that the operator gives. What may stay is in `socialsite.core.erasing`.
"""

import re
import struct
from collections.abc import Iterable, Iterator
from operator import methodcaller
from pathlib import Path
from typing import Any, NamedTuple

from django.apps import apps
from django.conf import settings
from django.db import models
from django.db.models.functions import Cast

from accounts import erasing
from socialsite.core import erasing as registry
from socialsite.core import redis
from socialsite.core.exports import jobs as exports
from socialsite.core.imports import files as imports
from socialsite.core.media import stored_files
from socialsite.core.media.buckets import files as buckets
from socialsite.core.media.videos import sources
from socialsite.core.models import Export, Import, Media, Video, VideoUpload


class Found(NamedTuple):
    """Where something is, how often, and why it may stay; empty: it is left."""

    place: str
    number: int
    reason: str = ""


class Person(NamedTuple):
    """What is looked for."""

    id: int
    name: str = ""
    email: str = ""

    @property
    def words(self) -> list[str]:
        """The texts that nothing may contain."""
        return [word for word in (self.name, self.email) if word]


def verify(person: Person, logs: Iterable[Path] = ()) -> Iterator[Found]:
    """Yield what is found. Raises RedisDown."""
    for name, number in erasing.left(person.id).items():
        yield Found(f"eraser: {name}", number)
    for model in apps.get_models(include_auto_created=True):
        for field in model._meta.concrete_fields:
            yield from _in_column(model, field, person)
    yield from _in_redis(person)
    yield from _in_files()
    for path in logs:
        yield from _in_log(path, person)


# --- tables -------------------------------------------------------------------------------------
def name_of(field: "models.Field[Any, Any]") -> str:
    """Return the name of a column, as apps register it."""
    return f"{field.model._meta.label}.{field.name}"


def is_number(field: "models.Field[Any, Any]") -> bool:
    """Return whether a column may have the id of a person."""
    target: Any = field
    while target.is_relation:
        target = target.target_field
    return isinstance(target, models.BigIntegerField)


def is_text(field: "models.Field[Any, Any]") -> bool:
    """Return whether a column has text or JSON."""
    return isinstance(field, models.CharField | models.TextField | models.JSONField)


def _in_column(
    model: type[models.Model], field: "models.Field[Any, Any]", person: Person
) -> Iterator[Found]:
    place, rows = name_of(field), model._default_manager.all()
    kept = registry.kept_columns.get(place, "")
    if is_number(field):
        yield from _some(place, rows.filter(**{field.attname: person.id}), kept)
    if not is_text(field):
        return
    text = rows.annotate(_text=Cast(field.name, models.TextField()))
    yield from _some(place, text.filter(_text__contains=str(person.id)), kept)
    written = "words of others" if place in registry.texts_of_others else ""
    for word in person.words:
        yield from _some(place, text.filter(_text__iregex=_alone(word)), written)


def _some(place: str, rows: "models.QuerySet[Any]", reason: str) -> Iterator[Found]:
    number = rows.count()
    if number:
        yield Found(place, number, reason)


def _alone(word: str) -> str:
    """Return a pattern of a name that is no part of a longer one."""
    return f"(^|[^A-Za-z0-9]){re.escape(word)}($|[^A-Za-z0-9])"


# --- Redis --------------------------------------------------------------------------------------
def _in_redis(person: Person) -> Iterator[Found]:
    """Yield the keys that name the person, or whose value does."""
    ids = [str(person.id).encode(), struct.pack("<q", person.id), struct.pack(">q", person.id)]
    kept = {key for keys in registry.kept_keys for key in keys(person.id)}
    words = [word.encode() for word in person.words]
    for key in redis.keys("*"):
        parts = [key, *_parts(key)]
        name = key.decode(errors="replace")
        place = f"Redis: {name}"
        if any(sign in part for part in parts for sign in ids):
            yield Found(place, 1, "refers to the shell" if name in kept else "")
        elif any(word in part for part in parts for word in words):
            yield Found(place, 1, "words of others" if key.startswith(b"post") else "")


def _parts(key: bytes) -> Iterator[bytes]:
    kind: Any = redis.call(methodcaller("type", key))
    reads: dict[bytes, tuple[Any, ...]] = {
        b"string": ("GET", key),
        b"hash": ("HGETALL", key),
        b"zset": ("ZRANGE", key, 0, -1),
        b"set": ("SMEMBERS", key),
        b"list": ("LRANGE", key, 0, -1),
    }
    if kind in reads:
        reply: Any = redis.call(methodcaller("execute_command", *reads[kind]))
        yield from _flat(reply)


def _flat(reply: Any) -> Iterator[bytes]:
    if isinstance(reply, bytes):
        yield reply
    elif isinstance(reply, dict):
        yield from _flat(list(reply.items()))
    elif isinstance(reply, list | tuple | set):
        for part in reply:
            yield from _flat(part)


# --- files --------------------------------------------------------------------------------------
def _in_files() -> Iterator[Found]:
    """Yield files that belong to no row: their owners are unknown."""
    root = Path(settings.MEDIA_ROOT)
    names = {
        path.relative_to(root).as_posix()
        for path in root.rglob("*")
        if path.is_file() and not path.name.startswith(".")
    }
    if buckets.is_used():
        names.update(one.name for one in buckets.listed(""))
    lost = sum(not _has_row(name) for name in names)
    if lost:
        yield Found("files that belong to no row", lost)


def _has_row(name: str) -> bool:
    name = name.removeprefix(f"{stored_files.PUBLIC}/")
    if name.startswith(f"{sources.FOLDER}/"):
        source = Path(name).name.partition(".")[0]
        tables: tuple[Any, ...] = (Video, VideoUpload)
        return any(table.objects.filter(source=source).exists() for table in tables)
    if name.startswith(f"{exports.FOLDER}/"):
        return Export.objects.filter(name=Path(name).name.partition(".")[0]).exists()
    if name.startswith(f"{imports.FOLDER}/"):
        return Import.objects.filter(name=Path(name).name).exists()
    found = Media.objects.filter(name=stored_files.full_name(name)).first()
    return found is not None and name in found.file_names()


# --- logs ---------------------------------------------------------------------------------------
def _in_log(path: Path, person: Person) -> Iterator[Found]:
    """Yield a log with lines that have the name or the address; ids stay in logs for their time."""
    if path.is_dir():
        for inner in sorted(path.iterdir()):
            yield from _in_log(inner, person)
        return
    patterns = [re.compile(_alone(word), re.IGNORECASE) for word in person.words]
    named = numbered = 0
    with path.open(errors="replace") as lines:
        for line in lines:
            named += any(pattern.search(line) for pattern in patterns)
            numbered += str(person.id) in line
    if named:
        yield Found(f"log: {path}", named)
    if numbered:
        yield Found(f"log: {path}", numbered, "an id without a name")
