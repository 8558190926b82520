"""What the site is: its name, its words, its contact, and whether people may sign up.

Its longer texts are in `documents`, what it tells everybody for some time in `announcements`.

Staff change it in the admin (`accounts.actions.site`); what they leave empty is the environment's.
The row is cached under a lease, so every process shows a change at once. A page reads it along with
its first round trip to Redis (`along`).
"""

import contextlib
import threading
from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import timedelta
from functools import partial
from typing import Any

import orjson
from django.conf import settings
from django.db import DatabaseError, transaction
from django.utils import timezone
from django.utils.translation import get_language

from socialsite.core import redis
from socialsite.core.cache import reads
from socialsite.core.cache.lease import LeaseCache
from socialsite.core.cache.packing import json_of
from socialsite.core.cache.reads import Values
from socialsite.core.cache.unpacked import Unpacked
from socialsite.core.models import Announcement, SiteDocument, SiteSettings

SignUp = SiteSettings.SignUp
Kind = SiteDocument.Kind

# If a process dies between its commit and the deletion, the old value is shown for so long.
CACHE = LeaseCache("site", ttl_ms=60_000)
_COLUMNS = (
    *SiteSettings.TEXTS,
    *("contact", "sign_up", "members_invite", "email_needed", "accent", "logo"),
    *SiteSettings.QUESTIONS,
    *SiteSettings.DOMAINS,
    *SiteSettings.LIMITS,
    *Kind.values,
    "terms_needed",
)
# Of the announcements of now and of the next day, so many are known, the latest.
ANNOUNCEMENTS, DAY = 10, timedelta(days=1)


@dataclass(frozen=True, slots=True)
class Announced:
    """An announcement of now or of the next day; times are Unix ms."""

    id: int
    texts: Mapping[str, str]
    starts_at: int
    ends_at: int
    for_guests: bool


@dataclass(frozen=True, slots=True)
class Limits:
    """How much people may do, and what the site does at all."""

    micro_max: int  # characters
    follow_max: int
    video_mb: int
    videos: bool
    link_previews: bool


@dataclass(frozen=True, slots=True)
class Site:
    """The site as people see it; `descriptions` has a text, perhaps empty, for each language.

    `accent` is its colour `#rrggbb`, empty for the one of the design, as is `logo`, the digest of
    its picture. `documents` has the current version of each text that there is. People must have
    accepted the version `terms_needed` of the terms, or a later one; 0 for none.
    """

    name: str
    descriptions: Mapping[str, str]
    contact: str
    sign_up: SiteSettings.SignUp
    members_invite: bool
    # What people answer who ask for an account; empty texts for the question of the design.
    questions: Mapping[str, str]
    # Whether an account needs a confirmed e-mail address, and of which domains addresses may be.
    email_needed: bool
    domains_allowed: Sequence[str]
    domains_refused: Sequence[str]
    accent: str
    logo: str
    # As staff set them; None: as in the environment.
    own_limits: Mapping[str, int | None]
    documents: Mapping[SiteDocument.Kind, int]
    terms_needed: int
    announcements: Sequence[Announced]

    @property
    def limits(self) -> Limits:
        """How much people may do, and what the site does at all."""
        found = default_limits()
        own: Any = {name: value for name, value in self.own_limits.items() if value is not None}
        return replace(found, **own) if own else found

    @property
    def offers_sign_up(self) -> bool:
        """Whether everybody may sign up, or ask for an account."""
        return self.sign_up in (SignUp.OPEN, SignUp.APPROVAL)

    @property
    def question(self) -> str:
        """The question in the reader's language; empty for that of the design."""
        return in_own_language(self.questions)[1]

    @property
    def description(self) -> str:
        """The words about the site in the reader's language, or in the other one."""
        return in_own_language(self.descriptions)[1]

    @property
    def texts(self) -> tuple[SiteDocument.Kind, ...]:
        """The longer texts that people can read; the site always says what it is about."""
        return (Kind.ABOUT, *(kind for kind in self.documents if kind != Kind.ABOUT))

    @property
    def terms(self) -> int:
        """The current version of the terms; 0 for none."""
        return self.documents.get(Kind.TERMS, 0)


def default_limits() -> Limits:
    """Return what the environment says."""
    return Limits(
        micro_max=SiteSettings.MICRO_MOST,
        follow_max=settings.FOLLOW_LIMIT,
        video_mb=settings.VIDEO_MB,
        videos=settings.VIDEO_UPLOADS,
        link_previews=settings.LINK_PREVIEWS,
    )


def by_language(row: SiteDocument | Announcement) -> dict[str, str]:
    """Return language → text of a row."""
    return {"en": row.text_en, "zh-hans": row.text_zh_hans}


def in_own_language(texts: Mapping[str, str]) -> tuple[str, str]:
    """Return the text in the reader's language, or in the other one, and its language first."""
    own = get_language() or settings.LANGUAGE_CODE
    found = [language for language, text in texts.items() if text]
    language = own if own in found or not found else found[0]
    return language, texts.get(language, "")


class _Row(Values[Site]):
    cache = CACHE

    def __init__(self) -> None:
        super().__init__([SiteSettings.THE_ROW])

    def read(self, idents: Collection[int]) -> dict[int, bytes]:
        row = SiteSettings.objects.filter(pk__in=idents).values(*_COLUMNS).first() or {}
        return {SiteSettings.THE_ROW: json_of(row | {"announcements": _announcements()})}

    def decode(self, found: Mapping[int, bytes]) -> dict[int, Site]:
        return {ident: _site(packed) for ident, packed in found.items()}


_unpacked: Unpacked[Site] = Unpacked(10_000)


def _site(packed: bytes) -> Site:
    known = _unpacked.get(SiteSettings.THE_ROW)
    if known is None or known[0] != packed:
        known = packed, _made(orjson.loads(packed))
        _unpacked.store(SiteSettings.THE_ROW, *known)
    return known[1]


def _announcements() -> list[tuple[Any, ...]]:
    """Return the announcements of now and of the next day, as the arguments of `Announced`."""
    now = timezone.now()
    rows = Announcement.objects.filter(ends_at__gt=now, starts_at__lt=now + DAY)
    rows = rows.order_by("-starts_at", "-id")
    return [
        (
            row.pk,
            by_language(row),
            int(row.starts_at.timestamp() * 1000),
            int(row.ends_at.timestamp() * 1000),
            row.for_guests,
        )
        for row in rows[:ANNOUNCEMENTS]
    ]


def _made(row: Mapping[str, Any]) -> Site:
    """Return the site of a row; {} for none yet."""
    return Site(
        name=row.get("name") or settings.SITE_NAME,
        descriptions={
            "en": row.get("description_en", ""),
            "zh-hans": row.get("description_zh_hans", ""),
        },
        contact=row.get("contact", ""),
        sign_up=SignUp(row.get("sign_up") or settings.SIGN_UP),
        members_invite=row.get("members_invite", False),
        questions={
            "en": row.get("question_en", ""),
            "zh-hans": row.get("question_zh_hans", ""),
        },
        email_needed=row.get("email_needed", False),
        domains_allowed=row.get("domains_allowed", "").split(),
        domains_refused=row.get("domains_refused", "").split(),
        accent=row.get("accent", ""),
        logo=row.get("logo", ""),
        own_limits={name: row.get(name) for name in SiteSettings.LIMITS},
        documents={kind: row[kind] for kind in Kind if row.get(kind)},
        terms_needed=row.get("terms_needed", 0),
        announcements=[Announced(*one) for one in row.get("announcements", ())],
    )


class _Here(threading.local):
    """The read of this thread's request."""

    row: _Row | None = None


_here = _Here()


@contextlib.contextmanager
def along() -> Iterator[None]:
    """Read the site with the first round trip of a request that this thread answers."""
    _here.row = row = _Row()
    try:
        with redis.along(partial(reads.join, row)):
            yield
    finally:
        _here.row = None


def current() -> Site:
    """Return the site; without a database what was last known: a name fails no page."""
    row = _here.row or _Row()
    try:
        reads.run(row)
    except DatabaseError:
        return known()
    return row.known[SiteSettings.THE_ROW]


def known() -> Site:
    """Return the site as this request or else this process read it last, without asking."""
    row = _here.row
    if row is not None and row.is_cached:
        return row.known[SiteSettings.THE_ROW]
    last = _unpacked.get(SiteSettings.THE_ROW)
    return _made({}) if last is None else last[1]


def stored() -> SiteSettings:
    """Return the row, locked in a transaction."""
    SiteSettings.objects.get_or_create(pk=SiteSettings.THE_ROW)
    return SiteSettings.objects.select_for_update().get(pk=SiteSettings.THE_ROW)


def save(row: SiteSettings) -> None:
    """Store the row, in a transaction."""
    row.save()
    transaction.on_commit(partial(CACHE.invalidate, [row.pk]), robust=True)
