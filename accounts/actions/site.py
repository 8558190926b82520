"""What staff say about the site, with the right `SITE`."""

from collections.abc import Mapping
from typing import Any

from accounts.actions.authority import check_staff
from accounts.audit import Act, note
from accounts.models import User
from socialsite.core import db, site
from socialsite.core.models import Announcement, SiteDocument, SiteSettings
from socialsite.core.rights import Right
from socialsite.core.site import announcements, documents, logos


@db.atomic
def change_site(values: dict[str, Any], actor: User | None = None, address: str = "") -> None:
    """Set fields of the site's settings; "" or None is the value of the environment.

    Raises Forbidden or TwoFactorNeeded. The audit entry names the fields.
    """
    check_staff(actor, Right.SITE)
    row = site.stored()
    changed = sorted(name for name, value in values.items() if getattr(row, name) != value)
    if not changed:
        return
    for name in changed:
        setattr(row, name, values[name])
    site.save(row)
    note(actor, Act.SITE, "site", SiteSettings.THE_ROW, {"fields": changed}, address)


@db.atomic
def set_logo(files: Mapping[str, bytes], actor: User | None = None, address: str = "") -> None:
    """Set the logo of the site (`media.logos.made_of`), or with no files that of the design."""
    check_staff(actor, Right.SITE)
    if logos.save(files):
        note(actor, Act.SITE, "site", SiteSettings.THE_ROW, {"fields": ["logo"]}, address)


@db.atomic
def publish_document(
    kind: SiteDocument.Kind,
    columns: dict[str, str],
    actor: User | None = None,
    address: str = "",
    *,
    is_needed: bool = False,
) -> SiteDocument:
    """Publish a new version of a text of the site (`documents.publish`)."""
    check_staff(actor, Right.SITE)
    made = documents.publish(kind, columns, is_needed=is_needed)
    detail = {"text": kind, "version": made.version}
    note(actor, Act.DOCUMENT, "site", SiteSettings.THE_ROW, detail, address)
    return made


@db.atomic
def save_announcement(row: Announcement, actor: User | None = None, address: str = "") -> None:
    """Store a new announcement or a changed one."""
    check_staff(actor, Right.SITE)
    announcements.save(row)
    note(actor, Act.ANNOUNCE, "announcement", row.pk, address=address)


@db.atomic
def delete_announcement(row: Announcement, actor: User | None = None, address: str = "") -> None:
    """Delete an announcement."""
    check_staff(actor, Right.SITE)
    ident = row.pk
    announcements.delete(row)
    note(actor, Act.DELETE_ANNOUNCEMENT, "announcement", ident, address=address)
