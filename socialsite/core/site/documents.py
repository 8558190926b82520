"""The longer texts of the site: what it is about, its rules, its terms, its privacy.

Each is Markdown in both languages. A change is a new version, and the old ones stay readable. The
settings say which version is current, so that a page knows without a query which texts there are.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from datetime import datetime

from socialsite.core import site
from socialsite.core.models import SiteDocument

Kind = SiteDocument.Kind


@dataclass(frozen=True, slots=True)
class Document:
    """A version of a text as the reader sees it: its Markdown, and the language of that."""

    text: str
    language: str
    version: int
    published_at: datetime | None


def current(here: site.Site, kind: SiteDocument.Kind) -> Document:
    """Return the current version; one without words, without a query, if there is no such text."""
    found = of_version(kind, here.documents[kind]) if kind in here.documents else None
    return found or Document("", "", 0, None)


def of_version(kind: SiteDocument.Kind, version: int) -> Document | None:
    """Return a version of a text; None if there is none."""
    row = SiteDocument.objects.filter(kind=kind, version=version).first()
    if row is None:
        return None
    language, text = site.in_own_language(site.by_language(row))
    return Document(text, language, row.version, row.published_at)


def versions(kind: SiteDocument.Kind) -> list[tuple[int, datetime]]:
    """Return the versions of a text and their times, newest first."""
    rows = SiteDocument.objects.filter(kind=kind).order_by("-version")
    return list(rows.values_list("version", "published_at"))


def newest(kind: SiteDocument.Kind) -> SiteDocument | None:
    """Return the row of the newest version, also if that withdrew the text; None for none."""
    return SiteDocument.objects.filter(kind=kind).order_by("-version").first()


def publish(
    kind: SiteDocument.Kind, columns: Mapping[str, str], *, is_needed: bool
) -> SiteDocument:
    """Make a new version of a text current, in a transaction; one without words withdraws it.

    `columns` has the Markdown of each language. `is_needed`: of the terms, everybody must accept
    this version.
    """
    row = site.stored()
    last = newest(kind)
    made = SiteDocument.objects.create(
        kind=kind, version=last.version + 1 if last else 1, **columns
    )
    is_there = any(columns.values())
    setattr(row, kind, made.version if is_there else 0)
    if kind == Kind.TERMS and (is_needed or not is_there):
        row.terms_needed = row.terms
    site.save(row)
    return made
