"""Rights of staff: the parts of the admin that a role opens, as bits of one number.

Roles (`accounts.models.roles`) are sets of rights. Every action of staff names the right that it
needs, and reads it under a lock (`accounts.actions.authority`).
"""

from django.db import models
from django.utils.translation import gettext_lazy as _


class Right(models.IntegerChoices):
    """Bits. The values are stored in tables and never change."""

    CASES = 1, _("Work on reports: take cases, write notes, dismiss reports")
    CONTENT = 2, _("Delete posts and comments, and put content notes on posts")
    PEOPLE = 4, _("Warn, limit, suspend and ban members, and remove parts of profiles")
    APPEALS = 8, _("Decide about appeals")
    SIGN_UPS = 16, _("Decide about sign-ups, invite, and end invitations")
    TAGS = 32, _("Hide tags")
    SITE = 64, _("Change the settings, texts, announcements and recommended authors of the site")
    OPERATION = 128, _("See the state of the server, retry failed events, rebuild inboxes")
    ADDRESSES = 256, _("See e-mail addresses and whole IP addresses")
    ROLES = 512, _("Make roles and give them, with no more rights than one has")


ALL = sum(Right)
MODERATOR = Right.CASES | Right.CONTENT | Right.PEOPLE | Right.APPEALS | Right.SIGN_UPS | Right.TAGS
# Whoever moderates or operates reads the tables of the site in the admin.
READING = Right.CASES | Right.CONTENT | Right.PEOPLE | Right.APPEALS | Right.OPERATION


def names(rights: int) -> list[str]:
    """Return the names of the bits, in lower case."""
    return [right.name.lower() for right in Right if rights & right]
